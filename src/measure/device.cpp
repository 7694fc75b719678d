// SPDX-License-Identifier: Apache-2.0
// The real measurer: a few tenon-build processes, then one tenon-run at a time, so that nothing is compiled while
// something is timed.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>

#include "lower/lower.h"
#include "measure/build.h"
#include "measure/estimate.h"
#include "measure/handoff.h"
#include "measure/measure.h"
#include "measure/reference.h"
#include "measure/worker.h"
#include "runtime/cpus.h"
#include "support/check.h"
#include "support/parallel.h"
#include "support/private_folder.h"

namespace tenon::measure {
namespace {

using task::Outcome;
using Clock = std::chrono::steady_clock;

constexpr int kBuildsPerLife = 200;
constexpr int kRunsPerLife = 50;
constexpr size_t kBuildsAhead = 4;  // per builder, before any of them is run
constexpr double kDefinitionBuildS = 60;
constexpr double kDefinitionRunS = 300;
constexpr double kCopiedBytesPerS =
    100e6;  // filling, flushing, comparing: allowed on top of running
constexpr double kLeastRunS = 1;
constexpr double kTimesBest = 30;    // a candidate so much slower than the best may be cut off
constexpr double kFinalRunS = 0.05;  // of one candidate in one round

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

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

struct Built {
  Outcome outcome = Outcome::kOk;
  std::string error;
  RunJob job;
  double seconds = 0;
};

struct Ran {
  Outcome outcome = Outcome::kOk;
  std::string error;
  std::vector<double> seconds;
};

Outcome outcome_of_death(const Answer& a) {
  // What a file does to those that write or map it when there is no room for it.
  if (a.signal == SIGBUS || a.signal == SIGXFSZ) return Outcome::kUndecided;
  // Killed again and again by others: most likely by the kernel, for memory.
  const bool memory = a.signal == SIGKILL || a.said.find(kOutOfMemoryText) != std::string::npos;
  return memory ? Outcome::kCompileMemory : Outcome::kCompileError;
}

Built read_build(const Answer& a, double limit_s) {
  Built b;
  if (a.kind == Answer::Kind::kLate) {
    b.outcome = Outcome::kCompileTimeout;
    b.error = fmt::format("the compiler was stopped after {:.3g} s", limit_s);
    return b;
  }
  if (a.kind == Answer::Kind::kDied) {
    b.outcome = outcome_of_death(a);
    b.error = "the compiler " + one_line(a.how);
    return b;
  }
  const Message& m = a.message;
  const bool built = m.size() >= 3 && m[0] == kBuilt;
  if (!built) {
    const std::string kind = m.size() == 2 ? m[0] : "";
    b.outcome = kind == kRefused  ? Outcome::kRefused
                : kind == kUnable ? Outcome::kUndecided
                                  : Outcome::kCompileError;
    b.error = m.size() == 2 ? one_line(m[1]) : "the compiler gave no answer that can be read";
    return b;
  }
  b.job.library = m[1];
  b.job.workspace_bytes = std::strtoll(m[2].c_str(), nullptr, 10);
  b.job.params.resize(m.size() - 3);
  for (size_t i = 3; i < m.size(); ++i) {
    if (parse_param(m[i], b.job.params[i - 3])) continue;
    b.outcome = Outcome::kCompileError;
    b.error = "the compiler gave no answer that can be read";
  }
  return b;
}

Ran read_run(const Answer& a, double limit_s) {
  Ran r;
  if (a.kind == Answer::Kind::kLate) {
    r.outcome = Outcome::kRunTimeout;
    r.error = fmt::format("stopped after {:.3g} s", limit_s);
    return r;
  }
  const Message& m = a.message;
  if (a.kind == Answer::Kind::kDied || m.empty() || (m[0] != "ok" && m.size() != 2)) {
    r.outcome = Outcome::kRunCrash;
    r.error = a.kind == Answer::Kind::kDied ? one_line(a.how) : "gave no answer that can be read";
    return r;
  }
  if (m[0] != "ok") {
    r.outcome = m[0] == "wrong"   ? Outcome::kWrong
                : m[0] == kUnable ? Outcome::kUndecided
                                  : Outcome::kRunCrash;
    r.error = one_line(m[1]);
    return r;
  }
  for (size_t i = 1; i < m.size(); ++i) r.seconds.push_back(std::strtod(m[i].c_str(), nullptr));
  return r;
}

class Device : public Measurer {
 public:
  explicit Device(const DeviceOptions& options)
      : options_(options),
        references_([this](const task::Task& t, const std::vector<ir::Array>& inputs) {
          return run_definition(t, inputs);
        }) {
    if (options_.builders <= 0) options_.builders = runtime::default_threads();
    const std::vector<std::string> args = {folder_.path().string(),
                                           std::to_string(options_.compile_memory_bytes)};
    for (int i = 0; i < options_.builders; ++i) {
      builders_.push_back(std::make_unique<Worker>(options_.build_tool, args, kBuildsPerLife));
      idle_.push_back(builders_.back().get());
    }
    runner_ = std::make_unique<Worker>(options_.run_tool, std::vector<std::string>{}, kRunsPerLife);
  }

