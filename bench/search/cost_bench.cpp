// SPDX-License-Identifier: Apache-2.0
// What it costs to look at a candidate: bounds, features from state and bounds, the model's prediction; and to train
// the model. The programs looked at are those that the templates choose for a product with an epilogue and for a
// convolution; the model learns made-up times of random tilings.
#include <benchmark/benchmark.h>

#include "cost/features.h"
#include "cost/tilings.h"
#include "te/ops.h"
#include "templates/template.h"

namespace tenon {
namespace {

schedule::State planned(te::Builder& b) {
  const schedule::State initial(
      std::make_shared<const te::ComputeDag>(b.finish()),
      std::make_shared<const target::Target>(target::parse_target("x86-64-v4")));
  return *schedule::replay(initial, templates::choose(initial).trace);
}

schedule::State matmul() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {512, 768});
  const auto w = b.constant("W", ir::kF32, {768, 1024});
  b.output(te::relu(b, "R", te::matmul(b, "Y", x, w)));
  return planned(b);
}

schedule::State convolution() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 64, 56, 56});
  const auto w = b.constant("W", ir::kF32, {64, 64, 3, 3});
  b.output(te::relu(b, "R", te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1})));
  return planned(b);
}

void bounds(benchmark::State& state, schedule::State (*make)()) {
  const schedule::State s = make();
  for (auto _ : state) {
    auto b = schedule::infer_bounds(s);
    benchmark::DoNotOptimize(b);
  }
}

void features(benchmark::State& state, schedule::State (*make)()) {
  const schedule::State s = make();
  const auto b = schedule::infer_bounds(s);
  size_t rows = 0;
  for (auto _ : state) {
    auto f = cost::extract(s, *b);
    rows = f.rows();
    benchmark::DoNotOptimize(f);
  }
  state.counters["rows"] = static_cast<double>(rows);
}

std::vector<cost::Sample> samples(size_t n) {
  Rng rng(1);
  return cost::made_up_samples({}, "t", n, rng);
}

// Per batch of the size that evolution scores at once; per candidate in the counter.
void predict(benchmark::State& state) {
  const auto all = samples(2048);
  const auto model = cost::make_model("xgb", 1, static_cast<int>(state.range(1)));
  model->learn(std::span(all).first(static_cast<size_t>(state.range(0))), cost::Role::kThisRun);
  std::vector<cost::Row> batch;
  for (const cost::Sample& s : all) batch.push_back(s.row);
  for (auto _ : state) {
    auto scores = model->score(batch);
    benchmark::DoNotOptimize(scores);
  }
  state.counters["candidates/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(batch.size()),
      benchmark::Counter::kIsRate);
}

void train(benchmark::State& state) {
  const auto all = samples(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const auto model = cost::make_model("xgb", 1, 1);
    model->learn(all, cost::Role::kThisRun);
  }
}

BENCHMARK_CAPTURE(bounds, matmul, matmul)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(features, matmul, matmul)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bounds, convolution, convolution)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(features, convolution, convolution)->Unit(benchmark::kMicrosecond);
BENCHMARK(predict)
    ->ArgNames({"samples", "threads"})
    ->Args({200, 1})
    ->Args({1000, 1})
    ->Args({1000, 2})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(train)
    ->ArgName("samples")
    ->Arg(200)
    ->Arg(1000)
    ->Arg(10000)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace tenon

BENCHMARK_MAIN();
