// SPDX-License-Identifier: Apache-2.0
// Random programs for GPUs of random dags: after every pass the interpreter, which finds races and barriers that not all
// threads reach, gives what the dag defines.
#include <fmt/format.h>

#include "fuzz/fuzzer.h"
#include "fuzz/gpu_trace.h"
#include "fuzz/random_dag.h"

namespace tenon::fuzz {
namespace {

te::ComputeDag draw_dag(Rng& rng) {
  RandomDagOptions o;
  o.max_work = rng.chance(0.7) ? 400 : 2500;
  o.max_steps = rng.chance(0.5) ? 1 : 3;
  return random_dag(rng, o);
}

Drawn draw_trace(const schedule::State& initial, Rng& rng, Counts& counts) {
  return gpu_trace(initial, rng, &counts);
}

std::string judge(const Counts& counts, int64_t) {
  for (const std::string_view name :
       {"bind", "set_scope", "cache_read", "cache_write", "rfactor"}) {
    const auto it = counts.find(name);
    if (it == counts.end() || it->second.accepted < 20) {
      return fmt::format("{} is accepted too rarely", name);
    }
  }
  return "";
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  using namespace tenon::fuzz;  // NOLINT(google-build-using-namespace): its own test
  FuzzSubject subject{"GpuFuzz", draw_dag, draw_trace, 4, judge, 0.1};
  subject.gpu = true;
  subject.most_refused = 0.7;
  subject.judged_runs = 300;
  return fuzz_main(argc, argv, subject);
}
