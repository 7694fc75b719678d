// SPDX-License-Identifier: Apache-2.0
#include "measure/build_process.h"

#include <chrono>

#include "measure/build.h"
#include "support/process.h"

namespace tenon::measure {
namespace {

constexpr int kBuildsPerLife = 200;

double elapsed_s(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

BuildProcess::BuildProcess(const DeviceOptions& options, const std::filesystem::path& folder)
    : worker_(options.build_tool, {folder.string(), std::to_string(options.compile_memory_bytes)},
              kBuildsPerLife, kMemoryInLargePages) {}

Built BuildProcess::build(const task::Task& t, const schedule::Trace& trace, double limit_s) {
  if (!target::runs_here(*t.target)) {
    return {task::Outcome::kRefused, "its target does not run on this machine", {}, 0};
  }
  const auto start = std::chrono::steady_clock::now();
  Answer a = worker_.call(build_request(t, std::span(&trace, 1)), limit_s);
  if (a.kind == Answer::Kind::kMessage) {
    const auto answers = split(a.message);
    a.message = answers && answers->size() == 1 ? answers->front() : Message{};
  }
  Built b = read_build(a, limit_s);
  b.job.device = t.target->device;
  b.seconds = elapsed_s(start);
  return b;
}

std::vector<Built> BuildProcess::build(const task::Task& t, std::span<const schedule::Trace> traces,
                                       double limit_s) {
  std::vector<Built> out;
  if (traces.size() > 1 && target::runs_here(*t.target)) out = build_together(t, traces, limit_s);
  if (!out.empty()) return out;
  for (const schedule::Trace& trace : traces) out.push_back(build(t, trace, limit_s));
  return out;
}

std::vector<Built> BuildProcess::build_together(const task::Task& t,
                                                std::span<const schedule::Trace> traces,
                                                double limit_s) {
  const auto start = std::chrono::steady_clock::now();
  const auto count = static_cast<double>(traces.size());
  Answer a = worker_.call(build_request(t, traces), count * limit_s);
  if (a.kind != Answer::Kind::kMessage) return {};
  const auto answers = split(a.message);
  if (!answers || answers->size() != traces.size()) return {};
  std::vector<Built> out;
  for (const Message& m : *answers) {
    a.message = m;
    out.push_back(read_build(a, limit_s));
    out.back().job.device = t.target->device;
    out.back().seconds = elapsed_s(start) / count;
  }
  return out;
}

}  // namespace tenon::measure
