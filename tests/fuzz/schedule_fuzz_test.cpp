// SPDX-License-Identifier: Apache-2.0
// Random schedules of random dags: every legal trace gives what the dag defines, interpreted and compiled.
#include <fmt/format.h>

#include "fuzz/fuzzer.h"
#include "fuzz/random_dag.h"
#include "templates/template.h"

namespace tenon::fuzz {
namespace {

te::ComputeDag draw_dag(Rng& rng) {
  RandomDagOptions o;
  o.max_work = rng.chance(0.7) ? 400 : 2500;
  o.max_steps = rng.chance(0.5) ? 2 : 4;
  return random_dag(rng, o);
}

Drawn draw_trace(const schedule::State& initial, Rng& rng, Counts& counts) {
  TraceOptions options;
  options.max_steps = rng.chance(0.7) ? 14 : 30;
  options.check_refusals = rng.chance(0.05);
  if (!rng.chance(0.12)) return random_trace(initial, rng, options, &counts);
  schedule::Trace trace = templates::choose(initial).trace;
  ++counts["from templates"].proposed;
  ++counts["from templates"].accepted;
  options.max_steps = rng.chance(0.5) ? 0 : 6;
  Drawn drawn = random_trace(*schedule::replay(initial, trace), rng, options, &counts);
  drawn.trace.insert(drawn.trace.begin(), trace.begin(), trace.end());
  return drawn;
}

std::string judge(const Counts& counts, int64_t) {
  for (const schedule::PrimitiveRow& row : schedule::primitives()) {
    // No CPU takes these; gpu_fuzz draws them.
    if (row.name == "bind" || row.name == "pipeline") continue;
    const auto it = counts.find(row.name);
    if (it == counts.end()) return fmt::format("{} is never proposed", row.name);
    if (it->second.accepted == 0) return fmt::format("{} is never accepted", row.name);
  }
  return "";
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  using namespace tenon::fuzz;  // NOLINT(google-build-using-namespace): its own test
  return fuzz_main(argc, argv, {"ScheduleFuzz", draw_dag, draw_trace, 4, judge, 0.15});
}
