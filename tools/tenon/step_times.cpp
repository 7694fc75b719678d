// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/step_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/support/ceilings.h"
#include "bench/support/measure.h"
#include "target/target.h"
#include "tools/tenon/json.h"

namespace tenon::tools {
double Ceilings::least_s(double flops, double bytes) const {
  double per_s = levels.back().bytes_per_s;
  for (const Level& level : levels) {
    if (bytes <= level.bytes) {
      per_s = level.bytes_per_s;
      break;
    }
  }
  return std::max(flops / flops_per_s, bytes / per_s);
}

Ceilings measure_ceilings(int threads) {
  const target::Cpu host = target::host_target().cpu();
  const int64_t l3 = host.l3_bytes > 0 ? host.l3_bytes : 8 * host.l2_bytes;
  const int64_t sizes[] = {threads * host.l2_bytes / 2, l3 / 2, 4 * l3};
  const tenon_runtime* runtime = tenon_runtime_create(threads);
  if (runtime == nullptr) {
    throw UserError(fmt::format("cannot start {} threads", threads));
  }
  std::vector<bench::Ceiling> ceilings = {bench::fma_ceiling(runtime)};
  for (const int64_t size : sizes) {
    ceilings.push_back(bench::read_ceiling(runtime, size));
  }
  std::vector<bench::Contestant> contestants;
  for (const bench::Ceiling& c : ceilings) {
    contestants.push_back(c.contestant);
  }
  bench::Protocol protocol;
  protocol.rounds = 4;
  const std::vector<bench::Timing> timings = bench::measure(contestants, protocol);
  tenon_runtime_destroy(runtime);
  Ceilings result;
  result.flops_per_s = ceilings[0].amount / timings[0].best_s;
  for (size_t i = 0; i < std::size(sizes); ++i) {
    result.levels.push_back(
        {static_cast<double>(sizes[i]), ceilings[i + 1].amount / timings[i + 1].best_s});
  }
  return result;
}

std::string chrome_trace(const artifact::Model& model, const measure::StepTimes& times) {
  Json events = Json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", model.name()}}}});
  for (size_t i = 0; i < model.steps().size(); ++i) {
    const artifact::StepInfo& step = model.steps()[i];
    const double seconds = times.seconds[i].back();
    events.push_back({{"name", step.nodes.empty() ? step.kernel : step.nodes.front()},
                      {"cat", "step"},
                      {"ph", "X"},
                      {"ts", times.starts_s[i] * 1e6},
                      {"dur", seconds * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args",
                       {{"kernel", step.kernel},
                        {"nodes", step.nodes},
                        {"origin", step.origin},
                        {"flops", step.flops},
                        {"bytes", step.bytes},
                        {"gflops_per_s", step.flops / seconds * 1e-9}}}});
  }
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump();
}

}  // namespace tenon::tools
