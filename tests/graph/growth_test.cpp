// SPDX-License-Identifier: Apache-2.0
// Work that is counted, not timed: four times as many nodes may take about four times as many allocations, in every pass
// and in the cutting into tasks. A pass of second order takes sixteen times as many, one of third order sixty-four.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "graph/builder.h"
#include "graph/memory.h"
#include "graph/partition.h"
#include "graph/passes.h"
#include "support/rng.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

constexpr double kMostGrowth = 6;  // for four times as many nodes

ir::Array filled(const Shape& shape, double value) {
  ir::Array a(ir::kF32, shape);
  for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, value);
  return a;
}

// Makes the next value of a chain out of the last one; x is the graph's input.
struct Link {
  const char* name;
  ValueId (*next)(GraphBuilder& b, ValueId x, ValueId y);
};

const Shape kShape = {4, 4};

ValueId added(GraphBuilder& b, ValueId x, ValueId y) {
  return b.elementwise("add", {x, y}, [](Exprs e) { return e[0] + e[1]; });
}
ValueId relu(GraphBuilder& b, ValueId x) {
  return b.elementwise("relu", {x},
                       [](Exprs e) { return ir::max(e[0], ir::zero_of(e[0].dtype())); });
}

const Link kLinks[] = {
    {"maps", [](GraphBuilder& b, ValueId, ValueId y) { return relu(b, y); }},
    {"affine maps",
     [](GraphBuilder& b, ValueId, ValueId y) { return added(b, y, b.constant(filled({4}, 1))); }},
    {"readers of one value",
     [](GraphBuilder& b, ValueId x, ValueId y) { return relu(b, added(b, y, x)); }},
    {"values read twice",
     [](GraphBuilder& b, ValueId, ValueId y) {
       return b.elementwise("mul", {relu(b, y)}, [](Exprs e) { return e[0] * e[0]; });
     }},
    {"reshapes",
     [](GraphBuilder& b, ValueId, ValueId y) {
       return b.reshape(y, b.shape(y).size() == 2 ? Shape{16} : kShape);
     }},
    {"transposes",
     [](GraphBuilder& b, ValueId, ValueId y) {
       return b.transpose(y, {1, 0});
     }},
    {"equal nodes", [](GraphBuilder& b, ValueId x, ValueId y) { return added(b, y, relu(b, x)); }},
    {"moves that compose",
     [](GraphBuilder& b, ValueId, ValueId y) {
       const ValueId wide = b.compute("pad", {y}, [](te::Builder& t, auto in) {
         return t.compute("turn", kShape, [&](std::span<const ir::Var> at) {
           return ir::load(in[0], {ir::Expr(3) - at[0], at[1]});
         });
       });
       return b.reshape(b.reshape(wide, {16}), kShape);
     }},
    {"scales in front of products",
     [](GraphBuilder& b, ValueId x, ValueId y) {
       const ValueId half = b.elementwise("mul", {y, b.constant(filled({}, 0.5))},
                                          [](Exprs e) { return e[0] * e[1]; });
       return b.add("matmul", MatMul{}, {half, x});
     }},
    {"scales behind products",
     [](GraphBuilder& b, ValueId, ValueId y) {
       const ValueId p = b.add("matmul", MatMul{}, {y, b.constant(filled(kShape, 0.2))});
       return b.elementwise("mul", {p, b.constant(filled({4}, 0.5))},
                            [](Exprs e) { return e[0] * e[1]; });
     }},
    {"maps behind views of a product",
     [](GraphBuilder& b, ValueId, ValueId y) {
       const ValueId first =
           b.shape(y) == kShape && b.value(y).name == "x" ? b.add("matmul", MatMul{}, {y, y}) : y;
       const Shape other = b.shape(first).size() == 2 ? Shape{1, 4, 4} : kShape;
       return relu(b, b.reshape(first, other));
     }},
};

Graph chain(const Link& link, int links) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, kShape);
  ValueId y = x;
  for (int i = 0; i < links; ++i) {
    b.begin("node_" + std::to_string(i));
    y = link.next(b, x, y);
  }
  g.add_output(y, "y");
  g.compact();
  return g;
}

// One slice of x, one map and one output for each part.
Graph parts(int count) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {count, 4});
  for (int64_t i = 0; i < count; ++i) {
    b.begin("part_" + std::to_string(i));
    const ValueId part = b.compute("slice", {x}, [&](te::Builder& t, auto in) {
      return te::slice(t, "slice", in[0], {i, 0}, {1, 4});
    });
    g.add_output(relu(b, part), "y" + std::to_string(i));
  }
  g.compact();
  return g;
}

// Allocations of each phase, by its name.
std::vector<std::pair<std::string, double>> work(Graph g) {
  std::vector<std::pair<std::string, double>> out;
  for (const Pass& p : passes()) {
    const int64_t before = allocations;
    p.run(g, {});
    out.emplace_back(p.name, static_cast<double>(allocations - before));
  }
  own_outputs(g);
  g.compact();
  const int64_t before = allocations;
  const Partition p = partition(g);
  out.emplace_back("partition", static_cast<double>(allocations - before));
  return out;
}

