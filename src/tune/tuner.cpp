// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <thread>

#include "history/task_history.h"
#include "measure/cores.h"
#include "plan/accuracy.h"
#include "search/space/spaces.h"
#include "search/strategy/scoring.h"
#include "support/check.h"
#include "task/serve.h"
#include "te/text.h"
#include "tune/events.h"
#include "tune/in_flight.h"
#include "tune/transplants.h"

namespace tenon::tune {
namespace {

using task::Measurement;
using task::Outcome;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kFinalists = 3;        // beside the default
constexpr int kRankedAmong = 5;         // k of the ranking quality, at most
constexpr int64_t kMostUndecided = 32;  // one after the other

// For thinking: those that measuring leaves.
int threads_beside(const measure::Measurer& m, const TunerOptions& o) {
  if (o.threads > 0) return o.threads;
  if (const auto spare = m.spare_cpus(); !spare.empty()) return static_cast<int>(spare.size());
  return threads_of(o);
}

// The intervals of their medians do not touch.
bool clearly_faster(const Measurement& a, const Measurement& b) {
  return has_time(a) && (!has_time(b) || a.high_s < b.low_s);
}

double seconds_of(const Measurement& m) { return has_time(m) ? m.median_s : kNever; }

// Candidates to look at in a round: thinking is to take no longer than a share of measuring.
constexpr size_t kLeastPopulation = 128, kFirstPopulation = 512;
// One core that also builds programs looks at fewer.
constexpr size_t kFirstPerThread = 256;
constexpr double kThinkingShare = 0.5;

struct Entry {
  TaskToTune given;
  size_t population = kFirstPopulation;
  std::string start;           // its trace as JSON
  bool default_begun = false;  // to be measured
  bool judged = false;         // finals were measured
  std::unique_ptr<space::Space> space;
  std::unique_ptr<search::Strategy> strategy;
  history::TaskHistory history;
  Transplants transplants;
  TaskResult result;
};

}  // namespace

int threads_of(const TunerOptions& o) {
  return o.threads > 0 ? o.threads
                       : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

struct TaskTuner::Impl {
  TunerOptions options;
  measure::Measurer& measurer;
  db::Database* db;
  std::string run;
  Tell tell;
  Stopwatch watch;
  Rng rng;
  std::shared_ptr<RunModel> model;
  std::vector<ModelSpec> models;
  TaskScheduler scheduler;
  std::vector<Entry> entries;
  std::vector<TaskResult> results;
  std::map<std::pair<std::string, std::string>, Reason> reasons;  // by outcome and error
  struct Refused {
    int64_t count = 0;
    std::string why;  // of the first
  };
  std::map<std::string, Refused> refused;  // records, by task: not told yet
  plan::Errors errors;
  std::set<std::string> inaccuracies;  // that were told
  int64_t undecided = 0;               // in a row
  int64_t measured = 0, failed = 0;    // in this run
  int64_t rounds = 0;
  size_t defaults = 0;  // tasks whose default is measured
  InFlight in_flight;

  static TaskScheduler make_scheduler(const std::vector<TaskToTune>& tasks,
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

  Impl(std::vector<TaskToTune> tasks, std::vector<ModelSpec> specs, const TunerOptions& o,
       measure::Measurer& m, db::Database* d, std::string r, Tell t)
      : options(o),
        measurer(m),
        db(d),
        run(std::move(r)),
        tell(std::move(t)),
        watch(o.clock ? o.clock : machine_clock()),
        rng(o.seed),
        model(o.model != nullptr ? o.model : make_run_model(o)),
        models(std::move(specs)),
        scheduler(make_scheduler(tasks, models, o.scheduler)),
        in_flight(m) {
    const measure::KeepTo here(measurer.spare_cpus());
    options.search.threads = threads_beside(measurer, options);
    for (TaskToTune& task : tasks) add(std::move(task));
    watch.time("train", [&] { model->train(); });
    // To draw again what was drawn before would be a waste.
    int64_t recorded = 0;
    for (const TaskResult& done : results) recorded += done.measured;
    rng = Rng(options.seed + static_cast<uint64_t>(recorded));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].strategy == nullptr) scheduler.kill(static_cast<int>(i));
    }
  }

