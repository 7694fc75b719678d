// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <thread>

#include "measure/cores.h"
#include "support/check.h"
#include "tune/checks.h"
#include "tune/events.h"
#include "tune/in_flight.h"
#include "tune/lessons.h"
#include "tune/measured.h"
#include "tune/population.h"
#include "tune/recorder.h"
#include "tune/task_entry.h"

namespace tenon::tune {
namespace {

using task::Measurement;
using task::Outcome;

// For thinking: those that measuring leaves.
int threads_beside(const measure::Measurer& m, const TunerOptions& o) {
  if (o.threads > 0) return o.threads;
  if (const auto spare = m.spare_cpus(); !spare.empty()) return static_cast<int>(spare.size());
  return threads_of(o);
}

Cores thinking_cores(const measure::Measurer& m) {
  return m.overlaps() && m.spare_cpus().empty() ? Cores::kBuilders : Cores::kOwn;
}

TaskScheduler make_scheduler(const std::vector<TaskToTune>& tasks,
                             const std::vector<ModelSpec>& models,
                             const SchedulerOptions& options) {
  std::vector<double> flops;
  std::vector<std::string> tags;
  for (const TaskToTune& t : tasks) {
    flops.push_back(t.task.flops);
    tags.push_back(t.task.tag);
  }
  return {std::move(flops), std::move(tags), models, options};
}

std::vector<double> seconds_of_all(const std::vector<Measurement>& round) {
  std::vector<double> out;
  for (const Measurement& m : round) out.push_back(seconds_of(m));
  return out;
}

constexpr size_t kMostUnjudged = 8;  // rounds; their lessons are missing while others are proposed

// A batch that came back, and the comparison that says what may be kept of it.
struct Unjudged {
  Batch batch;
  Comparison comparison;
  bool reported = false;  // to the scheduler, before the verdict
};

}  // namespace

int threads_of(const TunerOptions& o) {
  return o.threads > 0 ? o.threads
                       : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

struct TaskTuner::Impl {
  TunerOptions options;
  measure::Measurer& measurer;
  Tell tell;
  Stopwatch watch;
  Rng rng;
  std::shared_ptr<RunModel> model;
  std::vector<ModelSpec> models;
  TaskScheduler scheduler;
  std::vector<TaskEntry> entries;
  std::vector<TaskResult> results;
  Recorder recorder;
  Checks checks;
  Lessons lessons;
  int64_t rounds = 0;
  size_t defaults = 0;  // tasks whose default is measured
  InFlight in_flight;
  std::deque<Unjudged> unjudged;  // whose verdicts are not known yet, the oldest first
  Population population;

  Impl(std::vector<TaskToTune> tasks, std::vector<ModelSpec> specs, const TunerOptions& o,
       measure::Measurer& m, db::Database* db, const std::string& run, Tell t)
      : options(o),
        measurer(m),
        tell(std::move(t)),
        watch(o.clock ? o.clock : machine_clock()),
        rng(o.seed),
        model(o.model != nullptr ? o.model : make_run_model(o)),
        models(std::move(specs)),
        scheduler(make_scheduler(tasks, models, o.scheduler)),
        recorder(db, run, watch, tell),
        checks(o.verify, m, watch, tell),
        lessons({o.accuracy, o.lean}, *model, run, tell),
        in_flight(m),
        population(o.search.population, threads_beside(m, o), thinking_cores(m)) {
    const measure::KeepTo here(measurer.spare_cpus());
    options.search.threads = threads_beside(measurer, options);
    if (options.round == 0) options.round = measurer.round();
    for (TaskToTune& task : tasks) add(std::move(task), db != nullptr);
    for (const TaskEntry& e : entries) {
      if (options.verify != Verify::kOff) measurer.expect(e.given.task);
    }
    watch.time("train", [&] { model->train(); });
    // To draw again what was drawn before would be a waste.
    int64_t recorded = 0;
    for (const TaskResult& done : results) recorded += done.measured;
    rng = Rng(options.seed + static_cast<uint64_t>(recorded));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].strategy == nullptr) scheduler.kill(static_cast<int>(i));
    }
  }

  void add(TaskToTune task, bool with_records) {
    TaskEntry e(std::move(task), options, model->model());
    if (with_records) lessons.learn(e, recorder.open(e.given.task, measurer));
    refresh(e, options.verify);
    entries.push_back(std::move(e));
    results.push_back(entries.back().result);
  }

  // ---- what came of programs -------------------------------------------------------------------

  // Nothing is shown before it is recorded.
  void keep(TaskEntry& e, std::vector<Measurement>& round,
            std::span<const space::Program> proposed = {}) {
    const TaskResult before = e.result;
    recorder.record(e, round);
    lessons.learn(e, round, proposed);
    refresh(e, options.verify);
    if (e.result.origin == "tuned" &&
        (before.origin != "tuned" || e.result.best_s < before.best_s)) {
      tell(new_best(e.key(), e.result, before.best_s));
    }
    results[static_cast<size_t>(&e - entries.data())] = e.result;
  }

  void report(const Unjudged& u) {
    const double known_s = entries[u.batch.entry].result.best_s;
    const double best_s = known_s > 0 ? known_s : std::numeric_limits<double>::infinity();
    const int i = static_cast<int>(u.batch.entry);
    u.reported ? scheduler.improve(i, best_s) : scheduler.report(i, best_s);
  }

  // The scheduler does not wait for verdicts, else it would choose the same task again meanwhile.
  void report_early(Unjudged& u) {
    const TaskEntry& e = entries[u.batch.entry];
    const bool is_start = u.batch.is_default && !u.comparison.round.empty();
    const double best_s = is_start ? seconds_of(u.comparison.round[0]) : e.result.best_s;
    scheduler.report(static_cast<int>(u.batch.entry),
                     best_s > 0 ? best_s : std::numeric_limits<double>::infinity());
    u.reported = true;
  }

  void keep_default(Unjudged& u) {
    TaskEntry& e = entries[u.batch.entry];
    if (!u.comparison.round.empty()) keep(e, u.comparison.round);
    tell(default_timed(e.key(), *e.history.find(e.start)));
    if (!u.comparison.round.empty()) tell(events::Counted{});  // the log knows how many
    report(u);
  }

  void keep_round(Unjudged& u) {
    Batch& b = u.batch;
    TaskEntry& e = entries[b.entry];
    std::vector<Measurement>& got = u.comparison.round;
    const bool trained = model->model().trained();
    const cost::RankingQuality quality =
        trained ? model->ranking(e.given.task, b.proposed, seconds_of_all(got))
                : cost::RankingQuality{};
    keep(e, got, b.proposed);
    if (const auto t = e.transplants.told(e.key(), b.proposed, got, e.result)) tell(*t);
    std::erase_if(got, [](const Measurement& m) { return m.outcome == Outcome::kUndecided; });
    watch.time("train", [&] { model->train(); });
    population.adapt(watch.since(b.before, "search"), watch.since(b.before, "measure"));
    report(u);
    tell_round(e, got, trained ? &quality : nullptr, b.before);
  }

  void tell_round(const TaskEntry& e, const std::vector<Measurement>& got,
                  const cost::RankingQuality* quality,
                  const std::map<std::string, double>& before) {
    tell(round_done({.round = ++rounds,
                     .task = e.key(),
                     .measurements = got,
                     .result = e.result,
                     .measured = lessons.measured(),
                     .failed = lessons.failed(),
                     .models = models,
                     .results = results,
                     .ranking = quality,
                     .before = before,
                     .after = watch.seconds()}));
  }

  // Tuned tasks, those first whose gain is most of the networks' time: the last may find no time for finals.
  std::vector<size_t> by_gain() const {
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < entries.size(); ++i) {
      const TaskResult& r = entries[i].result;
      if (r.origin != "tuned") continue;
      double calls = 0;
      for (const ModelSpec& m : models) calls += m.weights[i];
      const double gain = std::isfinite(r.start_s) ? r.start_s - r.best_s : r.best_s;
      order.emplace_back(-calls * gain, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<size_t> out;
    for (const auto& [gain, i] : order) out.push_back(i);
    return out;
  }

  void final_of(TaskEntry& e, double seconds) {
    const std::vector<schedule::Trace> traces = finalists(e);
    std::vector<Measurement> got =
        watch.time("finals", [&] { return measurer.finals(e.given.task, traces, seconds); });
    order_finals(e, got);
    checks.check_finals(e, got);
    e.judged = true;
    keep(e, got);
    tell(finals_done(e.key(), e.result));
  }

  // ---- batches in flight -----------------------------------------------------------------------

  void submit(Batch batch, std::span<const schedule::Trace> traces) {
    const TaskEntry& e = entries[batch.entry];
    const double best_s = std::isfinite(e.result.best_s) ? e.result.best_s : 0;
    in_flight.submit(std::move(batch), e.given.task, traces, best_s);
  }

  int64_t trials_left() const {
    if (options.trials <= 0) return std::numeric_limits<int64_t>::max();
    int64_t left = options.trials - lessons.measured() - in_flight.jobs();
    for (const Unjudged& u : unjudged) left -= std::ssize(u.comparison.round);
    return left;
  }

  // Where measuring leaves cores to think on, two halves of a round are in flight: the second is
  // proposed while the first is measured. Where many builders work, a third keeps them busy while
  // the oldest is compared, recorded and learned from, and a fourth while its last program is still
  // built or the card is held up by large weights. A program is then proposed without knowing the 16 before
  // it and the 15 beside it, as in a whole round it is without knowing the 31 beside it; and what
  // is known does not depend on how fast anything was.
  int64_t batch_size() const {
    return measurer.overlaps() ? std::max<int64_t>(1, options.round / 2) : options.round;
  }

  // The default first: what was searched is compared with it, and it seeds the strategy.
  bool begin_default() {
    const auto it = std::find_if(entries.begin(), entries.end(),
                                 [](const TaskEntry& e) { return !e.default_begun; });
    if (it == entries.end() || trials_left() <= 0) return false;
    it->default_begun = true;
    const bool known = it->history.has(it->start);
    submit({.entry = static_cast<size_t>(it - entries.begin()),
            .is_default = true,
            .before = watch.seconds()},
           std::span(&it->given.start, known ? 0 : 1));
    return true;
  }

  // False: there is nothing left to try.
  bool begin_round() {
    const int64_t n = std::min(batch_size(), trials_left());
    if (n <= 0) return false;
    const int i = scheduler.next(rng);
    if (i < 0) return false;
    try {
      propose(static_cast<size_t>(i), static_cast<size_t>(n));
    } catch (const InternalError& e) {
      give_up(static_cast<size_t>(i), e);
    }
    return true;
  }

  void propose(size_t i, size_t n) {
    TaskEntry& e = entries[i];
    Batch batch{.entry = i, .before = watch.seconds()};
    Rng own = rng.fork();
    e.strategy->set_population(population.of_batch(batch_size(), options.round));
    batch.proposed = watch.time("search", [&] {
      e.transplants.begin(options.known.get(), options.instant.get(), *e.space, *e.strategy,
                          static_cast<size_t>(options.round));
      return e.strategy->propose(n, own);
    });
    if (batch.proposed.empty()) {
      scheduler.kill(static_cast<int>(i));
      return;
    }
    std::erase_if(batch.proposed,
                  [&](const space::Program& c) { return lessons.is_beyond_limits(e, c); });
    std::vector<schedule::Trace> traces;
    for (const space::Program& c : batch.proposed) traces.push_back(c.trace);
    submit(std::move(batch), traces);
  }

  // A fault of ours in proposing programs ends this task's search, not the night's work.
  void give_up(size_t i, const InternalError& e) {
    scheduler.kill(static_cast<int>(i));
    tell(events::Fault{entries[i].key(), e.what()});
  }

  size_t most_batches() const {
    if (!measurer.overlaps()) return 1;
    return measurer.round() > measure::Measurer::kRound ? 4 : 2;
  }

  // Programs may be proposed without the lessons of a few rounds, not of any number of them.
  bool may_begin_round() const {
    const auto open = std::count_if(unjudged.begin(), unjudged.end(),
                                    [](const Unjudged& u) { return !u.batch.is_default; });
    return defaults == entries.size() && static_cast<size_t>(open) < kMostUnjudged;
  }

  // As much as may be in flight. Rounds begin when all defaults are timed.
  void fill() {
    const size_t batches = most_batches();
    const int64_t jobs = batch_size() * static_cast<int64_t>(batches);
    const auto room = [&](int64_t more) {
      return in_flight.batches() == 0 || (batches > 1 && in_flight.jobs() + more <= jobs);
    };
    while (defaults < entries.size() && room(1) && begin_default()) {
    }
    while (may_begin_round() && in_flight.batches() < batches && room(batch_size()) &&
           begin_round()) {
    }
  }

  // Keeps a batch whose verdicts are known, or waits for them. False: they are not known yet.
  bool conclude(Unjudged& u, bool wait) {
    try {
      if (!checks.advance(entries[u.batch.entry], u.comparison, wait)) return false;
      u.batch.is_default ? keep_default(u) : keep_round(u);
    } catch (const InternalError& e) {
      if (u.batch.is_default) throw;
      give_up(u.batch.entry, e);
    }
    return true;
  }

  // Begins to compare the oldest batch; it is kept as soon as that has an end.
  void finish() {
    Batch b = in_flight.take();
    TaskEntry& e = entries[b.entry];
    std::vector<Measurement> got = b.answers();
    if (b.is_default) {
      e.default_begun = !got.empty() || e.history.has(e.start);
      if (!e.default_begun) return;  // it was cancelled
      ++defaults;
    }
    Comparison c =
        b.is_default ? checks.begin_default(std::move(got)) : checks.begin_round(e, std::move(got));
    Unjudged u{std::move(b), std::move(c)};
    if (conclude(u, false)) return;
    report_early(u);
    unjudged.push_back(std::move(u));
  }

  void keep_judged() {
    for (auto it = unjudged.begin(); it != unjudged.end();) {
      it = conclude(*it, false) ? unjudged.erase(it) : std::next(it);
    }
  }

  void await_oldest_verdict() {
    Unjudged u = std::move(unjudged.front());
    unjudged.pop_front();
    conclude(u, true);
  }

  bool step(const std::function<bool()>& stop) {
    const measure::KeepTo here(measurer.spare_cpus());
    lessons.tell_refused();
    keep_judged();
    fill();
    if (in_flight.batches() == 0) {
      if (unjudged.empty()) return false;
      await_oldest_verdict();
      return true;
    }
    if (watch.time("measure", [&] { return in_flight.await(stop); })) {
      finish();
    } else {
      settle();
    }
    return true;
  }

  // Ends what is in flight and keeps what came of it.
  void settle() {
    watch.time("measure", [&] { in_flight.drain(); });
    while (in_flight.batches() > 0) finish();
    while (!unjudged.empty()) await_oldest_verdict();
  }
};

