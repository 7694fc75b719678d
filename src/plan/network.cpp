// SPDX-License-Identifier: Apache-2.0
#include "plan/network.h"

#include "graph/passes.h"
#include "plan/accuracy.h"
#include "plan/lean.h"
#include "plan/programs.h"

namespace tenon::plan {
namespace {

// Weights that are computed at run time could not be stored in bfloat16.
graph::OptimizeOptions passes_for(const Options& options) {
  graph::OptimizeOptions out;
  if (options.accuracy == templates::Accuracy::kFast) out.skip.emplace_back("scale_weights");
  return out;
}

void optimize(graph::Graph& g, const graph::Segments& segments, const Options& options) {
  graph::PassContext context;
  if (options.evaluate) context.evaluate = options.evaluate;
  context.joined = options.joined;
  if (options.optimize) graph::optimize(g, context, passes_for(options));
  graph::own_outputs(g);
  g.compact();
  graph::separate(g, segments);
}

graph::Partition cut(const graph::Graph& g, const Options& options) {
  graph::PartitionOptions how{options.fuse, {}, options.target.limits};
  for (const auto& [name, first] : options.plan.pairs.calls) how.pairs.insert(name);
  return graph::partition(g, how);
}

// What stands there without a word about its origin was given.
From origin_of(const CallDecisions& d) {
  return d.calls.empty() || d.decided() ? d.from : From::kGiven;
}

CallDecisions pairs_of(const graph::Partition& p, const Options& options) {
  CallDecisions out{{}, origin_of(options.plan.pairs)};
  for (const graph::Call& c : p.calls) {
    if (!c.joined.empty()) out.calls[c.name] = c.joined;
  }
  return out;
}

CallDecisions layouts_for(const LayoutRules& rules, const Options& options) {
  if (!options.schedule) return {};
  if (options.row_major) {
    CallDecisions all{{}, From::kGiven};
    for (const graph::Call& c : rules.p().calls) all.calls[c.name] = "";
    return all;
  }
  if (options.layout_times.empty()) {
    return {options.plan.layouts.calls, origin_of(options.plan.layouts)};
  }
  Layouts chosen = choose_layouts(rules, options.layout_times);
  const From from = chosen.empty() ? From::kRule : options.layout_times.times_from;
  return {std::move(chosen), from};
}

}  // namespace

std::string Network::call_of(size_t step) const {
  const int32_t call = layouts.calls[step].call;
  return call < 0 ? "" : partition.calls[static_cast<size_t>(call)].name;
}

Network decide(graph::Graph g, const std::string& name, const Options& options) {
  const auto tell = [&](const char* phase) {
    if (options.progress) options.progress(phase, 0, 0);
  };
  Network n;
  n.plan.name = name;
  n.plan.target = target_name(options.target);
  n.plan.accuracy = to_string(options.accuracy);
  tell("optimize");
  if (!g.flow.empty() && !options.target.is_cpu()) {
    throw UserError("branches and loops at run time are compiled for CPUs only",
                    "make the inputs that decide about them constants with --bind");
  }
  n.segments = graph::cut(g);
  optimize(g, n.segments, options);
  n.graph = std::move(g);
  tell("partition");
  n.partition = cut(n.graph, options);
  n.plan.pairs = pairs_of(n.partition, options);
  tell("layouts");
  const auto target = std::make_shared<const target::Target>(options.target);
  const LayoutRules rules(
      n.graph, n.partition, options.schedule ? target : nullptr,
      options.lean ? inflating_algorithms() : std::vector<schedule::Algorithm>());
  n.plan.layouts = layouts_for(rules, options);
  n.layouts = plan_layouts(rules, n.plan.layouts.calls);
  tell("programs");
  decide_programs(n, options);
  return n;
}

}  // namespace tenon::plan