  void add(TaskToTune task) {
    Entry e;
    e.start = schedule::to_json(task.start);
    e.space = options.make_space ? options.make_space(task.task)
                                 : search::make_space(options.space, task.task);
    if (e.space != nullptr) {
      e.strategy =
          search::make_strategy(options.strategy, *e.space, &model->model(), options.search);
    }
    e.population =
        std::min(kFirstPopulation, kFirstPerThread * static_cast<size_t>(options.search.threads));
    e.given = std::move(task);
    if (db != nullptr) {
      const task::Task& t = e.given.task;
      db->add_task({t.key, te::to_text(*t.dag), task::edges_text(t.edges), t.label, t.flops});
      learn(e, records_of(t));
    }
    refresh(e);
    entries.push_back(std::move(e));
    results.push_back(entries.back().result);
  }

  // Under the key that earlier versions gave the task, too.
  std::vector<Measurement> records_of(const task::Task& t) const {
    const std::string target = measurer.target(*t.target), protocol = measurer.protocol();
    std::vector<Measurement> out = db->measurements({t.key, target, protocol, ""});
    if (t.exact_key == t.key) return out;
    for (Measurement& m : db->measurements({t.exact_key, target, protocol, ""})) {
      m.task = t.key;
      out.push_back(std::move(m));
    }
    return out;
  }

  // Only what this run measured, in this part or an earlier one, counts against its trials.
  void count(const Measurement& m) {
    if (m.run != run) return;
    ++measured;
    if (m.outcome == Outcome::kOk) return;
    ++failed;
    Reason& r = reasons[{to_string(m.outcome), m.error}];
    if (r.count++ == 0) r = {to_string(m.outcome), m.error, m.task, m.trace, 1};
  }

  // What the strategy and the cost model are told of a measurement. Nothing: a record that may not serve the task, or
  // whose rounding errors grow too much.
  struct Lesson {
    std::optional<space::Program> candidate;  // nothing: the space does not have it
  };

  // A record of an older tenon has none.
  static space::Choices choices_of(const Measurement& m) {
    try {
      return m.choices.empty() ? space::Choices{} : space::choices_from_json(m.choices);
    } catch (const UserError&) {
      return {};
    }
  }

  // The fastest records that do not say their choices: those are what a search would begin with.
  void recognise(const Entry& e, std::vector<search::Tried>& tried) const {
    constexpr size_t kRecognised = 32;
    std::vector<search::Tried*> open;
    for (search::Tried& t : tried) {
      if (t.program.choices.empty() && std::isfinite(t.seconds)) open.push_back(&t);
    }
    std::sort(open.begin(), open.end(),
              [](const auto* a, const auto* b) { return a->seconds < b->seconds; });
    for (size_t i = 0; i < std::min(kRecognised, open.size()); ++i) {
      if (auto p = e.space->recognise(open[i]->program.trace)) {
        open[i]->program.choices = std::move(p->made);
      }
    }
  }

  // Why the program rounds too much, in a sentence; empty: it does not. The direct algorithm never
  // does.
  std::string inaccurate(const Entry& e, const schedule::State& s, const schedule::Trace& trace) {
    if (s.error_factor() <= 1) return "";
    const task::Task& t = e.given.task;
    return errors.judge(options.accuracy, schedule::State(t.dag, t.target), trace).refused;
  }

  // Each reason is told once for each task.
  bool is_inaccurate(const Entry& e, const space::Program& c) {
    const std::string why = inaccurate(e, c.state, c.trace);
    if (!why.empty() && inaccuracies.insert(e.given.task.key + why).second) {
      tell(events::Refused{e.given.task.key, 0, "programs are left out: " + why});
    }
    return !why.empty();
  }

  // What was just proposed knows more of itself than its trace tells.
  std::optional<Lesson> lesson(const Entry& e, const Measurement& m,
                               const space::Program* proposed) {
    if (proposed != nullptr) return Lesson{*proposed};
    const task::Served served = task::serve_json(e.given.task, m.trace);
    if (!served) {
      if (m.outcome != Outcome::kOk) return Lesson{};  // it never will serve
      Refused& r = refused[m.task];
      if (r.count++ == 0) r.why = served.why;
      return std::nullopt;
    }
    if (const std::string why = inaccurate(e, served->state, served->trace); !why.empty()) {
      Refused& r = refused[m.task];
      if (r.count++ == 0) r.why = why;
      return std::nullopt;
    }
    if (e.space == nullptr) return Lesson{};
    auto c = e.space->adopt(served->trace, choices_of(m));
    return Lesson{c ? std::optional(std::move(c.value())) : std::nullopt};
  }