TaskTuner::TaskTuner(std::vector<TaskToTune> tasks, std::vector<ModelSpec> models,
                     const TunerOptions& options, measure::Measurer& measurer, db::Database* db,
                     const std::string& run, Tell tell)
    : impl_(std::make_unique<Impl>(
          std::move(tasks), std::move(models), options, measurer, db, run,
          tell ? std::move(tell) : [](const events::Event&) {})) {}

// Whoever comes next finds nothing of ours in flight.
TaskTuner::~TaskTuner() {
  try {
    impl_->in_flight.drain();
  } catch (const std::exception&) {  // a tool that cannot be started was told of before
  }
}

bool TaskTuner::step(const std::function<bool()>& stop) { return impl_->step(stop); }
void TaskTuner::set_trials(int64_t trials) { impl_->options.trials = trials; }
void TaskTuner::settle() { impl_->settle(); }

void TaskTuner::finals(double seconds_per_task, const std::function<bool()>& stop) {
  for (const size_t i : impl_->by_gain()) {
    if (stop && stop()) return;
    impl_->final_of(impl_->entries[i], seconds_per_task);
  }
}

const std::vector<TaskResult>& TaskTuner::results() const { return impl_->results; }
int64_t TaskTuner::measured() const { return impl_->lessons.measured(); }
int64_t TaskTuner::failed() const { return impl_->lessons.failed(); }
double TaskTuner::objective() const { return impl_->scheduler.objective(); }
const std::map<std::string, double>& TaskTuner::seconds() const { return impl_->watch.seconds(); }
std::vector<TaskTuner::Reason> TaskTuner::reasons() const { return impl_->lessons.reasons(); }

}  // namespace tenon::tune
