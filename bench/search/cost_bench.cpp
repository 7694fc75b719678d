// SPDX-License-Identifier: Apache-2.0
// What it costs to look at a candidate: bounds, and features from state and bounds. The programs are those that the
// templates choose for a product with an epilogue and for a convolution.
#include <benchmark/benchmark.h>

#include "cost/features.h"
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

BENCHMARK_CAPTURE(bounds, matmul, matmul)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(features, matmul, matmul)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bounds, convolution, convolution)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(features, convolution, convolution)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tenon

BENCHMARK_MAIN();