void expect_linear(const std::string& name, const std::function<Graph(int)>& make) {
  constexpr int kFew = 1000;
  const auto few = work(make(kFew));
  const auto many = work(make(4 * kFew));
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_LT(many[i].second, kMostGrowth * few[i].second + kFew) << name << ", " << few[i].first;
  }
}

TEST(Growth, WorkOnChainsIsLinear) {
  for (const Link& link : kLinks) {
    expect_linear(link.name, [&](int links) { return chain(link, links); });
  }
}

TEST(Growth, WorkOnManyPartsIsLinear) { expect_linear("parts", parts); }

// Nothing that walks along a chain may do so by calling itself.
TEST(Growth, LongChainsDoNotOverflowTheStack) {
  for (const Link& link : {kLinks[0], kLinks[1], kLinks[4]}) {
    Graph g = chain(link, 64'000);
    optimize(g);
    own_outputs(g);
    g.compact();
    EXPECT_FALSE(partition(g).calls.empty()) << link.name;
  }
}

// Beyond a budget constants are computed at run time, and those that nobody needs any more are let go meanwhile.
TEST(Growth, FoldingConstantsHasABudget) {
  constexpr int64_t kElements = 300'000;
  constexpr size_t kNodes = 3000;
  Graph g;
  GraphBuilder b(g);
  ValueId y = b.constant(filled({kElements}, 1));
  for (size_t i = 0; i < kNodes; ++i) y = relu(b, y);
  g.add_output(y, "y");
  ASSERT_EQ(g.nodes.size(), kNodes) << "the builder folds none of this size";
  size_t folded = 0;
  const PassContext context{[&](const te::ComputeDag&, const std::vector<ir::Array>& in) {
    ++folded;
    return std::vector<ir::Array>{in[0]};
  }};
  fold_constants(g, context);
  EXPECT_GT(folded, 1000u);
  EXPECT_LT(folded, 2500u);
  EXPECT_EQ(g.nodes.size(), kNodes - folded);
  g.verify();
  EXPECT_EQ(
      std::count_if(g.values.begin(), g.values.end(), [](const Value& v) { return v.constant(); }),
      1);
}

// Written out, each of these maps is twice as large as the one before it.
TEST(Growth, GroupsOfMapsThatReadTwiceStaySmall) {
  const Graph g = chain(kLinks[3], 200);
  const Partition p = partition(g);
  EXPECT_GT(p.calls.size(), 10u);
  EXPECT_LT(p.calls.size(), 100u);
}

// One at a time, from the first place on, as the header says it.
Placement place_slowly(const std::vector<Lifetime>& tensors) {
  const auto size = [&](size_t i) { return (tensors[i].bytes + 63) / 64 * 64; };
  std::vector<size_t> order(tensors.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensors[a].bytes != tensors[b].bytes ? tensors[a].bytes > tensors[b].bytes : a < b;
  });
  Placement p;
  p.offsets.assign(tensors.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t t = order[i];
    int64_t at = 0;
    for (size_t j = 0; j < i; ++j) {
      const size_t o = order[j];
      const bool together =
          tensors[o].first <= tensors[t].last && tensors[t].first <= tensors[o].last;
      if (together && p.offsets[o] < at + size(t) && at < p.offsets[o] + size(o)) {
        at = p.offsets[o] + size(o);
        j = static_cast<size_t>(-1);
      }
    }
    p.offsets[t] = at;
    p.bytes = std::max(p.bytes, at + size(t));
  }
  return p;
}

TEST(Growth, PlacesAreThoseOfTheSlowWay) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> lives;
    for (int64_t i = rng.between(0, 60); i > 0; --i) {
      const auto first = static_cast<int32_t>(rng.between(0, 40));
      lives.push_back(
          {rng.between(0, 9) * 64, first, first + static_cast<int32_t>(rng.between(0, 12))});
    }
    const Placement quick = place(lives);
    const Placement slow = place_slowly(lives);
    EXPECT_EQ(quick.offsets, slow.offsets);
    EXPECT_EQ(quick.bytes, slow.bytes);
  }
}

// As of a split into many parts that a concatenation reads: all live to the end.
TEST(Growth, PlacingManyTensorsThatLiveTogetherIsLinear) {
  const auto work_for = [](int32_t count) {
    std::vector<Lifetime> lives;
    for (int32_t i = 0; i < count; ++i) lives.push_back({64 + i % 3 * 64, i, count});
    const int64_t before = allocations;
    EXPECT_GT(place(lives).bytes, 0);
    return static_cast<double>(allocations - before);
  };
  EXPECT_LT(work_for(32'000), kMostGrowth * work_for(8'000));
}

}  // namespace
}  // namespace tenon::graph
