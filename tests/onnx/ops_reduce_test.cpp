// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Place = std::vector<int64_t>;
using Elements = std::vector<double>;

double sum(const Elements& v) {
  double s = 0;
  for (const double x : v) {
    s += x;
  }
  return s;
}

double product(const Elements& v) {
  double s = 1;
  for (const double x : v) {
    s *= x;
  }
  return s;
}

template <class Fn>
Elements each(Elements v, Fn fn) {
  for (double& x : v) {
    x = fn(x);
  }
  return v;
}

struct ReduceCase {
  const char* op;
  double (*fn)(const Elements&);
};

double square(double x) { return x * x; }

const ReduceCase kCases[] = {
    {"ReduceSum", sum},
    {"ReduceMean", [](const Elements& v) { return sum(v) / static_cast<double>(v.size()); }},
    {"ReduceProd", product},
    {"ReduceMax", [](const Elements& v) { return *std::max_element(v.begin(), v.end()); }},
    {"ReduceMin", [](const Elements& v) { return *std::min_element(v.begin(), v.end()); }},
    {"ReduceL1",
     [](const Elements& v) { return sum(each(v, [](double x) { return std::abs(x); })); }},
    {"ReduceL2", [](const Elements& v) { return std::sqrt(sum(each(v, square))); }},
    {"ReduceSumSquare", [](const Elements& v) { return sum(each(v, square)); }},
    {"ReduceLogSum", [](const Elements& v) { return std::log(sum(v)); }},
    {"ReduceLogSumExp",
     [](const Elements& v) {
       return std::log(sum(each(v, [](double x) { return std::exp(x); })));
     }},
};

class Reductions : public ::testing::TestWithParam<ReduceCase> {};

TEST_P(Reductions, OverAnyAxes) {
  const ReduceCase& p = GetParam();
  Rng rng(1);
  for (int round = 0; round < 30; ++round) {
    const Shape own = random_shape(rng, 1, 4);
    ir::Array x = random_array(rng, ir::kF32, own);
    if (std::string(p.op) == "ReduceLogSum") {
      for (int64_t i = 0; i < x.elements(); ++i) {
        x.set_double(i, std::abs(x.get_double(i)) + 0.1);
      }
    }
    std::vector<int64_t> axes;
    Shape kept, shape;
    const bool keep = rng.chance(0.5);
    const auto rank = static_cast<int64_t>(own.size());
    for (int64_t d = 0; d < rank; ++d) {
      const bool goes = rng.chance(0.5) || (axes.empty() && d == rank - 1);
      kept.push_back(goes ? 1 : own[static_cast<size_t>(d)]);
      if (goes) {
        axes.push_back(rng.chance(0.5) ? d : d - rank);
      }
      if (!goes || keep) {
        shape.push_back(kept.back());
      }
    }
    const ir::Array reduced = filled_by(ir::kF32, kept, [&](const Place& at_kept) {
      Elements v;
      for_each_place(own, [&](const Place& from) {
        bool here = true;
        for (size_t d = 0; d < own.size(); ++d) {
          here = here && (kept[d] != own[d] ? true : from[d] == at_kept[d]);
        }
        if (here) {
          v.push_back(at(x, from));
        }
      });
      return p.fn(v);
    });
    ir::Array want(ir::kF32, shape);
    for (int64_t i = 0; i < want.elements(); ++i) {
      want.set(i, reduced.get(i));
    }
    const int64_t keepdims = keep ? 1 : 0;
    const ir::Array by_attribute =
        OpRun(p.op, 12).in(x).with("axes", axes).with("keepdims", keepdims).run()[0];
    ASSERT_EQ(difference(by_attribute, want, 1e-5), "") << "round " << round;
    const ir::Array by_input =
        OpRun(p.op, 18).in(x).known(ints(axes)).with("keepdims", keepdims).run()[0];
    ASSERT_EQ(difference(by_input, want, 1e-5), "") << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reductions, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.op); });

TEST(ReduceOps, WithoutAxes) {
  Rng rng(2);
  const ir::Array x = random_array(rng, ir::kF32, {2, 3});
  EXPECT_EQ(OpRun("ReduceSum", 13).in(x).run()[0].shape(), (Shape{1, 1}));
  EXPECT_EQ(OpRun("ReduceSum", 13).in(x).with("keepdims", int64_t{0}).run()[0].shape(), Shape{});
  EXPECT_EQ(
      difference(OpRun("ReduceSum", 13).in(x).with("noop_with_empty_axes", int64_t{1}).run()[0], x),
      "");
  EXPECT_EQ(
      difference(OpRun("ReduceL1", 18)
                     .in(x)
                     .known(ints({}))
                     .with("noop_with_empty_axes", int64_t{1})
                     .run()[0],
                 filled_by(ir::kF32, {2, 3}, [&](const Place& p) { return std::abs(at(x, p)); })),
      "");
}

