// SPDX-License-Identifier: Apache-2.0
#include "measure/build_process.h"

#include <chrono>

#include "measure/build.h"
#include "support/process.h"

namespace tenon::measure {
namespace {

constexpr int kBuildsPerLife = 200;

}  // namespace

BuildProcess::BuildProcess(const DeviceOptions& options, const std::filesystem::path& folder)
    : worker_(options.build_tool, {folder.string(), std::to_string(options.compile_memory_bytes)},
              kBuildsPerLife, {kMemoryInLargePages}) {}

Built BuildProcess::build(const task::Task& t, const schedule::Trace& trace, double limit_s) {
  if (!target::runs_here(*t.target)) {
    return {task::Outcome::kRefused, "its target does not run on this machine", {}, 0};
  }
  const auto start = std::chrono::steady_clock::now();
  Built b = read_build(worker_.call(build_request(t, trace), limit_s), limit_s);
  b.job.device = t.target->device;
  b.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return b;
}

}  // namespace tenon::measure
