// SPDX-License-Identifier: Apache-2.0
// Where the numbers of a model go wrong first.
#include <fmt/format.h>

#include "tools/tenon/commands/compare/parts.h"
#include "tools/tenon/tensors.h"

namespace tenon::tools {
namespace {

// The value of node `i` computed by the compiler, against the oracle. Nothing: equal.
std::optional<ir::Difference> difference_at(const CompareOptions& options, const graph::Graph& g,
                                            size_t i, const std::vector<ir::Array>& inputs) {
  const graph::Graph part = compile::prefix(g, i);
  compile::RunGraphOptions run;
  run.fuse = !options.model.no_fuse;
  run.lock = !options.model.lock.empty() ? options.model.lock : options.package;
  run.target = options.model.target;
  run.threads = options.threads;
  const std::vector<ir::Array> got = compile::run_graph(part, inputs, run);
  const std::vector<ir::Array> want = run_oracle(oracle_of(options.reference, part), part, inputs);
  for (size_t o = 0; o < got.size(); ++o) {
    const ir::Difference d =
        differ(got[o], want[o], tolerance_of(got[o].dtype(), options.rtol, options.atol));
    if (!d.matches()) {
      return d;
    }
  }
  return std::nullopt;
}

}  // namespace

Bisected bisect(const CompareOptions& options, const graph::Graph& g,
                const std::vector<ir::Array>& inputs, const Console& console) {
  if (!g.flow.empty()) {
    throw UserError("models with branches or loops at run time cannot be bisected",
                    "make the inputs that decide about them constants with --bind");
  }
  Bisected b;
  b.nodes = g.nodes.size();
  Progress progress(console, "bisect");
  size_t good = 0;  // nodes before this one are right
  size_t bad = g.nodes.size();
  while (good < bad) {
    const size_t middle = (good + bad) / 2;
    progress.at(0, fmt::format("step {}: node {} of {}", ++b.steps, middle + 1, b.nodes));
    if (const auto d = difference_at(options, g, middle, inputs)) {
      bad = middle;
      b.difference = d;
    } else {
      good = middle + 1;
    }
  }
  if (bad < g.nodes.size() && b.difference) {
    const graph::Node& node = g.nodes[bad];
    b.node = node.nodes.empty() ? g.value(node.outputs[0]).name : node.nodes.front();
    b.label = node.label;
  }
  return b;
}

}  // namespace tenon::tools