TEST(ReduceOps, WideSumsAndIntegers) {
  ir::Array half(ir::kF16, {3000});
  ir::Array bytes(ir::kI32, {3});
  for (int64_t i = 0; i < half.elements(); ++i) {
    half.set_double(i, 1);
  }
  for (int64_t i = 0; i < 3; ++i) {
    bytes.set(i, {-5 + i, 0});
  }
  EXPECT_EQ(OpRun("ReduceSum", 13).in(half).run()[0].get_double(0), 3000);
  EXPECT_EQ(OpRun("ReduceMean", 13).in(bytes).run()[0].get(0).i, -4);
  EXPECT_EQ(OpRun("ReduceL2", 13).in(bytes).run()[0].get(0).i, 7);
  ir::Array bools(ir::kBool, {3});
  bools.set(1, {1, 0});
  EXPECT_EQ(OpRun("ReduceMax", 20).in(bools).run()[0].get(0).i, 1);
  EXPECT_EQ(OpRun("ReduceMin", 20).in(bools).run()[0].get(0).i, 0);
  EXPECT_THROW(OpRun("ReduceSum", 20).in(bools).run(), Unsupported);
}

TEST(ReduceOps, OverNothing) {
  const ir::Array none(ir::kF32, {2, 0});
  const auto over = [&](const char* op) {
    return OpRun(op, 18).in(none).known(ints({1})).with("keepdims", int64_t{0}).run()[0];
  };
  EXPECT_EQ(difference(over("ReduceSum"), floats({0, 0})), "");
  EXPECT_EQ(difference(over("ReduceProd"), floats({1, 1})), "");
  EXPECT_EQ(difference(over("ReduceMax"), floats({-INFINITY, -INFINITY})), "");
  EXPECT_EQ(difference(over("ReduceMin"), floats({INFINITY, INFINITY})), "");
  EXPECT_EQ(difference(over("ReduceLogSumExp"), floats({-INFINITY, -INFINITY})), "");
  EXPECT_EQ(OpRun("ReduceSum", 13).in(none).known(ints({0})).run()[0].shape(), (Shape{1, 0}));
}

TEST(ReduceOps, LogSumExpNeitherOverflowsNorVanishes) {
  const ir::Array x = floats({1000, 1000, -1000});
  EXPECT_NEAR(OpRun("ReduceLogSumExp").in(x).run()[0].get_double(0), 1000 + std::log(2), 1e-3);
  const ir::Array low = floats({-INFINITY, -INFINITY});
  EXPECT_EQ(OpRun("ReduceLogSumExp").in(low).run()[0].get_double(0), -INFINITY);
}

// The line through p: along the axis, or in old opsets everything from the axis on.
std::vector<Place> line_of(const Shape& shape, const Place& p, int64_t axis, bool flattens) {
  std::vector<Place> line;
  for_each_place(shape, [&](const Place& q) {
    bool on = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto i = static_cast<int64_t>(d);
      on = on && ((flattens ? i >= axis : i == axis) || q[d] == p[d]);
    }
    if (on) {
      line.push_back(q);
    }
  });
  return line;
}

TEST(Rows, SoftmaxLogSoftmaxAndHardmaxInBothForms) {
  Rng rng(3);
  const Shape shape{2, 3, 5};
  for (const int64_t opset : {11, 13}) {
    for (int64_t axis = 0; axis < 3; ++axis) {
      ir::Array x = random_array(rng, ir::kF32, shape);
      x.set_double(4, x.get_double(3));  // ties
      const auto softmax = [&](const Place& p) {
        double total = 0;
        for (const Place& q : line_of(shape, p, axis, opset < 13)) {
          total += std::exp(at(x, q));
        }
        return std::exp(at(x, p)) / total;
      };
      const auto hardmax = [&](const Place& p) {
        const auto line = line_of(shape, p, axis, opset < 13);
        const auto top =
            std::max_element(line.begin(), line.end(),
                             [&](const Place& a, const Place& b) { return at(x, a) < at(x, b); });
        return *top == p ? 1.0 : 0.0;
      };
      const auto run = [&](const char* op) {
        return OpRun(op, opset).in(x).with("axis", axis - (opset < 13 ? 0 : 3)).run()[0];
      };
      EXPECT_EQ(difference(run("Softmax"), filled_by(ir::kF32, shape, softmax), 1e-5), "");
      EXPECT_EQ(difference(run("LogSoftmax"),
                           filled_by(ir::kF32, shape,
                                     [&](const Place& p) { return std::log(softmax(p)); }),
                           1e-5),
                "");
      EXPECT_EQ(difference(run("Hardmax"), filled_by(ir::kF32, shape, hardmax)), "");
    }
  }
  EXPECT_EQ(OpRun("Softmax").in(ir::Array(ir::kF32, {0, 3})).run()[0].shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace tenon::onnx