  // `proposed`: in the same order.
  void learn(Entry& e, const std::vector<Measurement>& measurements,
             std::span<const space::Program> proposed = {}) {
    std::vector<search::Tried> tried;
    for (size_t i = 0; i < measurements.size(); ++i) {
      const Measurement& m = measurements[i];
      if (!e.history.has(m.trace)) count(m);  // finals measure again
      auto l = lesson(e, m, i < proposed.size() ? &proposed[i] : nullptr);
      if (!l) continue;
      e.history.add(m);
      if (!l->candidate || e.space == nullptr) continue;
      if (m.outcome != Outcome::kUndecided) model->add(e.given.task, *l->candidate, seconds_of(m));
      tried.push_back({*std::move(l->candidate), seconds_of(m)});
    }
    if (e.strategy == nullptr) return;
    recognise(e, tried);
    e.strategy->tell(tried);
  }

  void refresh(Entry& e) const {
    TaskResult& r = e.result;
    const Measurement* start = e.history.find(e.start);
    r.start_s = start == nullptr ? 0 : seconds_of(*start);
    r.best_s = r.start_s;
    r.best = e.given.start;
    r.origin = e.given.origin;
    const Measurement* best = e.history.best(options.verify != Verify::kOff);
    r.no_faster = best != nullptr && best->trace != e.start && e.judged && start != nullptr &&
                  !clearly_faster(*best, *start);
    if (r.no_faster) best = nullptr;
    if (best != nullptr && best->trace != e.start && !(best->median_s >= r.start_s && start)) {
      r.best_s = best->median_s;
      r.best = schedule::trace_from_json(best->trace);
      r.origin = "tuned";
    }
    r.measured = e.history.measured();
    r.failed = e.history.failed();
    r.failures = e.history.failures();
  }

  // ---- one round ---------------------------------------------------------------------------------------------