  std::string target(const target::Target& t) const override { return measured_target(t); }
  std::string protocol() const override { return to_string(options_.protocol); }

  std::vector<task::Measurement> measure(const task::Task& t,
                                         std::span<const schedule::Trace> traces, double best_s,
                                         const std::function<bool()>& stop) override {
    std::vector<task::Measurement> out;
    const size_t ahead = kBuildsAhead * builders_.size();
    for (size_t at = 0; at < traces.size(); at += ahead) {
      if (stop && stop()) return out;
      const auto batch = traces.subspan(at, std::min(ahead, traces.size() - at));
      const std::vector<Built> built = build_all(t, batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        if (stop && stop()) return out;
        out.push_back(timed(t, batch[i], built[i], best_s));
        if (const auto& m = out.back(); m.outcome == Outcome::kOk) {
          best_s = best_s > 0 ? std::min(best_s, m.median_s) : m.median_s;
        }
      }
    }
    return out;
  }

  Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    Verdict first = compare(t, trace);
    if (!first.wrong()) return first;
    // Wrong is for ever, and memory or a disk may fail for once: built anew in another process, it must be wrong again.
    runner_->stop();
    const Verdict second = compare(t, trace);
    if (second.wrong()) return first;
    return undecided(
        fmt::format("wrong once ({}), then {}", first.why, second.right() ? "right" : second.why));
  }

  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces,
                                        double seconds) override {
    const std::vector<Built> built = build_all(t, traces);
    std::vector<task::Measurement> out;
    for (size_t i = 0; i < traces.size(); ++i) out.push_back(blank(t, traces[i], built[i]));
    const auto start = Clock::now();
    constexpr int kLeastRounds = 3;
    for (int round = 0; round < kLeastRounds || since(start) < seconds; ++round) {
      const std::vector<size_t> open = still_open(out, round < kLeastRounds);
      if (round >= kLeastRounds && open.size() < 2) break;
      for (const size_t i : open) {
        if (round > 0 && since(start) >= seconds) break;
        add_round(out[i], built[i]);
      }
    }
    return out;
  }

 private:
  static Verdict undecided(std::string why) { return {Verdict::Kind::kUndecided, std::move(why)}; }

  Verdict compare(const task::Task& t, const schedule::Trace& trace) {
    Built b = build(t, trace, options_.compile_limit_s);
    if (b.outcome != Outcome::kOk) return undecided(b.error);
    const auto state = schedule::replay(schedule::State(t.dag, t.target), trace);
    TENON_CHECK(bool(state)) << "a trace that was built is refused";
    std::shared_ptr<const std::vector<Case>> cases;
    try {
      cases = references_.cases(t);
    } catch (const UserError& e) {
      return undecided(one_line(e.what()));
    }
    b.job.threads = options_.protocol.threads;
    for (size_t i = 0; i < cases->size(); ++i) {
      b.job.poison = i % 2 == 0 ? 0xff : 0x55;
      if (Verdict v = compare_case(*state, b.job, (*cases)[i]); !v.right()) return v;
    }
    return {};
  }

  // A program that ends its process or comes to no end has given no answer to compare.
  Verdict compare_case(const schedule::State& s, const RunJob& job, const Case& c) {
    std::vector<ir::Array> got;
    const Ran r = run_once(s, job, c.inputs, options_.run_limit_s, got);
    if (r.outcome == Outcome::kWrong) return {Verdict::Kind::kWrong, r.error};
    if (r.outcome != Outcome::kOk) return undecided(r.error);
    std::string why = differs(s.dag(), c, got, s.error_factor());
    return why.empty() ? Verdict{} : Verdict{Verdict::Kind::kWrong, std::move(why)};
  }

