// SPDX-License-Identifier: Apache-2.0
// The real measurer: tenon-build processes and tenon-run processes at work side by side, but never on one core.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <future>

#include "lower/lower.h"
#include "measure/beside.h"
#include "measure/estimate.h"
#include "measure/handoff.h"
#include "measure/lanes.h"
#include "measure/reference.h"
#include "support/check.h"
#include "support/private_folder.h"

namespace tenon::measure {
namespace {

using task::Outcome;
using Clock = std::chrono::steady_clock;

constexpr double kDefinitionBuildS = 60;
constexpr double kDefinitionRunS = 300;
constexpr double kFinalRunS = 0.05;  // of one candidate in one round
constexpr int kLeastRounds = 3;      // of finals
constexpr int64_t kMostInRound = 128;
constexpr int kMostAhead = 4;     // threads that make right answers
constexpr int kMostCompared = 4;  // threads that compare programs of a card

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The best time of each task so far.
class Bests {
 public:
  double of(const Job& job) {
    const std::scoped_lock lock(mutex_);
    const auto it = seconds_.find(job.task.key);
    if (it == seconds_.end()) return job.best_s;
    return job.best_s > 0 ? std::min(job.best_s, it->second) : it->second;
  }
  void add(const task::Measurement& m) {
    if (m.outcome != Outcome::kOk) return;
    const std::scoped_lock lock(mutex_);
    const auto [it, first] = seconds_.emplace(m.task, m.median_s);
    if (!first) it->second = std::min(it->second, m.median_s);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, double> seconds_;
};

// What the fastest program of each task was built into: it is compared next.
class Fastest {
 public:
  void add(const task::Measurement& m, const Built& b) {
    if (m.outcome != Outcome::kOk) return;
    const std::scoped_lock lock(mutex_);
    Kept& k = of_[m.task];
    if (k.median_s == 0 || m.median_s < k.median_s) k = {m.median_s, m.trace, b};
  }
  std::optional<Built> find(const task::Task& t, const schedule::Trace& trace) {
    const std::scoped_lock lock(mutex_);
    const auto it = of_.find(t.key);
    if (it == of_.end() || it->second.trace != schedule::to_json(trace)) return std::nullopt;
    return it->second.built;
  }

 private:
  struct Kept {
    double median_s = 0;
    std::string trace;
    Built built;
  };
  std::mutex mutex_;
  std::map<std::string, Kept> of_;
};

// The card at hand; empty: there is none.
std::string card_here() {
  try {
    return target::card_target().fingerprint();
  } catch (const UserError&) {
    return "";
  }
}

std::string named(const target::Target& t, const std::string& here) {
  return here.empty() || t.fingerprint() == here ? t.fingerprint()
                                                 : t.fingerprint() + " on " + here;
}

class Device : public Measurer {
 public:
  explicit Device(const DeviceOptions& options)
      : options_(options),
        card_(options.on_card ? card_here() : ""),
        plan_(options.on_card ? plan_card(usable_cores(), options.builders)
                              : plan_cores(usable_cores(), options.protocol.threads,
                                           options.builders, options.overlap)),
        references_([this](const task::Task& t, const std::vector<ir::Array>& inputs, Plain how) {
          return run_definition(t, inputs, how);
        }),
        queue_(plan_),
        lanes_(
            options_, plan_, folder_.path(), queue_,
            [this](const JobQueue::Entry& e) { return known_of(e); },
            [this](RunProcess& p, JobQueue::Entry& e) { return visit(p, e); }),
        ahead_(threads_ahead(), plan_.spare),
        comparing_(options.on_card ? std::min(kMostCompared, plan_.builders) : 0, plan_.spare) {}

  std::string target(const target::Target& t) const override {
    return named(t, t.is_cpu() ? host_->fingerprint() : card_);
  }
  std::string protocol() const override { return to_string(options_.protocol); }
  JobId submit(Job job) override { return queue_.add(std::move(job)); }
  std::vector<Done> poll(double wait_s) override { return queue_.poll(wait_s); }
  void cancel_waiting() override { queue_.cancel_waiting(); }
  bool overlaps() const override { return plan_.overlaps; }
  std::vector<int> spare_cpus() const override { return plan_.spare; }
  // A card takes a few milliseconds for a program, so that builders set the pace.
  int64_t round() const override {
    const int64_t busy = int64_t{options_.on_card ? 8 : 4} * plan_.builders;
    return std::clamp(busy, kRound, kMostInRound);
  }

  void expect(const task::Task& t) override {
    ahead_.add([this, t] { references_.cases(t); });
  }

  Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    return judge(t, trace, fastest_.find(t, trace));
  }

