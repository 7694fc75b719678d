// SPDX-License-Identifier: Apache-2.0
#include "measure/run_process.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/cpus.h"
#include "support/check.h"

namespace tenon::measure {
namespace {

using task::Outcome;

constexpr int kRunsPerLife = 50;
constexpr int kRunsPerLifeOnCard = 5000;  // a GPU's driver takes longer to open than 50 runs
constexpr double kOpeningS = 10;          // that it may take
constexpr double kCopiedBytesPerS =
    100e6;  // filling, flushing, comparing: allowed on top of running
constexpr double kLeastRunS = 1;
constexpr double kTimesBest = 30;  // a candidate so much slower than the best may be cut off

// The bytes of the shared memory while they are used here.
class Mapping {
 public:
  Mapping(int fd, int64_t bytes) : bytes_(static_cast<size_t>(std::max<int64_t>(bytes, 1))) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) throw UserError(fmt::format("no memory for {} bytes", bytes_));
    data_ = static_cast<std::byte*>(p);
  }
  ~Mapping() { munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* at(int64_t offset) const { return data_ + offset; }

 private:
  size_t bytes_;
  std::byte* data_ = nullptr;
};

double around_s(const RunJob& program) {
  double bytes = static_cast<double>(program.workspace_bytes);
  for (const Param& p : program.params) bytes += static_cast<double>(p.bytes);
  return 4 * bytes / kCopiedBytesPerS;
}

}  // namespace

RunProcess::RunProcess(const DeviceOptions& options)
    : options_(options),
      worker_(options.run_tool, {}, options.on_card ? kRunsPerLifeOnCard : kRunsPerLife) {}

double RunProcess::opening_s() const { return options_.on_card && worker_.fresh() ? kOpeningS : 0; }

// What runs beside a card is a definition to compare with.
int RunProcess::threads_of(const RunJob& program) const {
  const bool beside = options_.on_card && program.device == "cpu";
  return beside ? runtime::default_threads() : options_.protocol.threads;
}

// A candidate may take as long as it is worth knowing, and what the bytes around it cost.
double RunProcess::run_limit_s(const RunJob& program, double best_s) const {
  const double around = around_s(program) + opening_s();
  if (best_s <= 0) return options_.run_limit_s + around;
  const double worth = std::max(kLeastRunS, kTimesBest * (best_s + options_.min_run_s));
  return std::min(options_.run_limit_s, worth) + around;
}

Ran RunProcess::time_once(const RunJob& program, double best_s, double min_run_s) {
  RunJob job = program;
  job.threads = threads_of(program);
  job.cold = options_.protocol.cold;
  job.min_run_s = min_run_s;
  job.best_s = std::max(best_s, 0.0);
  job.limit_s = run_limit_s(job, best_s);
  Ran r = read_run(worker_.call(encode(job), job.limit_s, job.threads), job.limit_s);
  if (r.outcome == Outcome::kOk && r.seconds.empty()) {
    r = {Outcome::kRunCrash, "gave no times", {}};
  }
  // What wrote where it should not may have hit the runner itself.
  if (r.outcome != Outcome::kOk) worker_.stop();
  return r;
}

Ran RunProcess::time(const RunJob& program, double best_s, double min_run_s) {
  Ran first = time_once(program, best_s, min_run_s);
  if (first.outcome != Outcome::kWrong) return first;
  const Ran second = time_once(program, best_s, options_.min_run_s);
  if (second.outcome == Outcome::kWrong) return first;
  return {Outcome::kUndecided, "only once: " + first.error, {}};
}

Ran RunProcess::run_once(RunJob program, const std::vector<ir::Array>& inputs, double limit_s,
                         std::vector<ir::Array>& outputs) {
  const std::vector<int64_t> at = offsets(program.params);
  if (inputs.size() + outputs.size() != program.params.size()) {
    return {Outcome::kUndecided, "the compiler answered for another program", {}};
  }
  std::optional<Mapping> memory;
  try {
    memory.emplace(worker_.memory(std::max<int64_t>(at.back(), 1)), at.back());
  } catch (const UserError& e) {
    return {Outcome::kUndecided, e.what(), {}};
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TENON_CHECK(inputs[i].bytes() == program.params[i].bytes);
    std::memcpy(memory->at(at[i]), inputs[i].data(), static_cast<size_t>(inputs[i].bytes()));
  }
  program.check = true;
  program.threads = threads_of(program);
  program.limit_s = limit_s + around_s(program) + opening_s();
  const Ran r =
      read_run(worker_.call(encode(program), program.limit_s, program.threads), program.limit_s);
  if (r.outcome != Outcome::kOk) {
    worker_.stop();
    return r;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TENON_CHECK(outputs[i].bytes() == program.params[inputs.size() + i].bytes);
    std::memcpy(outputs[i].data(), memory->at(at[inputs.size() + i]),
                static_cast<size_t>(outputs[i].bytes()));
  }
  return r;
}

}  // namespace tenon::measure
