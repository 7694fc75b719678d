// SPDX-License-Identifier: Apache-2.0
#include "graph/partition.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/memory.h"
#include "graph/passes.h"
#include "graph/random_graph.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

// Runs the calls of a partition by their definitions.
std::vector<ir::Array> run(const Graph& g, const Partition& p,
                           const std::vector<ir::Array>& inputs) {
  std::vector<ir::Array> at(g.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) at[static_cast<size_t>(g.inputs[i])] = inputs[i];
  const auto get = [&](ValueId v) -> ir::Array {
    if (g.value(v).constant()) return *g.value(v).data;
    const ir::Array& a = at[static_cast<size_t>(p.view_of[static_cast<size_t>(v)])];
    ir::Array out(g.value(v).dtype, g.value(v).shape);
    EXPECT_EQ(out.bytes(), a.bytes()) << g.value(v).name;
    std::copy(a.data(), a.data() + a.bytes(), out.data());
    return out;
  };
  for (const Call& c : p.calls) {
    std::vector<ir::Array> in;
    for (const ValueId v : c.inputs) in.push_back(get(v));
    auto out = te::evaluate(*p.tasks[static_cast<size_t>(c.task)].dag, in);
    for (size_t i = 0; i < out.size(); ++i)
      at[static_cast<size_t>(c.outputs[i])] = std::move(out[i]);
  }
  std::vector<ir::Array> out;
  for (const ValueId v : g.outputs) out.push_back(get(v));
  return out;
}

TEST(Partition, KeepsTheAnswerOfRandomGraphs) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  size_t nodes = 0;
  size_t calls = 0;
  for (uint64_t i = 0; i < 150; ++i) {
    SCOPED_TRACE(i);
    Rng rng(seed + i);
    Graph g = random_graph(rng, 14);
    const auto inputs = random_inputs(rng, g);
    const auto expected = evaluate(g, inputs);
    optimize(g);
    own_outputs(g);
    g.compact();
    for (const bool fuse : {false, true}) {
      const Partition p = partition(g, {fuse});
      const Difference d = compare(expected, run(g, p, inputs));
      ASSERT_LT(d.error, 1e-5) << d.where << "\n" << to_string(g);
      (fuse ? calls : nodes) += p.calls.size();
    }
  }
  EXPECT_LT(calls * 10, nodes * 8) << "fusion joins too little";
}

std::vector<std::string> labels(const Partition& p) {
  std::vector<std::string> out;
  for (const Call& c : p.calls) {
    std::string text;
    for (const te::OpRef& op : p.tasks[static_cast<size_t>(c.task)].dag->ops)
      text += op->name() + " ";
    out.push_back(text);
  }
  return out;
}

TEST(Partition, ConvolutionTakesBiasResidualAndActivation) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {1, 4, 5, 5});
  const auto conv = [&](ValueId v) {
    const ValueId y = b.add("conv", Conv{}, {v, b.constant(ir::Array(ir::kF32, {4, 4, 1, 1}))});
    return b.elementwise("bias", {y, b.constant(ir::Array(ir::kF32, {4, 1, 1}))},
                         [](Exprs e) { return e[0] + e[1]; });
  };
  const auto relu = [&](ValueId v) {
    return b.elementwise("relu", {v},
                         [](Exprs e) { return ir::max(e[0], ir::make_float(ir::kF32, 0)); });
  };
  const ValueId a = relu(conv(x));
  const ValueId sum =
      b.elementwise("add", {conv(relu(conv(a))), a}, [](Exprs e) { return e[0] + e[1]; });
  g.add_output(relu(sum), "y");
  const Partition p = partition(g);
  EXPECT_EQ(labels(p), (std::vector<std::string>{"conv bias relu ", "conv bias relu ",
                                                 "conv bias add relu "}));
  EXPECT_EQ(p.tasks.size(), 2u);
  EXPECT_EQ(p.tasks[0].calls, 2);
}