  // A processor that times programs has no cores to compare on meanwhile.
  std::future<Verdict> verify_beside(const task::Task& t, const schedule::Trace& trace) override {
    if (!options_.on_card) return Measurer::verify_beside(t, trace);
    auto work = std::make_shared<std::packaged_task<Verdict()>>(
        [this, t, trace, built = fastest_.find(t, trace)] { return judge(t, trace, built); });
    comparing_.add([work] { (*work)(); });
    return work->get_future();
  }

  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces,
                                        double seconds) override {
    const std::vector<Built> built = build_all(t, traces);
    std::vector<task::Measurement> out;
    for (size_t i = 0; i < traces.size(); ++i) out.push_back(blank(t, traces[i], built[i]));
    const auto start = Clock::now();
    for (int round = 0; round < kLeastRounds || since(start) < seconds; ++round) {
      const std::vector<size_t> open = still_open(out, round < kLeastRounds);
      if (round >= kLeastRounds && open.size() < 2) break;
      for (const size_t i : open) {
        if (round > 0 && since(start) >= seconds) break;
        on_runner([&](RunProcess& p) { add_round(p, out[i], built[i]); });
      }
    }
    return out;
  }

 private:
  // On cores where no time is taken.
  int threads_ahead() const {
    if (options_.on_card) return std::min(kMostAhead, plan_.builders);
    return std::min(kMostAhead, static_cast<int>(plan_.spare.size()) / 4);
  }

  static Verdict undecided(std::string why) { return {Verdict::Kind::kUndecided, std::move(why)}; }

  // ---- calls, which go before jobs -----------------------------------------------------------------------------

  template <class Fn>
  void on_runner(Fn&& fn) {
    std::promise<void> made;
    queue_.call([&](RunProcess& p) { keep_promise(made, [&] { fn(p); }); });
    made.get_future().get();
  }

  // Definitions run beside a card in a process of their own, so that the card does not wait for them.
  template <class Fn>
  void on_plain_runner(Fn&& fn) {
    if (!options_.on_card) return on_runner(fn);
    const std::scoped_lock lock(plain_mutex_);
    fn(plain_runner_);
  }