  std::vector<Built> build_all(const task::Task& t, std::span<const schedule::Trace> traces) {
    std::vector<Built> built(traces.size());
    for_each_parallel(traces.size(), static_cast<int>(builders_.size()),
                      [&](size_t i) { built[i] = build(t, traces[i], options_.compile_limit_s); });
    return built;
  }

  Built build(const task::Task& t, const schedule::Trace& trace, double limit_s) {
    if (!target::runs_here(*t.target)) {
      return {Outcome::kRefused, "its target does not run on this machine", {}, 0};
    }
    Worker* worker = nullptr;
    {
      const std::lock_guard lock(mutex_);
      TENON_CHECK(!idle_.empty());
      worker = idle_.back();
      idle_.pop_back();
    }
    const auto start = Clock::now();
    const auto give_back = [&](Worker* w) {
      const std::lock_guard lock(mutex_);
      idle_.push_back(w);
    };
    const std::unique_ptr<Worker, decltype(give_back)> lease(worker, give_back);
    Built b = read_build(worker->call(build_request(t, trace), limit_s), limit_s);
    b.seconds = since(start);
    b.job.device = t.target->device;
    return b;
  }

  static double bytes_of(const RunJob& job) {
    double bytes = static_cast<double>(job.workspace_bytes);
    for (const Param& p : job.params) bytes += static_cast<double>(p.bytes);
    return bytes;
  }

  // A candidate may take as long as it is worth knowing, and what the bytes around it cost.
  double run_limit_s(const RunJob& job, double best_s) const {
    const double around = 4 * bytes_of(job) / kCopiedBytesPerS;
    if (best_s <= 0) return options_.run_limit_s + around;
    const double worth = std::max(kLeastRunS, kTimesBest * (best_s + options_.min_run_s));
    return std::min(options_.run_limit_s, worth) + around;
  }

  Ran run_timed(const Built& b, double best_s, double min_run_s) {
    RunJob job = b.job;
    job.threads = options_.protocol.threads;
    job.cold = options_.protocol.cold;
    job.min_run_s = min_run_s;
    job.limit_s = run_limit_s(job, best_s);
    Ran r = read_run(runner_->call(encode(job), job.limit_s, job.threads), job.limit_s);
    if (r.outcome == Outcome::kOk && r.seconds.empty()) {
      r = {Outcome::kRunCrash, "gave no times", {}};
    }
    // What wrote where it should not may have hit the runner itself.
    if (r.outcome != Outcome::kOk) runner_->stop();
    return r;
  }

  // What wrote outside of its memory must do so again, in another process, to be wrong for ever.
  Ran wrong_again(Ran first, const Built& b, double best_s) {
    const Ran second = run_timed(b, best_s, options_.min_run_s);
    if (second.outcome == Outcome::kWrong) return first;
    return {Outcome::kUndecided, "only once: " + first.error, {}};
  }

  task::Measurement blank(const task::Task& t, const schedule::Trace& trace, const Built& b) const {
    task::Measurement m;
    m.task = t.key;
    m.target = target(*t.target);
    m.protocol = protocol();
    m.trace = schedule::to_json(trace);
    m.outcome = b.outcome;
    m.error = b.error;
    m.build_s = b.seconds;
    m.time = static_cast<int64_t>(std::time(nullptr));
    return m;
  }

  double cores_apart_ns() const { return options_.protocol.threads > 1 ? handoff_ns() : 0; }

  // The worst of what it was before, after and in earlier rounds.
  void describe_machine(task::Measurement& m, double before_ns) const {
    const MachineState machine = machine_state();
    m.load1 = std::max(m.load1, machine.load1);
    m.mhz = machine.mhz;
    m.handoff_ns = std::max({m.handoff_ns, before_ns, cores_apart_ns()});
  }

  task::Measurement timed(const task::Task& t, const schedule::Trace& trace, const Built& b,
                          double best_s) {
    task::Measurement m = blank(t, trace, b);
    if (b.outcome != Outcome::kOk) return m;
    const double before_ns = cores_apart_ns();
    const auto start = Clock::now();
    Ran r = run_timed(b, best_s, options_.min_run_s);
    if (r.outcome == Outcome::kWrong) r = wrong_again(std::move(r), b, best_s);
    m.run_s = since(start);
    describe_machine(m, before_ns);
    m.outcome = r.outcome;
    m.error = r.error;
    m.seconds = std::move(r.seconds);
    if (m.outcome == Outcome::kOk) summarize(m);
    return m;
  }

