// SPDX-License-Identifier: Apache-2.0
// Which chains between 8-bit tensors become tables, and that they give the bits of the definition.
#include <gtest/gtest.h>

#include <functional>

#include "graph/builder.h"
#include "graph/passes.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

// Writes chains that begin with an 8-bit input.
class Net {
 public:
  explicit Net(const Shape& shape = {2, 3, 7}) : b_(g), shape_(shape) {}

  ValueId bytes(ir::DType t) { return b_.input("x", t, shape_); }
  ValueId number(double v) { return b_.constant(scalar(ir::kF32, v)); }
  ValueId zero(ir::DType t, double v) { return b_.constant(scalar(t, v)); }

  ValueId real(ValueId x, double scale = 0.05, double zero_at = 3) {
    return b_.add("dequantize", Dequantize{ir::kF32},
                  {x, number(scale), zero(b_.graph().value(x).dtype, zero_at)});
  }
  ValueId stored(ValueId x, ir::DType t = ir::kU8, double scale = 0.031, double zero_at = 5) {
    return b_.add("quantize", Quantize{t, ir::kF32}, {x, number(scale), zero(t, zero_at)});
  }
  ValueId map(const std::vector<ValueId>& x, const std::function<ir::Expr(Exprs)>& fn) {
    return b_.elementwise("map", x, fn);
  }
  ValueId sigmoid(ValueId x) {
    return map({x}, [](Exprs e) { return ir::call(ir::Intrinsic::kSigmoid, {e[0]}); });
  }
  ValueId times(ValueId x, ValueId y) {
    return map({x, y}, [](Exprs e) { return e[0] * e[1]; });
  }
  // As ONNX Runtime's quantiser writes x * sigmoid(x): each step is quantised.
  ValueId swish(ValueId x) {
    const ValueId gate = stored(sigmoid(real(x)), ir::kU8, 1.0 / 255, 0);
    return stored(times(real(x), real(gate, 1.0 / 255, 0)));
  }

  static ir::Array scalar(ir::DType t, double v) {
    ir::Array a(t, {});
    a.set_double(0, v);
    return a;
  }

  GraphBuilder& builder() { return b_; }
  Graph g;

 private:
  GraphBuilder b_;
  Shape shape_;
};

size_t tables(const Graph& g) {
  size_t n = 0;
  for (const Node& node : g.nodes) n += node.label == "look_up" ? 1 : 0;
  return n;
}

std::vector<ir::Array> all_bytes(const Graph& g) {
  std::vector<ir::Array> inputs;
  for (const ValueId v : g.inputs) {
    ir::Array a(g.value(v).dtype, g.value(v).shape);
    for (int64_t i = 0; i < a.elements(); ++i) {
      a.set_double(i, static_cast<double>(ir::wrap_int(a.dtype(), 97 * i + v)));
    }
    inputs.push_back(std::move(a));
  }
  return inputs;
}

// The pass makes so many tables, leaves so many nodes, and changes no bit.
void expect_tables(Graph g, size_t count, size_t nodes) {
  const std::vector<ir::Array> inputs = all_bytes(g);
  const std::vector<ir::Array> want = evaluate(g, inputs);
  Graph made = g;
  byte_tables(made, {});
  made.verify();
  EXPECT_EQ(tables(made), count) << to_string(g) << to_string(made);
  EXPECT_EQ(made.nodes.size(), nodes) << to_string(made);
  optimize(g, {}, {.skip = {}, .verify = true, .watch = {}});
  for (const Graph* after : {&made, &g}) {
    const std::vector<ir::Array> got = evaluate(*after, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      for (int64_t i = 0; i < got[k].elements(); ++i) {
        ASSERT_EQ(got[k].get_double(i), want[k].get_double(i)) << i << to_string(*after);
      }
    }
  }
}

TEST(ByteTables, OneMapOfEachType) {
  for (const ir::DType from : {ir::kU8, ir::kI8}) {
    for (const ir::DType to : {ir::kU8, ir::kI8}) {
      for (const Shape& shape : {Shape{1}, Shape{300}, Shape{1, 5, 3, 7}}) {
        Net n(shape);
        n.g.add_output(n.stored(n.sigmoid(n.real(n.bytes(from))), to, 0.004, 0), "y");
        expect_tables(n.g, 1, 1);
      }
    }
  }
}

TEST(ByteTables, AllStepsOfSwish) {
  Net n;
  n.g.add_output(n.swish(n.bytes(ir::kU8)), "y");
  expect_tables(n.g, 1, 1);
}

TEST(ByteTables, OneTableForTwoBehindEachOther) {
  Net n;
  n.g.add_output(n.swish(n.swish(n.bytes(ir::kI8))), "y");
  expect_tables(n.g, 1, 1);
}

