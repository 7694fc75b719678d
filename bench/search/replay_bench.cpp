// SPDX-License-Identifier: Apache-2.0
// What one candidate costs a search before anything is compiled: replaying its trace, inferring bounds, and lowering.
// The trace is the one of the convolution template: a blocked layout, a register tile, a fused parallel loop.
#include <benchmark/benchmark.h>

#include "lower/lower.h"
#include "schedule/bounds.h"
#include "schedule/program.h"
#include "te/ops.h"
#include "templates/template.h"

namespace tenon {
namespace {

schedule::State initial_state() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 64, 56, 56});
  const auto w = b.constant("W", ir::kF32, {64, 64, 3, 3});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
  b.output(te::relu(b, "R", y));
  return {std::make_shared<const te::ComputeDag>(b.finish()),
          std::make_shared<const target::Target>(target::parse_target("x86-64-v4"))};
}

void replay(benchmark::State& state) {
  const schedule::State initial = initial_state();
  const schedule::Trace trace = templates::choose(initial).trace;
  for (auto _ : state) {
    auto s = schedule::replay(initial, trace);
    benchmark::DoNotOptimize(s);
  }
  state.counters["steps"] = static_cast<double>(trace.size());
  state.counters["replays/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void check(benchmark::State& state) {
  const schedule::State initial = initial_state();
  const auto s = schedule::replay(initial, templates::choose(initial).trace);
  for (auto _ : state) {
    const auto bounds = schedule::infer_bounds(*s);
    auto ok = schedule::check_program(*s, *bounds);
    benchmark::DoNotOptimize(ok);
  }
}

void lower_program(benchmark::State& state) {
  const schedule::State initial = initial_state();
  const auto s = schedule::replay(initial, templates::choose(initial).trace);
  for (auto _ : state) {
    auto f = lower::lower(*s);
    benchmark::DoNotOptimize(f);
  }
}

BENCHMARK(replay)->Unit(benchmark::kMicrosecond);
BENCHMARK(check)->Unit(benchmark::kMicrosecond);
BENCHMARK(lower_program)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenon

BENCHMARK_MAIN();
