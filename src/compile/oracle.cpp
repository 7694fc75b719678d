// SPDX-License-Identifier: Apache-2.0
#include "compile/oracle.h"

#include <filesystem>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "graph/define.h"
#include "plan/text.h"
#include "support/private_folder.h"
#include "target/target.h"

namespace tenon::compile {
namespace {

constexpr double kInterpretedFlops = 1e8;

}  // namespace

Oracle choose_oracle(const graph::Graph& g) {
  double flops = 0;
  for (const graph::Node& node : g.nodes) {
    flops += te::flops(graph::define(g, node));
  }
  return flops <= kInterpretedFlops ? Oracle::kInterpreter : Oracle::kPlain;
}

const char* to_string(Oracle oracle) { return oracle == Oracle::kInterpreter ? "interp" : "plain"; }

std::vector<ir::Array> run_oracle(Oracle oracle, const graph::Graph& g,
                                  const std::vector<ir::Array>& inputs) {
  if (oracle == Oracle::kInterpreter) {
    return graph::evaluate(g, inputs);
  }
  RunGraphOptions options;
  options.plain = true;
  return run_graph(g, inputs, options);
}

std::vector<ir::Array> run_graph(graph::Graph g, const std::vector<ir::Array>& inputs,
                                 const RunGraphOptions& options) {
  Options how;
  how.target = target::parse_target(options.target);
  how.optimize = how.schedule = !options.plain;
  how.fuse = !options.plain && options.fuse;
  if (!options.lock.empty() && !options.plain) {
    how.plan.tasks = plan::read_lock(options.lock, plan::target_name(how.target)).tasks;
  }
  const auto folder = PrivateFolder::temporary("part");
  const std::filesystem::path where = folder.path() / "part";
  artifact::write(compile::compile(std::move(g), "part", how),
                  {.directory = where, .outputs = {}, .threads = 0});
  artifact::Session session(artifact::Model::load(where), options.threads);
  return session.run(inputs);
}

graph::Graph prefix(const graph::Graph& g, size_t node) {
  graph::Graph part = g;
  part.outputs = part.nodes[node].outputs;
  part.compact();
  return part;
}

}  // namespace tenon::compile
