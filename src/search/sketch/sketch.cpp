// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/sketch.h"

#include <algorithm>
#include <deque>

#include "search/sketch/store_alike.h"

namespace tenon::search {

using schedule::LoopId;
using schedule::LoopRef;
using schedule::StageId;
using schedule::StageRef;

bool Sketch::add(schedule::Step step) {
  if (!schedule::check(step, state)) return false;
  schedule::apply(step, state);
  trace.push_back(std::move(step));
  return true;
}

std::vector<LoopId> Sketch::split(StageId stage, LoopId loop, size_t factors, size_t parent) {
  const schedule::Loop before = state.stage(stage).loop(loop);
  const auto first = static_cast<LoopId>(state.stage(stage).loops.size());
  // The placeholder: factors change neither the number of loops nor their ids.
  if (!add(schedule::Split{StageRef{stage}, LoopRef{loop}, std::vector<int64_t>(factors, 1)})) {
    return {};
  }
  open.push_back(
      {trace.size() - 1, before.extent, parent, before.kind == schedule::LoopKind::kReduce});
  std::vector<LoopId> parts;
  for (size_t i = 0; i <= factors; ++i) parts.push_back(first + static_cast<LoopId>(i));
  return parts;
}

const te::ComputeOp* definition(const Sketch& s, StageId stage) {
  const te::ComputeDag& dag = s.state.dag();
  const size_t at = static_cast<size_t>(stage) - dag.inputs.size();
  return static_cast<size_t>(stage) < dag.inputs.size() || at >= dag.ops.size() ? nullptr
                                                                                : dag.ops[at].get();
}

StageId stage_before(const schedule::State& s, StageId stage) {
  const auto it = std::find(s.order().begin(), s.order().end(), stage);
  return it == s.order().begin() ? -1 : *(it - 1);
}

namespace {

// The first stage that the algorithm can compute.
bool add_variant(Sketch& s, int64_t algorithm) {
  if (algorithm == 0) return true;
  const auto a = static_cast<schedule::Algorithm>(algorithm - 1);
  const std::vector<StageId> order = s.state.order();
  return std::any_of(order.begin(), order.end(), [&](StageId id) {
    return !s.state.stage(id).is_input() && s.add(schedule::Variant{StageRef{id}, a});
  });
}

}  // namespace

std::span<const SketchRule> sketch_rules(const target::Target& t) {
  return t.is_cpu() ? cpu_sketch_rules() : gpu_sketch_rules();
}

std::optional<Sketch> start_sketch(const task::Task& t, int64_t algorithm) {
  Sketch s{{}, schedule::State(t.dag, t.target), {}, {}, {}, {}};
  if (!add_variant(s, algorithm)) return std::nullopt;
  for (const schedule::Step& step : task::edge_steps(t)) {
    if (!s.add(step)) return std::nullopt;
  }
  store_alike(s);
  return s;
}

std::vector<Sketch> make_sketches(const task::Task& t, std::span<const SketchRule> user,
                                  int64_t algorithm) {
  auto first = start_sketch(t, algorithm);
  if (!first) return {};
  std::vector<SketchRule> rules(user.begin(), user.end());
  const auto table = sketch_rules(*t.target);
  rules.insert(rules.end(), table.begin(), table.end());
  std::deque<Next> frontier;
  const StageId last = first->state.order().back();
  frontier.push_back({std::move(*first), last});
  std::vector<Sketch> done;
  while (!frontier.empty()) {
    const Next at = std::move(frontier.front());
    frontier.pop_front();
    if (at.stage < 0) {
      done.push_back(at.sketch);
      continue;
    }
    for (const SketchRule& r : rules) {
      const Applies applies = r.condition(at.sketch, at.stage);
      if (applies == Applies::kNo) continue;
      std::vector<Next> next = r.apply(at.sketch, at.stage);
      const bool stop = applies == Applies::kOnly && !next.empty();
      for (Next& n : next) frontier.push_back(std::move(n));
      if (stop) break;
    }
  }
  return done;
}

}  // namespace tenon::search
