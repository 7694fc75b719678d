// SPDX-License-Identifier: Apache-2.0
// What one candidate costs a search before anything is compiled: replaying its trace, inferring bounds, and lowering.
// The traces are those of the convolution template: direct, with a blocked layout, a register tile and a fused parallel
// loop; and by Winograd's algorithm, which has more stages and whose transforms are written out.
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

constexpr int64_t kDirect = 0;
constexpr int64_t kWinograd = 1 + static_cast<int64_t>(schedule::Algorithm::kWinograd4);

// `algorithm` as in templates::Request.
schedule::Trace trace_of(const schedule::State& initial, int64_t algorithm) {
  templates::Request request;
  request.algorithm = algorithm;
  return templates::choose(initial, request).trace;
}

void replay(benchmark::State& state, int64_t algorithm) {
  const schedule::State initial = initial_state();
  const schedule::Trace trace = trace_of(initial, algorithm);
  for (auto _ : state) {
    auto s = schedule::replay(initial, trace);
    benchmark::DoNotOptimize(s);
  }
  state.counters["steps"] = static_cast<double>(trace.size());
  state.counters["replays/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void check(benchmark::State& state, int64_t algorithm) {
  const schedule::State initial = initial_state();
  const auto s = schedule::replay(initial, trace_of(initial, algorithm));
  for (auto _ : state) {
    const auto bounds = schedule::infer_bounds(*s);
    auto ok = schedule::check_program(*s, *bounds);
    benchmark::DoNotOptimize(ok);
  }
}

void lower_program(benchmark::State& state, int64_t algorithm) {
  const schedule::State initial = initial_state();
  const auto s = schedule::replay(initial, trace_of(initial, algorithm));
  for (auto _ : state) {
    auto f = lower::lower(*s);
    benchmark::DoNotOptimize(f);
  }
}

BENCHMARK_CAPTURE(replay, direct, kDirect)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(replay, winograd, kWinograd)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(check, direct, kDirect)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(check, winograd, kWinograd)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(lower_program, direct, kDirect)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lower_program, winograd, kWinograd)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenon

BENCHMARK_MAIN();
