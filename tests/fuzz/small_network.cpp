// SPDX-License-Identifier: Apache-2.0
#include "fuzz/small_network.h"

#include <fmt/format.h>

#include "compile/run.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "plan/text.h"

namespace tenon::fuzz {
namespace {

// Two convolutions with a residual, one that halves the image, and a matrix product.
graph::Graph small_graph(Rng& rng) {
  graph::Graph g;
  graph::GraphBuilder b(g);
  const auto conv = [&](graph::ValueId x, int64_t out, int64_t taps, int64_t stride) {
    te::ConvParams p;
    p.pad_before = p.pad_after = {taps / 2, taps / 2};
    p.stride = {stride, stride};
    const graph::ValueId w =
        b.constant(graph::random_array(rng, ir::kF32, {out, b.shape(x)[1], taps, taps}));
    return b.add("conv", graph::Conv{p}, {x, w});
  };
  const auto relu = [&](graph::ValueId x) {
    return b.compute("relu", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
      return te::relu(t, "relu", in[0]);
    });
  };
  const graph::ValueId x = b.input("x", ir::kF32, {1, 8, 6, 7});
  const graph::ValueId first = relu(conv(x, 16, 3, 1));
  const graph::ValueId second = conv(first, 16, 1, 1);
  const graph::ValueId sum = b.elementwise("add", {first, second},
                                           [](std::span<const ir::Expr> e) { return e[0] + e[1]; });
  const graph::ValueId small = relu(conv(sum, 8, 3, 2));
  const graph::ValueId flat = b.reshape(small, {1, 8 * 3 * 4});
  const graph::ValueId w = b.constant(graph::random_array(rng, ir::kF32, {8 * 3 * 4, 5}));
  g.add_output(b.add("matmul", graph::MatMul{}, {flat, w}), "y");
  return g;
}

}  // namespace

SmallNetwork::SmallNetwork() {
  Rng rng(11);
  graph_ = small_graph(rng);
  inputs_ = graph::random_inputs(rng, graph_);
  expected_ = graph::evaluate(graph_, inputs_);
  program_ = compiled(options());
}

compile::Options SmallNetwork::options() const {
  compile::Options o;
  o.target = target::host_target();
  o.optimize = false;
  o.threads = 1;
  return o;
}

plan::Network SmallNetwork::network() const { return compile::decide(graph_, "net", options()); }

artifact::Program SmallNetwork::compiled(const compile::Options& o) const {
  return compile::compile(graph_, "net", o);
}

std::string SmallNetwork::wrong(const artifact::Program& p) {
  const std::string key = plan::to_text(p.plan);
  if (right_.contains(key)) return "";
  const graph::Difference d = graph::compare(expected_, compile::run(p, inputs_, 2));
  if (!(d.error < 1e-4)) return fmt::format("off by {:.2g} at {}", d.error, d.where);
  right_.insert(key);
  return "";
}

}  // namespace tenon::fuzz
