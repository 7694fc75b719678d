// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions that become one task with the pointwise one behind them: where it is asked for, and where it can
// be.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/builder.h"
#include "graph/partition.h"
#include "graph/random_graph.h"
#include "support/check.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;
using Names = std::vector<std::string>;

// A depthwise convolution, "d" and a suffix, and the one behind it, "p" and the suffix.
struct Block {
  int64_t out = 16;
  int64_t kernel = 3;   // of the depthwise one
  int64_t kernel2 = 1;  // of the other
  int64_t stride2 = 1, pad2 = 0, groups2 = 1;
  int64_t per_group = 1;  // channels of the depthwise one
};

class Network {
 public:
  explicit Network(int64_t channels, ir::DType t = ir::kF32) : b(g) {
    x = b.input("x", t, {1, channels, 9, 7});
  }

  ValueId weight(Shape shape) {
    return b.constant(random_array(rng_, g.value(x).dtype, std::move(shape)));
  }
  ValueId relu(ValueId v, const std::string& name) {
    const ir::DType t = g.value(v).dtype;
    return b.elementwise(name, {v}, [t](Exprs e) { return ir::max(e[0], ir::make_float(t, 0)); });
  }
  ValueId depthwise(ValueId v, const std::string& name, const Block& k) {
    const int64_t c = g.value(v).shape[1];
    te::ConvParams p;
    p.pad_before = p.pad_after = {k.kernel / 2, k.kernel / 2};
    p.groups = c / k.per_group;
    const ValueId w = weight({c, k.per_group, k.kernel, k.kernel});
    return relu(b.add("conv", Conv{p}, {v, w}), name);
  }
  ValueId pointwise(ValueId v, const std::string& name, const Block& k) {
    te::ConvParams p;
    p.pad_before = p.pad_after = {k.pad2, k.pad2};
    p.stride = {k.stride2, k.stride2};
    p.groups = k.groups2;
    const int64_t c = g.value(v).shape[1] / k.groups2;
    return b.add(name, Conv{p}, {v, weight({k.out, c, k.kernel2, k.kernel2})});
  }
  void block(const std::string& suffix, const Block& k = {}) {
    x = pointwise(depthwise(x, "d" + suffix, k), "p" + suffix, k);
  }
  Partition cut(const std::set<std::string>& pairs) {
    if (g.outputs.empty()) g.add_output(x, "y");
    return partition(g, {true, pairs});
  }

  Graph g;
  GraphBuilder b;
  ValueId x = 0;

 private:
  Rng rng_{9};
};

Names names(const Partition& p) {
  Names out;
  for (const Call& c : p.calls) out.push_back(c.name);
  return out;
}

// Without being asked for, only where it is, and everywhere.
TEST(Pairs, OnlyThoseThatAreAskedForAreJoined) {
  Network n(8);
  for (const char* suffix : {"1", "2", "3"}) n.block(suffix);
  EXPECT_EQ(names(n.cut({})), (Names{"d1", "p1", "d2", "p2", "d3", "p3"}));
  const Partition one = n.cut({"p2"});
  EXPECT_EQ(names(one), (Names{"d1", "p1", "p2", "d3", "p3"}));
  EXPECT_EQ(one.calls[2].joined, "d2");
  EXPECT_EQ(one.calls[1].joined, "");
  EXPECT_EQ(names(n.cut({"*"})), (Names{"p1", "p2", "p3"}));
}

// Values without a name of their own: the number that the call has without pairs, whatever is joined.
TEST(Pairs, NamesDoNotDependOnWhatIsJoined) {
  Network n(8);
  for (const char* suffix : {"1", "2", "3"}) n.block(suffix);
  for (Value& v : n.g.values) v.name = "";
  EXPECT_EQ(names(n.cut({})), (Names{"#0", "#1", "#2", "#3", "#4", "#5"}));
  EXPECT_EQ(names(n.cut({"#3"})), (Names{"#0", "#1", "#3", "#4", "#5"}));
  EXPECT_EQ(n.cut({"#3"}).calls[2].joined, "#2");
}

TEST(Pairs, WhatDoesNotFitIsAMistake) {
  Network n(8);
  n.block("1");
  EXPECT_THROW(n.cut({"p2"}), UserError);
  EXPECT_THROW(n.cut({"d1"}), UserError);
  EXPECT_THROW(n.cut({"*", "p2"}), UserError);
  Network other(8);
  other.block("1", {.kernel2 = 3, .pad2 = 1});
  EXPECT_THROW(other.cut({"p1"}), UserError);
}

// A task per node is a task per node.
TEST(Pairs, NotWithoutFusion) {
  Network n(8);
  n.block("1");
  n.g.add_output(n.x, "y");
  EXPECT_EQ(partition(n.g, {false, {"p1"}}).calls.size(), 3U);
}

TEST(Pairs, OthersStayTwoTasks) {
  struct Case {
    const char* why;
    int64_t channels;
    Block block;
  };
  const Case cases[] = {
      {"not pointwise", 16, {.kernel2 = 3, .pad2 = 1}},
      {"padded", 16, {.pad2 = 1}},
      {"strided", 16, {.stride2 = 2}},
      {"in groups", 16, {.groups2 = 2}},
      {"too many taps", 16, {.kernel = 7}},
      {"no whole blocks of channels", 12, {}},
      {"no whole blocks of results", 16, {.out = 12}},
      {"not depthwise", 16, {.per_group = 2}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.why);
    Network n(c.channels);
    n.block("1", c.block);
    EXPECT_EQ(names(n.cut({"*"})), (Names{"d1", "p1"}));
  }
  Network twice(16, ir::kF64);
  twice.block("1");
  EXPECT_EQ(names(twice.cut({"*"})), (Names{"d1", "p1"}));
}

// What lies between the two is not stored, so nobody else may read it: no other call, no epilogue, no caller.
TEST(Pairs, NobodyElseReadsWhatLiesBetween) {
  for (const int reader : {0, 1, 2}) {
    SCOPED_TRACE(reader);
    Network n(16);
    const ValueId d = n.depthwise(n.x, "d", {});
    n.x = n.pointwise(d, "p", {});
    if (reader == 1) n.x = n.b.elementwise("sum", {n.x, d}, [](Exprs e) { return e[0] + e[1]; });
    if (reader == 2) n.g.add_output(d, "between");
    n.g.add_output(n.x, "y");
    EXPECT_EQ(n.cut({"*"}).calls.size(), reader == 0 ? 1U : 2U);
  }
  Network n(16);
  const ValueId d = n.depthwise(n.x, "d", {});
  n.g.add_output(n.pointwise(d, "p", {}), "y");
  n.g.add_output(n.pointwise(d, "q", {}), "z");
  EXPECT_EQ(n.cut({"*"}).calls.size(), 3U);
}

// Weights that are computed cannot be packed beforehand.
TEST(Pairs, WeightsAreConstant) {
  Network n(16);
  const ValueId w = n.b.input("w", ir::kF32, {16, 16, 1, 1});
  const ValueId d = n.depthwise(n.x, "d", {});
  n.g.add_output(n.b.add("p", Conv{}, {d, w}), "y");
  EXPECT_EQ(n.cut({"*"}).calls.size(), 2U);
}

TEST(Pairs, AResidualSumGoesWithThem) {
  Network n(16);
  const ValueId x = n.x;
  n.block("1");
  n.x = n.b.elementwise("sum", {n.x, x}, [](Exprs e) { return e[0] + e[1]; });
  EXPECT_EQ(names(n.cut({"*"})), (Names{"sum"}));
}

}  // namespace
}  // namespace tenon::graph