  template <class Fn>
  static void keep_promise(std::promise<void>& promise, Fn&& fn) {
    try {
      fn();
      promise.set_value();
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }

  std::vector<Built> build_all(const task::Task& t, std::span<const schedule::Trace> traces,
                               double limit_s) {
    std::vector<Built> built(traces.size());
    std::vector<std::promise<void>> made(traces.size());
    for (size_t i = 0; i < traces.size(); ++i) {
      queue_.call([&, i](BuildProcess& p) {
        keep_promise(made[i], [&] { built[i] = p.build(t, traces[i], limit_s); });
      });
    }
    // All of them come to an end before one that failed is thrown: they write to what is here.
    std::vector<std::future<void>> all;
    for (auto& m : made) all.push_back(m.get_future());
    for (auto& f : all) f.wait();
    for (auto& f : all) f.get();
    return built;
  }
  std::vector<Built> build_all(const task::Task& t, std::span<const schedule::Trace> traces) {
    return build_all(t, traces, options_.compile_limit_s);
  }
  Built build_one(const task::Task& t, const schedule::Trace& trace) {
    return build_all(t, std::span(&trace, 1))[0];
  }

  // ---- comparing -----------------------------------------------------------------------------------------------

  // `built`: what it was built into before, if that is still there.
  Verdict judge(const task::Task& t, const schedule::Trace& trace,
                const std::optional<Built>& built) {
    Verdict first = compare(t, trace, built ? *built : build_one(t, trace));
    if (!first.wrong()) return first;
    // Wrong is for ever, and memory or a disk may fail for once: built anew in another process, it must be wrong again.
    on_runner([](RunProcess& p) { p.stop(); });
    const Verdict second = compare(t, trace, build_one(t, trace));
    if (second.wrong()) return first;
    return undecided(
        fmt::format("wrong once ({}), then {}", first.why, second.right() ? "right" : second.why));
  }

  Verdict compare(const task::Task& t, const schedule::Trace& trace, const Built& b) {
    if (b.outcome != Outcome::kOk) return undecided(b.error);
    const auto state = schedule::replay(schedule::State(t.dag, t.target), trace);
    TENON_CHECK(bool(state)) << "a trace that was built is refused";
    std::shared_ptr<const std::vector<Case>> cases;
    try {
      cases = references_.cases(t);
    } catch (const UserError& e) {
      return undecided(one_line(e.what()));
    }
    RunJob program = b.job;
    for (size_t i = 0; i < cases->size(); ++i) {
      program.poison = i % 2 == 0 ? 0xff : 0x55;
      if (Verdict v = compare_case(*state, program, (*cases)[i]); !v.right()) return v;
    }
    return {};
  }

  // A program that ends its process or comes to no end has given no answer to compare.
  Verdict compare_case(const schedule::State& s, const RunJob& program, const Case& c) {
    // Packed and unpacked here: the runner goes on meanwhile.
    const std::vector<ir::Array> stored = lower::pack_inputs(s, c.inputs);
    std::vector<ir::Array> got = lower::make_outputs(s);
    Ran r;
    on_runner([&](RunProcess& p) { r = p.run_once(program, stored, options_.run_limit_s, got); });
    if (r.outcome == Outcome::kWrong) return {Verdict::Kind::kWrong, r.error};
    if (r.outcome != Outcome::kOk) return undecided(r.error);
    std::string why = differs(s.dag(), c, lower::unpack_outputs(s, got), s.error_factor());
    return why.empty() ? Verdict{} : Verdict{Verdict::Kind::kWrong, std::move(why)};
  }

  std::vector<ir::Array> run_definition(const task::Task& t, const std::vector<ir::Array>& inputs,
                                        Plain how) {
    // No program of a GPU is as plain as the definition on this machine's own cores.
    const task::Task plain = task::make_task(t.dag, {}, t.target->is_cpu() ? t.target : host_);
    const schedule::Trace trace = plain_program(plain, how);
    const Built b = build_all(plain, std::span(&trace, 1), kDefinitionBuildS)[0];
    const schedule::State as_it_stands(t.dag, plain.target);
    std::vector<ir::Array> outputs = lower::make_outputs(as_it_stands);
    Ran r = {b.outcome, b.error, {}};
    if (b.outcome == Outcome::kOk) {
      const std::vector<ir::Array> stored = lower::pack_inputs(as_it_stands, inputs);
      on_plain_runner(
          [&](RunProcess& p) { r = p.run_once(b.job, stored, kDefinitionRunS, outputs); });
    }
    if (r.outcome != Outcome::kOk) {
      throw UserError(
          fmt::format("the definition of {} cannot be run to compare with: {}", t.label, r.error));
    }
    return lower::unpack_outputs(as_it_stands, outputs);
  }

  // ---- timing, in a runner's thread ----------------------------------------------------------------------------

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

  std::optional<task::Measurement> known_of(const JobQueue::Entry& e) const {
    if (e.built.outcome == Outcome::kOk) return std::nullopt;
    return blank(e.job.task, e.job.trace, e.built);
  }

  double cores_apart_ns() const { return options_.protocol.threads > 1 ? handoff_ns() : 0; }

  // The worst of what it was before, after and in earlier rounds.
  void describe_machine(task::Measurement& m, double before_ns) {
    const MachineState machine = machine_.now();
    m.load1 = std::max(m.load1, machine.load1);
    m.mhz = machine.mhz;
    m.handoff_ns = std::max({m.handoff_ns, before_ns, cores_apart_ns()});
  }

  task::Measurement timed(RunProcess& process, const JobQueue::Entry& e) {
    task::Measurement m = blank(e.job.task, e.job.trace, e.built);
    const double before_ns = cores_apart_ns();
    const auto start = Clock::now();
    const double run_s = options_.on_card ? options_.min_run_s : options_.min_run_s / kMostVisits;
    Ran r = process.time(e.built.job, bests_.of(e.job), run_s);
    m.run_s = since(start);
    describe_machine(m, before_ns);
    m.outcome = r.outcome;
    m.error = r.error;
    m.seconds = std::move(r.seconds);
    if (m.outcome == Outcome::kOk) summarize(m);
    bests_.add(m);
    fastest_.add(m, e.built);
    return m;
  }

  // Nothing: it is to be visited once more.
  std::optional<task::Measurement> visit(RunProcess& process, JobQueue::Entry& e) {
    task::Measurement m = timed(process, e);
    if (options_.on_card) return m;
    e.visits.add(std::move(m));
    const std::scoped_lock lock(noise_mutex_);
    if (e.visits.enough(bests_.of(e.job), noise_)) return e.visits.quietest();
    return std::nullopt;
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

  void add_round(RunProcess& process, task::Measurement& m, const Built& b) {
    const double before_ns = cores_apart_ns();
    const auto start = Clock::now();
    const Ran r = process.time(b.job, 0, std::max(kFinalRunS, options_.min_run_s));
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

  const DeviceOptions options_;
  // Asked once: it takes a while, and threads that stay on few cores see a smaller machine.
  const std::shared_ptr<const target::Target> host_ =
      std::make_shared<const target::Target>(target::host_target());
  const std::string card_;
  const CorePlan plan_;
  PrivateFolder folder_ = PrivateFolder::temporary("build");
  References references_;
  Bests bests_;
  Fastest fastest_;
  MachineWatch machine_;
  std::mutex noise_mutex_;
  Noise noise_;  // between visits
  std::mutex plain_mutex_;
  RunProcess plain_runner_{options_};  // idle unless programs run on a card
  JobQueue queue_;
  Lanes lanes_;               // its threads use the others
  Beside ahead_, comparing_;  // likewise, and they ask the lanes
};

}  // namespace

std::string measured_target(const target::Target& t) {
  return named(t, t.is_cpu() ? target::host_target().fingerprint() : card_here());
}

std::unique_ptr<Measurer> device_measurer(const DeviceOptions& options) {
  return std::make_unique<Device>(options);
}

}  // namespace tenon::measure