// A tensor between that is wanted for itself is where the second table begins.
TEST(ByteTables, AnOutputBetweenStays) {
  Net n;
  const ValueId first = n.stored(n.sigmoid(n.real(n.bytes(ir::kU8))));
  n.g.add_output(first, "first");
  n.g.add_output(n.swish(first), "second");
  expect_tables(n.g, 2, 2);
}

// The gate of a swish is wanted, too: it and the product are tables of the same tensor.
TEST(ByteTables, AStepThatIsReadElsewhereIsATableToo) {
  Net n;
  const ValueId x = n.bytes(ir::kU8);
  const ValueId r = n.real(x);
  const ValueId gate = n.stored(n.sigmoid(r), ir::kU8, 1.0 / 255, 0);
  n.g.add_output(n.stored(n.times(r, n.real(gate, 1.0 / 255, 0))), "y");
  n.g.add_output(gate, "gate");
  n.g.add_output(r, "real");
  expect_tables(n.g, 2, 3);
}

TEST(ByteTables, WithNumbersBeside) {
  Net n;
  const ValueId r = n.real(n.bytes(ir::kU8));
  const ValueId half = n.map({r, n.number(0.5)}, [](Exprs e) { return e[0] * e[1]; });
  const ValueId y = n.map({half, r}, [](Exprs e) {
    return e[0] * (ir::call(ir::Intrinsic::kErf, {e[1]}) + ir::make_float(ir::kF32, 1));
  });
  n.g.add_output(n.stored(y), "y");
  expect_tables(n.g, 1, 1);
}

TEST(ByteTables, NotOfTwoTensors) {
  Net n;
  const ValueId product = n.times(n.real(n.bytes(ir::kU8)), n.real(n.bytes(ir::kU8)));
  n.g.add_output(n.stored(product), "y");
  expect_tables(n.g, 0, 4);
}

TEST(ByteTables, NotPerChannel) {
  for (const bool of_input : {true, false}) {
    Net n;
    ir::Array scales(ir::kF32, {3, 1});
    for (int64_t i = 0; i < 3; ++i) scales.set_double(i, 0.01 * static_cast<double>(i + 1));
    const ValueId each = n.builder().constant(scales);
    const ValueId x = n.bytes(ir::kU8);
    const ValueId r =
        of_input ? n.builder().add("dequantize", Dequantize{ir::kF32}, {x, each}) : n.real(x);
    const ValueId s = n.sigmoid(r);
    const ValueId y = of_input
                          ? n.stored(s)
                          : n.builder().add("quantize", Quantize{ir::kU8, ir::kF32}, {s, each});
    n.g.add_output(y, "y");
    expect_tables(n.g, 0, 3);
  }
}

TEST(ByteTables, NotWithParametersThatAreComputed) {
  Net n;
  const ValueId scale = n.builder().input("scale", ir::kF32, {});
  const ValueId x = n.bytes(ir::kU8);
  const ValueId r = n.builder().add("dequantize", Dequantize{ir::kF32}, {x, scale});
  n.g.add_output(n.stored(n.sigmoid(r)), "y");
  expect_tables(n.g, 0, 3);
}

TEST(ByteTables, NotWhereThePlaceCounts) {
  Net n;
  const ValueId r = n.real(n.bytes(ir::kU8));
  const ValueId y = n.builder().compute("ramp", {r}, [](te::Builder& t, auto in) {
    return t.compute("ramp", in[0].shape(), [&](std::span<const ir::Var> axes) {
      const std::vector<ir::Expr> at(axes.begin(), axes.end());
      return ir::load(in[0], at) + ir::cast(ir::kF32, axes.back());
    });
  });
  n.g.add_output(n.stored(y), "y");
  expect_tables(n.g, 0, 3);
}

// Broadcasting, other types and what is not stored in 8 bits are computed.
TEST(ByteTables, NotOfOtherShapesAndTypes) {
  Net wide;
  const ValueId row = wide.builder().input("row", ir::kU8, {7});
  const ValueId whole =
      wide.map({wide.real(row), wide.real(row)}, [](Exprs e) { return e[0] + e[1]; });
  const ValueId spread = wide.builder().compute("spread", {whole}, [](te::Builder& t, auto in) {
    return t.compute("spread", {3, 7}, [&](std::span<const ir::Var> axes) {
      return ir::load(in[0], {ir::Expr(axes[1])});
    });
  });
  wide.g.add_output(wide.stored(spread), "y");
  expect_tables(wide.g, 0, wide.g.nodes.size());
  Net sums;
  const ValueId x = sums.builder().input("x", ir::kI32, {2, 3});
  sums.g.add_output(sums.stored(sums.real(x)), "y");
  expect_tables(sums.g, 0, 2);
  Net out;
  out.g.add_output(out.sigmoid(out.real(out.bytes(ir::kU8))), "y");
  expect_tables(out.g, 0, 2);
}

}  // namespace
}  // namespace tenon::graph