  // Whatever would be the best of its task is compared with the reference first; a wrong one is recorded as wrong.
  void verify(const Entry& e, std::vector<Measurement>& round) {
    if (options.verify == Verify::kOff) return;
    std::vector<size_t> order;
    for (size_t i = 0; i < round.size(); ++i) {
      if (round[i].outcome == Outcome::kOk) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return round[a].median_s != round[b].median_s ? round[a].median_s < round[b].median_s : a < b;
    });
    const Measurement* best = e.history.best(true);
    for (const size_t i : order) {
      Measurement& m = round[i];
      const bool wins = best == nullptr || m.median_s < best->median_s;
      if (!wins && options.verify == Verify::kBest) break;
      check_one(e, m);
      if (m.verified && options.verify == Verify::kBest) break;
    }
  }

  void check_one(const Entry& e, Measurement& m) {
    const measure::Verdict v = watch.time("verify", [&] {
      return measurer.verify(e.given.task, schedule::trace_from_json(m.trace));
    });
    m.verified = v.right();
    if (m.verified) return;
    m.outcome = v.wrong() ? Outcome::kWrong : Outcome::kUndecided;
    m.error = v.why;
    if (v.wrong()) tell(events::FoundWrong{e.given.task.key, v.why, m.trace});
  }

  // What the machine failed to find out is told and forgotten. One that finds out nothing any more is of no use.
  void record(const Entry& e, const std::vector<Measurement>& round) {
    std::vector<Measurement> decided, open;
    for (const Measurement& m : round) {
      (m.outcome == Outcome::kUndecided ? open : decided).push_back(m);
    }
    if (db != nullptr) watch.time("record", [&] { db->record(decided); });
    for (const Measurement& m : open) tell(events::Undecided{e.given.task.key, m.error, m.trace});
    undecided = decided.empty() ? undecided + std::ssize(open) : 0;
    if (undecided < kMostUndecided) return;
    throw UserError(fmt::format("{} programs in a row could not be judged; the last: {}", undecided,
                                open.back().error),
                    "what was recorded is safe; the same command goes on from there");
  }

  // Nothing is shown before it is recorded.
  void keep(Entry& e, std::vector<Measurement>& round,
            std::span<const space::Program> proposed = {}) {
    const TaskResult before = e.result;
    for (Measurement& m : round) m.run = run;
    record(e, round);
    learn(e, round, proposed);
    refresh(e);
    if (e.result.origin == "tuned" &&
        (before.origin != "tuned" || e.result.best_s < before.best_s)) {
      tell(new_best(e.given.task.key, e.result, before.best_s));
    }
    results[static_cast<size_t>(&e - entries.data())] = e.result;
  }

  static double best_or_never(const Entry& e) {
    return e.result.best_s > 0 ? e.result.best_s : kNever;
  }

  // How the model ranked what was then measured.
  cost::RankingQuality ranking(const Entry& e, const std::vector<space::Program>& proposed,
                               const std::vector<Measurement>& round) const {
    std::vector<cost::Row> rows;
    std::vector<cost::Sample> truth;
    for (size_t i = 0; i < round.size(); ++i) {
      auto row = model->model().encode(search::subject_of(e.given.task, proposed[i]));
      if (!row) continue;
      rows.push_back(std::move(row.value()));
      truth.push_back({{}, e.given.task.key, seconds_of(round[i])});
    }
    const int k = std::max(1, std::min(kRankedAmong, static_cast<int>(truth.size()) / 4));
    return cost::ranking_quality(model->model().score(rows), truth, k);
  }

  double spent_on(const std::string& part, const std::map<std::string, double>& before) const {
    const auto now = watch.seconds().find(part);
    const auto then = before.find(part);
    return (now == watch.seconds().end() ? 0 : now->second) -
           (then == before.end() ? 0 : then->second);
  }

  void adapt_population(Entry& e, const std::map<std::string, double>& before) const {
    const double ratio = spent_on("search", before) / std::max(spent_on("measure", before), 1e-3);
    const double scaled =
        static_cast<double>(e.population) * kThinkingShare / std::max(ratio, 1e-3);
    const size_t most = std::min(2 * e.population, options.search.population);
    e.population = std::clamp(static_cast<size_t>(std::min(scaled, 1e6)),
                              std::min(kLeastPopulation, most), most);
  }

  // ---- batches in flight -------------------------------------------------------------------------------------

  static double best_known(const Entry& e) {
    return std::isfinite(e.result.best_s) ? e.result.best_s : 0;
  }

  void submit(Batch batch, std::span<const schedule::Trace> traces) {
    const Entry& e = entries[batch.entry];
    in_flight.submit(std::move(batch), e.given.task, traces, best_known(e));
  }

  int64_t trials_left() const {
    if (options.trials <= 0) return std::numeric_limits<int64_t>::max();
    return options.trials - measured - in_flight.jobs();
  }

  // Where measuring leaves cores to think on, two halves of a round are in flight: the second is proposed while the first
  // is measured. A program is then proposed without knowing the 16 before it and the 15 beside it, as in a whole round it
  // is without knowing the 31 beside it; and what is known does not depend on how fast anything was.
  int64_t batch_size() const {
    return measurer.overlaps() ? std::max<int64_t>(1, options.round / 2) : options.round;
  }

  // The default first: what was searched is compared with it, and it seeds the strategy.
  bool begin_default() {
    const auto it = std::find_if(entries.begin(), entries.end(),
                                 [](const Entry& e) { return !e.default_begun; });
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

  // As many per proposed program as in a whole round.
  size_t population_of(const Entry& e) const {
    const size_t whole = std::min(e.population, options.search.population);
    const auto part = whole * static_cast<size_t>(batch_size()) /
                      static_cast<size_t>(std::max<int64_t>(1, options.round));
    return std::max(part, std::min(kLeastPopulation, whole));
  }

  void propose(size_t i, size_t n) {
    Entry& e = entries[i];
    Batch batch{.entry = i, .before = watch.seconds()};
    Rng own = rng.fork();
    e.strategy->set_population(population_of(e));
    batch.proposed = watch.time("search", [&] {
      if (options.known != nullptr) {
        e.transplants.begin(*options.known, *e.space, *e.strategy,
                            static_cast<size_t>(options.round));
      }
      return e.strategy->propose(n, own);
    });
    if (batch.proposed.empty()) {
      scheduler.kill(static_cast<int>(i));
      return;
    }
    std::erase_if(batch.proposed, [&](const space::Program& c) { return is_inaccurate(e, c); });
    std::vector<schedule::Trace> traces;
    for (const space::Program& c : batch.proposed) traces.push_back(c.trace);
    submit(std::move(batch), traces);
  }

  // A fault of ours in proposing programs ends this task's search, not the night's work.
  void give_up(size_t i, const InternalError& e) {
    scheduler.kill(static_cast<int>(i));
    tell(events::Fault{entries[i].given.task.key, e.what()});
  }

  // As much as may be in flight. Rounds begin when all defaults are known.
  void fill() {
    const bool ahead = measurer.overlaps();
    const auto room = [&](int64_t more) {
      return in_flight.batches() == 0 || (ahead && in_flight.jobs() + more <= options.round);
    };
    while (defaults < entries.size() && room(1) && begin_default()) {
    }
    while (defaults == entries.size() && in_flight.batches() < 2 && room(batch_size()) &&
           begin_round()) {
    }
  }

  void finish() {
    Batch b = in_flight.take();
    if (b.is_default) return finish_default(b);
    try {
      finish_round(b);
    } catch (const InternalError& e) {
      give_up(b.entry, e);
    }
  }

  void finish_default(Batch& b) {
    Entry& e = entries[b.entry];
    std::vector<Measurement> one = b.answers();
    e.default_begun = !one.empty() || e.history.has(e.start);
    if (!e.default_begun) return;  // it was cancelled
    if (!one.empty()) {
      if (one[0].outcome == Outcome::kOk && options.verify != Verify::kOff) check_one(e, one[0]);
      keep(e, one);
    }
    ++defaults;
    tell(default_timed(e.given.task.key, *e.history.find(e.start)));
    scheduler.report(static_cast<int>(b.entry), best_or_never(e));
  }

  void finish_round(Batch& b) {
    Entry& e = entries[b.entry];
    std::vector<Measurement> got = b.answers();
    verify(e, got);
    const bool trained = model->model().trained();
    const cost::RankingQuality quality =
        trained ? ranking(e, b.proposed, got) : cost::RankingQuality{};
    keep(e, got, b.proposed);
    if (const auto t = e.transplants.told(e.given.task.key, b.proposed, got, e.result)) tell(*t);
    std::erase_if(got, [](const Measurement& m) { return m.outcome == Outcome::kUndecided; });
    watch.time("train", [&] { model->train(); });
    adapt_population(e, b.before);
    scheduler.report(static_cast<int>(b.entry), best_or_never(e));
    tell(round_done({.round = ++rounds,
                     .task = e.given.task.key,
                     .measurements = got,
                     .result = e.result,
                     .measured = measured,
                     .failed = failed,
                     .models = models,
                     .results = results,
                     .ranking = trained ? &quality : nullptr,
                     .before = b.before,
                     .after = watch.seconds()}));
  }

  void tell_refused() {
    for (const auto& [key, r] : refused) tell(events::Refused{key, r.count, r.why});
    refused.clear();
  }

  bool step(const std::function<bool()>& stop) {
    const measure::KeepTo here(measurer.spare_cpus());
    tell_refused();
    fill();
    if (in_flight.batches() == 0) return false;
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
  }

  // ---- finals ------------------------------------------------------------------------------------------------

  void final_of(Entry& e, double seconds) {
    std::vector<schedule::Trace> traces = {e.given.start};
    for (const Measurement* m : e.history.fastest(kFinalists + 1)) {
      if (m->trace == e.start || traces.size() > kFinalists) continue;
      traces.push_back(schedule::trace_from_json(m->trace));
    }
    std::vector<Measurement> got =
        watch.time("finals", [&] { return measurer.finals(e.given.task, traces, seconds); });
    for (Measurement& m : got) {
      const Measurement* known = e.history.find(m.trace);
      m.verified = m.outcome == Outcome::kOk && known != nullptr && known->verified;
    }
    std::sort(got.begin(), got.end(), [](const Measurement& a, const Measurement& b) {
      return seconds_of(a) != seconds_of(b) ? seconds_of(a) < seconds_of(b) : a.trace < b.trace;
    });
    for (Measurement& m : got) {
      if (m.outcome != Outcome::kOk) continue;
      if (!m.verified && options.verify != Verify::kOff) check_one(e, m);
      if (m.outcome == Outcome::kOk) break;
    }
    e.judged = true;
    keep(e, got);
    tell(finals_done(e.given.task.key, e.result));
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
  for (Entry& e : impl_->entries) {
    if (stop && stop()) return;
    if (e.result.origin == "tuned") impl_->final_of(e, seconds_per_task);
  }
}

const std::vector<TaskResult>& TaskTuner::results() const { return impl_->results; }
int64_t TaskTuner::measured() const { return impl_->measured; }
int64_t TaskTuner::failed() const { return impl_->failed; }
double TaskTuner::objective() const { return impl_->scheduler.objective(); }
const std::map<std::string, double>& TaskTuner::seconds() const { return impl_->watch.seconds(); }

std::vector<TaskTuner::Reason> TaskTuner::reasons() const {
  std::vector<Reason> out;
  for (const auto& [key, r] : impl_->reasons) out.push_back(r);
  std::sort(out.begin(), out.end(), [](const Reason& a, const Reason& b) {
    return a.count != b.count ? a.count > b.count : a.error < b.error;
  });
  return out;
}

}  // namespace tenon::tune
