// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/chrome_trace.h"

#include "tools/tenon/json.h"

namespace tenon::tools {

std::string chrome_trace(const std::string& model, const std::vector<artifact::StepInfo>& steps,
                         const measure::StepTimes& times) {
  Json events = Json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", model}}}});
  for (size_t i = 0; i < steps.size(); ++i) {
    const artifact::StepInfo& step = steps[i];
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
