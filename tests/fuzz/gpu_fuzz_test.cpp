// SPDX-License-Identifier: Apache-2.0
// Random programs for GPUs of random dags: after every pass the interpreter, which finds races and barriers that not all
// threads reach, gives what the dag defines.
#include <fmt/format.h>

#include <map>
#include <string_view>

#include "fuzz/fuzzer.h"
#include "fuzz/gpu_trace.h"
#include "fuzz/random_dag.h"
#include "ir/visit.h"
#include "lower/lower.h"
#include "schedule/rules.h"

namespace tenon::fuzz {
namespace {

te::ComputeDag draw_dag(Rng& rng) {
  RandomDagOptions o;
  o.max_work = rng.chance(0.7) ? 400 : 2500;
  o.max_steps = rng.chance(0.5) ? 1 : 3;
  return random_dag(rng, o);
}

// What programs have that are not refused.
void count_features(const schedule::State& state, const ir::Function& f, Counts& counts) {
  std::map<std::string_view, bool> has = {{"programs", true},
                                          {"with barriers", false},
                                          {"with registers", false},
                                          {"with shared memory", false},
                                          {"of several kernels", false},
                                          {"that fetch ahead", false}};
  for (const schedule::StageId id : state.order()) {
    has["that fetch ahead"] |= schedule::is_stored_twice(state, state.stage(id));
  }
  ir::visit(f.body, [&](const ir::Stmt& s) {
    const auto* a = s.as<ir::Allocate>();
    has["with barriers"] |= s.as<ir::Barrier>() != nullptr;
    if (a == nullptr) return;
    has["with shared memory"] |= a->buffer->scope == ir::Scope::kShared;
    has["with registers"] |= a->buffer->scope == ir::Scope::kRegister;
    has["of several kernels"] |= a->buffer->scope == ir::Scope::kGlobal;
  });
  for (const auto& [name, is] : has) {
    ++counts[name].proposed;
    counts[name].accepted += is ? 1 : 0;
  }
}

Drawn draw_trace(const schedule::State& initial, Rng& rng, Counts& counts) {
  Drawn drawn = gpu_trace(initial, rng, &counts);
  try {
    const auto f = lower::lower(drawn.state);
    if (f) count_features(drawn.state, *f, counts);
  } catch (const InternalError&) {
    // The run that follows tells of it.
  }
  return drawn;
}

std::string judge(const Counts& counts, int64_t runs) {
  for (const std::string_view name :
       {"bind", "set_scope", "cache_read", "cache_write", "rfactor", "pipeline"}) {
    const auto it = counts.find(name);
    if (it == counts.end() || it->second.accepted < 20) {
      return fmt::format("{} is accepted too rarely", name);
    }
  }
  for (const std::string_view name :
       {"with barriers", "with shared memory", "with registers", "of several kernels"}) {
    const auto it = counts.find(name);
    if (it == counts.end() || it->second.accepted * 20 < runs) {
      return fmt::format("too few programs {}", name);
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