TEST(Partition, LayerNormFromSingleOperatorsIsOneTask) {
  Rng rng(3);
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {2, 6, 12});
  const auto mean = [&](ValueId v) {
    const ValueId s = b.compute("sum", {v}, [](te::Builder& t, std::span<const te::Tensor> in) {
      return te::reduce_dims(t, "sum", in[0], ir::BinaryOp::kAdd, {-1}, true);
    });
    return b.elementwise("div", {s, b.scalar(ir::kF32, 12)}, [](Exprs e) { return e[0] / e[1]; });
  };
  const ValueId d = b.elementwise("sub", {x, mean(x)}, [](Exprs e) { return e[0] - e[1]; });
  const ValueId v = mean(b.elementwise("pow", {d}, [](Exprs e) { return e[0] * e[0]; }));
  const ValueId r =
      b.elementwise("sqrt", {v}, [](Exprs e) { return ir::call(ir::Intrinsic::kSqrt, {e[0]}); });
  const ValueId n = b.elementwise("div", {d, r}, [](Exprs e) { return e[0] / e[1]; });
  const ValueId s = b.elementwise("mul", {n, b.constant(random_array(rng, ir::kF32, {12}))},
                                  [](Exprs e) { return e[0] * e[1]; });
  g.add_output(s, "y");
  const Partition p = partition(g);
  ASSERT_EQ(p.calls.size(), 1u) << to_string(g);
  EXPECT_EQ(p.tasks[0].kind, Kind::kRows);
}

TEST(Partition, TransposesAreReadByTheProduct) {
  Graph g;
  GraphBuilder b(g);
  const ValueId q = b.input("q", ir::kF32, {1, 5, 3, 4});  // batch, position, head, depth
  const ValueId k = b.input("k", ir::kF32, {1, 5, 3, 4});
  const ValueId y =
      b.add("matmul", MatMul{}, {b.transpose(q, {0, 2, 1, 3}), b.transpose(k, {0, 2, 3, 1})});
  g.add_output(y, "scores");
  const Partition p = partition(g);
  ASSERT_EQ(p.calls.size(), 1u);
  EXPECT_EQ(p.tasks[0].dag->ops.size(), 1u);
}

TEST(Partition, OutputsThatAreInputsOrConstantsAreCopied) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {2, 3});
  g.add_output(x, "same");
  g.add_output(b.reshape(x, {6}), "flat");
  g.add_output(b.ints({1, 2, 3}), "three");
  own_outputs(g);
  g.compact();
  const Partition p = partition(g);
  EXPECT_EQ(p.calls.size(), 3u);
  EXPECT_EQ(g.value(g.inputs[0]).name, "x");
}

TEST(Memory, NothingThatLivesTogetherOverlaps) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    const int64_t alignment = round % 2 == 0 ? 64 : 256;
    std::vector<Lifetime> lives;
    int64_t sum = 0;
    for (int64_t i = rng.between(1, 20); i > 0; --i) {
      const auto first = static_cast<int32_t>(rng.between(0, 10));
      lives.push_back(
          {rng.between(0, 500), first, first + static_cast<int32_t>(rng.between(0, 4))});
      sum += (lives.back().bytes + alignment - 1) / alignment * alignment;
    }
    const Placement p = place(lives, alignment);
    EXPECT_LE(p.bytes, sum);
    for (size_t a = 0; a < lives.size(); ++a) {
      EXPECT_EQ(p.offsets[a] % alignment, 0);
      EXPECT_LE(p.offsets[a] + lives[a].bytes, p.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool together = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
        const bool apart = p.offsets[a] + lives[a].bytes <= p.offsets[b] ||
                           p.offsets[b] + lives[b].bytes <= p.offsets[a];
        EXPECT_TRUE(!together || apart || lives[a].bytes == 0 || lives[b].bytes == 0);
      }
    }
  }
}

TEST(Memory, ReusesWhatIsDone) {
  const Placement p = place({{1024, 0, 1}, {1024, 1, 2}, {1024, 2, 3}});
  EXPECT_EQ(p.bytes, 2048);
}

}  // namespace
}  // namespace tenon::graph