  // Those that may still be the best; all that run, at first.
  static std::vector<size_t> still_open(const std::vector<task::Measurement>& all, bool every) {
    double bound = 0;
    for (const auto& m : all) {
      if (m.outcome == Outcome::kOk && (bound == 0 || m.high_s < bound)) bound = m.high_s;
    }
    std::vector<size_t> open;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].outcome == Outcome::kOk && (every || all[i].low_s <= bound)) open.push_back(i);
    }
    return open;
  }

  void add_round(task::Measurement& m, const Built& b) {
    const double before_ns = cores_apart_ns();
    const auto start = Clock::now();
    Ran r = run_timed(b, 0, std::max(kFinalRunS, options_.min_run_s));
    if (r.outcome == Outcome::kWrong) r = wrong_again(std::move(r), b, 0);
    m.run_s += since(start);
    describe_machine(m, before_ns);
    m.outcome = r.outcome;
    m.error = r.error;
    if (r.outcome != Outcome::kOk) {
      m.seconds.clear();
      m.best_s = m.median_s = m.low_s = m.high_s = 0;
      return;
    }
    m.seconds.insert(m.seconds.end(), r.seconds.begin(), r.seconds.end());
    summarize(m);
  }

  // Logical inputs in, logical outputs out.
  Ran run_once(const schedule::State& s, RunJob job, const std::vector<ir::Array>& inputs,
               double limit_s, std::vector<ir::Array>& outputs) {
    const std::vector<ir::Array> packed = lower::pack_inputs(s, inputs);
    std::vector<ir::Array> stored = lower::make_outputs(s);
    const std::vector<int64_t> at = offsets(job.params);
    if (packed.size() + stored.size() != job.params.size()) {
      return {Outcome::kUndecided, "the compiler answered for another program", {}};
    }
    std::optional<Mapping> memory;
    try {
      memory.emplace(runner_->memory(std::max<int64_t>(at.back(), 1)), at.back());
    } catch (const UserError& e) {
      return {Outcome::kUndecided, e.what(), {}};
    }
    for (size_t i = 0; i < packed.size(); ++i) {
      TENON_CHECK(packed[i].bytes() == job.params[i].bytes);
      std::memcpy(memory->at(at[i]), packed[i].data(), static_cast<size_t>(packed[i].bytes()));
    }
    job.check = true;
    job.limit_s = limit_s + 4 * bytes_of(job) / kCopiedBytesPerS;
    const Ran r = read_run(runner_->call(encode(job), job.limit_s, job.threads), job.limit_s);
    if (r.outcome != Outcome::kOk) {
      runner_->stop();
      return r;
    }
    for (size_t i = 0; i < stored.size(); ++i) {
      TENON_CHECK(stored[i].bytes() == job.params[packed.size() + i].bytes);
      std::memcpy(stored[i].data(), memory->at(at[packed.size() + i]),
                  static_cast<size_t>(stored[i].bytes()));
    }
    outputs = lower::unpack_outputs(s, stored);
    return r;
  }

  std::vector<ir::Array> run_definition(const task::Task& t, const std::vector<ir::Array>& inputs) {
    const task::Task plain = task::make_task(t.dag, {}, t.target);
    Built b = build(plain, on_all_cores(plain), kDefinitionBuildS);
    b.job.threads = options_.protocol.threads;
    std::vector<ir::Array> outputs;
    Ran r = {b.outcome, b.error, {}};
    if (b.outcome == Outcome::kOk) {
      r = run_once(schedule::State(t.dag, t.target), b.job, inputs, kDefinitionRunS, outputs);
    }
    if (r.outcome != Outcome::kOk) {
      throw UserError(
          fmt::format("the definition of {} cannot be run to compare with: {}", t.label, r.error));
    }
    return outputs;
  }

  DeviceOptions options_;
  PrivateFolder folder_ = PrivateFolder::temporary("build");
  std::vector<std::unique_ptr<Worker>> builders_;
  std::mutex mutex_;
  std::vector<Worker*> idle_;
  std::unique_ptr<Worker> runner_;
  References references_;
};

}  // namespace

std::string measured_target(const target::Target& t) {
  const std::string host = target::host_target().fingerprint();
  return t.fingerprint() == host ? host : t.fingerprint() + " on " + host;
}

std::unique_ptr<Measurer> device_measurer(const DeviceOptions& options) {
  return std::make_unique<Device>(options);
}

}  // namespace tenon::measure
