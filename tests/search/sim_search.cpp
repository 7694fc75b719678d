// SPDX-License-Identifier: Apache-2.0
#include "search/sim_search.h"

#include <algorithm>

#include "cost/model.h"
#include "measure/measure.h"
#include "search/space/spaces.h"
#include "search/strategy/scoring.h"
#include "search/tasks.h"

namespace tenon::search {

Found search(const task::Task& t, const std::string& strategy_name, uint64_t seed, int threads,
             const std::string& space_name, const Effort& effort) {
  const auto space = make_space(space_name, t);
  const auto model = cost::make_model("xgb", seed, threads);
  StrategyOptions options;
  options.population = effort.population;
  options.threads = threads;
  options.draft = effort.draft;
  const auto strategy = make_strategy(strategy_name, *space, model.get(), options);
  measure::SimOptions sim;
  sim.noise = 0;
  const auto device = measure::sim_measurer(sim);
  Rng rng(seed);
  Found found;
  for (size_t r = 0; r < effort.rounds; ++r) {
    const std::vector<space::Program> batch = strategy->propose(effort.trials, rng);
    std::vector<schedule::Trace> traces;
    for (const space::Program& c : batch) traces.push_back(c.trace);
    const auto measured = measure::measure(*device, t, traces, 0, [] { return false; });
    std::vector<Tried> tried;
    std::vector<cost::Sample> samples;
    for (size_t i = 0; i < measured.size(); ++i) {
      const bool ok = measured[i].outcome == task::Outcome::kOk;
      const double s = ok ? measured[i].median_s : std::numeric_limits<double>::infinity();
      found.best_s = std::min(found.best_s, s);
      found.traces.push_back(measured[i].trace);
      found.seconds.push_back(s);
      tried.push_back({batch[i], s});
      auto row = model->encode(subject_of(t, batch[i]));
      if (row) samples.push_back({std::move(row.value()), t.key, s});
    }
    strategy->tell(tried);
    model->learn(samples, cost::Role::kThisRun);
  }
  return found;
}

task::Task matmul() {
  return make_task([](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {256, 256});
    const auto w = b.constant("W", ir::kF32, {256, 256});
    b.output(te::relu(b, "R", te::matmul(b, "C", a, w)));
  });
}

task::Task convolution() {
  return make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 64, 28, 28});
    const auto w = b.constant("W", ir::kF32, {64, 64, 3, 3});
    b.output(te::relu(b, "R", te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1})));
  });
}

task::Task dense() {
  return make_task([](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {128, 768});
    const auto w = b.constant("W", ir::kF32, {768, 768});
    b.output(te::relu(b, "R", te::matmul(b, "C", a, w)));
  });
}

task::Task strided() {
  return make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 96, 28, 28});
    const auto w = b.constant("W", ir::kF32, {144, 96, 3, 3});
    b.output(te::relu(b, "R", te::conv(b, "S", x, w, {{2, 2}, {1, 1}, {1, 1}, {}, 1})));
  });
}

task::Task pointwise() {
  return make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 256, 14, 14});
    const auto w = b.constant("W", ir::kF32, {512, 256, 1, 1});
    b.output(te::relu(b, "R", te::conv(b, "P", x, w, {{1, 1}, {0, 0}, {0, 0}, {}, 1})));
  });
}

}  // namespace tenon::search
