// SPDX-License-Identifier: Apache-2.0
// How many candidates a search looks at in a second, stage by stage, on one thread and on two: drawing, mutating, crossing,
// features, prediction, and a whole generation (mutate, features, predict).
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <functional>

#include "cost/model.h"
#include "search/scoring.h"
#include "support/parallel.h"
#include "te/ops.h"

namespace tenon::search {
namespace {

constexpr size_t kCandidates = 2048;

task::Task make(const std::function<te::Tensor(te::Builder&)>& build) {
  te::Builder b;
  b.output(build(b));
  auto dag = std::make_shared<const te::ComputeDag>(b.finish());
  auto edges = task::parse_edges("", *dag);
  return task::make_task(std::move(dag), std::move(edges),
                         std::make_shared<const target::Target>(target::host_target()));
}

struct Took {
  double wall_s;
  double cpu_s;  // of all threads: what counts on a machine that others use too
};

Took time_of(const std::function<void()>& fn) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  fn();
  const double used = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), used};
}

std::vector<cost::Sample> made_up(const std::vector<Candidate>& candidates, Rng& rng) {
  std::vector<cost::Sample> samples;
  for (size_t i = 0; i < 512 && i < candidates.size(); ++i) {
    auto f = cost::extract(candidates[i].state);
    if (f) samples.push_back({std::move(f.value()), "task", 1e-3 * (1 + rng.unit())});
  }
  return samples;
}

void row(const char* what, size_t n, const Took& t) {
  const double count = static_cast<double>(n);
  fmt::print("  {:<12}{:>10.0f} /s{:>9.1f} us of processor time each\n", what, count / t.wall_s,
             1e6 * t.cpu_s / count);
}

void bench(const char* name, const task::Task& t, int threads) {
  const auto space = make_space("sketch", t);
  Rng rng(1);
  fmt::print("{}, {} sketches, {} thread{}\n", name, space->sketches(), threads,
             threads == 1 ? "" : "s");
  std::vector<Candidate> all;
  row("sample", kCandidates,
      time_of([&] { all = sample_many(*space, kCandidates, rng, threads); }));
  const auto model = cost::make_model("xgb", 1, threads);
  model->update(made_up(all, rng));
  const auto each = [&](const std::function<void(const Candidate&, Rng&)>& fn) {
    return time_of([&] {
      for_each_parallel(kCandidates, threads, [&](size_t i) {
        Rng own(i);
        fn(all[i % all.size()], own);
      });
    });
  };
  row("mutate", kCandidates,
      each([&](const Candidate& c, Rng& own) { (void)bool(space->mutate(c, own)); }));
  row("cross", kCandidates,
      each([&](const Candidate& c, Rng& own) { (void)bool(space->cross(c, own.pick(all), own)); }));
  row("features", kCandidates,
      each([](const Candidate& c, Rng&) { (void)cost::extract(c.state, *c.bounds); }));
  std::vector<cost::Features> features;
  for (const Candidate& c : all) {
    auto f = cost::extract(c.state);
    if (f) features.push_back(std::move(f.value()));
  }
  row("predict", features.size(), time_of([&] { (void)model->predict(features); }));
  row("in all", kCandidates, time_of([&] {
        std::vector<std::optional<Candidate>> next(kCandidates);
        for_each_parallel(kCandidates, threads, [&](size_t i) {
          Rng own(i);
          auto c = space->mutate(all[i % all.size()], own);
          if (c) next[i] = std::move(c.value());
        });
        std::vector<Candidate> population;
        for (auto& c : next) population.push_back(c ? std::move(*c) : all[0]);
        (void)score(population, *model, threads);
      }));
}

}  // namespace
}  // namespace tenon::search

int main() {
  using namespace tenon;
  const auto conv = search::make([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 64, 56, 56});
    const auto w = b.constant("W", ir::kF32, {64, 64, 3, 3});
    return te::relu(b, "R", te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1}));
  });
  const auto matmul = search::make([](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {1024, 1024});
    return te::matmul(b, "C", a, b.constant("W", ir::kF32, {1024, 1024}));
  });
  for (const int threads : {1, 2}) {
    search::bench("matmul 1024", matmul, threads);
    search::bench("conv 3x3 64 56 relu", conv, threads);
  }
}
