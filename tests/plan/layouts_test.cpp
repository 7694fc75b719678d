// SPDX-License-Identifier: Apache-2.0
// How tensors between tasks are stored: conversions are rare where convolutions meet padding and each other.
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "compile/run.h"
#include "graph/builder.h"
#include "graph/random_graph.h"

namespace tenon::plan {
namespace {

using compile::compile;
using compile::run;

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

class RandomNetwork {
 public:
  explicit RandomNetwork(Rng& rng) : b(g), rng_(rng) {
    rank_ = static_cast<size_t>(rng.between(1, 3));
    std::vector<int64_t> shape{1, channels()};
    for (size_t d = 0; d < rank_; ++d) shape.push_back(rng.between(7, rank_ == 3 ? 8 : 11));
    x = b.input("x", ir::kF32, shape);
  }

  // Channels that suit vectors, channels that do not, few and many.
  int64_t channels() { return rng_.pick(std::vector<int64_t>{3, 8, 16, 17, 24, 32}); }
  void conv(const std::string& label) {
    const bool padded = rng_.chance(0.5);
    std::vector<int64_t> w{channels(), g.value(x).shape[1]};
    te::ConvParams p;
    for (size_t d = 0; d < rank_; ++d) {
      w.push_back(rng_.chance(0.6) ? 3 : rng_.between(1, 2));
      p.stride.push_back(rng_.chance(0.7) ? 1 : 2);
      p.pad_before.push_back(padded ? w.back() / 2 : 0);
      p.pad_after.push_back(padded ? w.back() / 2 : 0);
    }
    x = b.add(label, graph::Conv{p}, {x, b.constant(graph::random_array(rng_, ir::kF32, w))});
  }
  void pad() {
    const auto rank = rank_;
    x = b.compute("pad", {x}, [rank](te::Builder& t, std::span<const te::Tensor> in) {
      std::vector<int64_t> one(rank + 2, 1);
      one[0] = one[1] = 0;
      return te::pad(t, "pad", in[0], one, one);
    });
  }

  Graph g;
  GraphBuilder b;
  ValueId x = 0;

 private:
  Rng& rng_;
  size_t rank_ = 0;
};

artifact::Program compiled(const Graph& g) {
  Options o;
  o.target = target::host_target();
  return compile(g, "net", o);
}

// Of values whose names begin so; all of them by default.
int conversions(const artifact::Program& p, const std::string& of = "") {
  int n = 0;
  for (const artifact::Step& s : p.steps) {
    for (const std::string& node : s.nodes) n += node.starts_with("relay of " + of) ? 1 : 0;
  }
  return n;
}

void expect_right(const Graph& g, const artifact::Program& p, Rng& rng) {
  const auto inputs = graph::random_inputs(rng, g);
  const auto d = graph::compare(graph::evaluate(g, inputs), run(p, inputs));
  EXPECT_LT(d.error, 1e-5) << d.where;
}

constexpr int64_t kFewChannels = 8;  // at most half a vector

TEST(Layouts, PaddingAndAConvolutionNeedNoConversion) {
  const uint64_t seed = 900;
  for (uint64_t i = 0; i < 40; ++i) {
    Rng rng(seed + i);
    RandomNetwork n(rng);
    const bool inside = rng.chance(0.5);  // of a network: behind another convolution
    if (inside) n.conv("first");
    n.pad();
    n.conv("second");
    n.g.add_output(n.x, "y");
    SCOPED_TRACE("seed " + std::to_string(seed + i) + "\n" + graph::to_string(n.g));
    const artifact::Program p = compiled(n.g);
    EXPECT_EQ(conversions(p, "pad"), 0);
    // A convolution to few channels may read plain images; others read what is there.
    const bool to_few = n.g.value(n.x).shape[1] < kFewChannels;
    if (inside) EXPECT_LE(conversions(p, "first"), to_few ? 1 : 0);
    expect_right(n.g, p, rng);
  }
}

TEST(Layouts, TwoConvolutionsNeedAtMostOneConversion) {
  const uint64_t seed = 1900;
  int all = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    Rng rng(seed + i);
    RandomNetwork n(rng);
    n.conv("first");
    n.conv("second");
    n.g.add_output(n.x, "y");
    SCOPED_TRACE("seed " + std::to_string(seed + i) + "\n" + graph::to_string(n.g));
    const artifact::Program p = compiled(n.g);
    EXPECT_LE(conversions(p, "first"), 1);
    all += conversions(p);
    EXPECT_LE(conversions(p), 3);  // what the caller gives and gets is row-major
    expect_right(n.g, p, rng);
  }
  EXPECT_GT(all, 0);  // the test sees those that there are
}

}  // namespace
}  // namespace tenon::plan
