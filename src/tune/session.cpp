// SPDX-License-Identifier: Apache-2.0
#include "tune/session.h"

#include "files/file.h"
#include "history/known_programs.h"
#include "measure/cores.h"
#include "tune/contest.h"
#include "tune/events.h"
#include "tune/honest_end.h"
#include "tune/plan_event.h"
#include "tune/searches.h"

namespace tenon::tune {
namespace {

constexpr double kFinalsS = 0.4;       // per task
constexpr double kHopeOfLoops = 0.05;  // what their first seconds are taken to gain
constexpr double kDecideBy = 0.6;      // of the rounds: loops of other layouts need their time, too

std::string names_of(const std::vector<Model>& models) {
  std::string out;
  for (const Model& m : models) out += (out.empty() ? "" : " ") + m.name;
  return out;
}

SessionParts make_parts(std::vector<Model> models, SessionOptions options,
                        measure::Measurer& measurer, measure::NetworkTimer& timer, db::Database& db,
                        Forward forward) {
  // All parts read one clock, which may count how often it is asked.
  const auto one =
      std::make_shared<Clock>(options.tuner.clock ? options.tuner.clock : machine_clock());
  const Clock clock = [one] { return (*one)(); };
  options.tuner.accuracy = options.compile.accuracy;
  options.tuner.lean = options.compile.lean;
  return {std::move(models),
          std::move(options),
          measurer,
          timer,
          db,
          Stopwatch(clock),
          RunLog(db, clock, std::move(forward))};
}

}  // namespace

struct Session::Impl {
  SessionParts parts;
  Networks networks;
  Loops loops;
  Artifacts artifacts;
  Ending ending;
  Shares shares;
  Searches searches;
  HonestEnd end;
  Contest contest;
  int64_t again = 0;           // finals measure programs once more
  bool records_alone = false;  // what is found now is in no artifact

  explicit Impl(SessionParts p)
      : parts(std::move(p)),
        networks(parts.models, parts.options.compile),
        loops(parts, networks),
        artifacts(parts, networks),
        ending(parts, artifacts),
        shares(parts, loops, ending),
        searches(parts, networks, loops, artifacts, shares),
        end(parts, networks, loops, artifacts, ending),
        contest([this] { return parts.watch.now(); }) {}

  // ---- the beginning ---------------------------------------------------------------------------

  void begin() {
    parts.log.start();
    TunerOptions& o = parts.options.tuner;
    if (o.model == nullptr) o.model = make_run_model(o);
    if (parts.options.transplant) o.known = known_programs();
    const auto told =
        parts.log.open(parts.options.command, names_of(parts.models), parts.machine());
    for (size_t i = 0; i < told.size(); ++i) searches.restore(i + 1, told[i].json);
    const history::Used known = learn_history();
    loops.find();
    end.find_references();
    loops.begin(shares.trials_of_loops());
    if (!known.from.empty() || !known.notes.empty()) parts.log.tell(history_used(known));
    artifacts.write_all(loops);
  }

  std::shared_ptr<history::KnownPrograms> known_programs() const {
    auto known = std::make_shared<history::KnownPrograms>(parts.options.programs);
    known->add_records(parts.db, parts.where());
    return known;
  }

  history::Used learn_history() {
    if (!parts.options.history) {
      const std::string other = parts.options.tuner.model->serve(parts.where());
      return {"", std::nullopt, other.empty() ? std::vector<std::string>{} : std::vector{other}};
    }
    return parts.watch.time("train", [&] {
      return parts.options.tuner.model->begin(parts.db, parts.where(), *parts.options.history);
    });
  }

  // ---- the rounds ------------------------------------------------------------------------------

  bool step_loops(const Stop& stop) {
    const bool more = loops.step(stop, shares.trials_of_loops());
    if (!records_alone) artifacts.renew(loops);
    return more;
  }

  // The loops begin, so that what the others may gain is known; then all share what is left.
  void share_budget(const Stop& halt, const Stop& halted) {
    while (!halt() && !loops.defaults_known()) {
      if (!step_loops(halt)) break;
    }
    contest.add({.name = "loops",
                 .hope_s = kHopeOfLoops * loops.network_s(),
                 .step = [this](const Stop& stop) { return step_loops(stop); },
                 .gained_s = [this] { return loops.gained_s(); },
                 .leave = [this] { loops.tuner().settle(); }});
    searches.open(contest, halted);
    contest.run(halt);
  }

  // Why the rounds ended.
  std::string rounds(const Stop& stop) {
    const measure::KeepTo here(parts.measurer.spare_cpus());
    const RunLog& log = parts.log;
    const double begun_s = log.spent();
    // Nobody knows how long the end takes before the first artifact is written, perhaps beside the rounds.
    const auto left_by = [&](double share) {
      return log.spent() < begun_s + share * (ending.rounds_end() - begun_s);
    };
    const auto interrupted = [&] { return stop && stop(); };
    const Stop halted = [&] { return interrupted() || !left_by(1); };
    share_budget([&] { return interrupted() || !left_by(kDecideBy); }, halted);
    if (!interrupted()) {
      loops.tuner().settle();
      contest.decide_all();
      contest.run(halted);
    }
    if (interrupted()) return "interrupted";
    if (!left_by(1)) return "budget";
    const int64_t trials = parts.options.tuner.trials;
    return trials > 0 && log.measured() >= trials ? "trials" : "exhausted";
  }

  // ---- the end ---------------------------------------------------------------------------------

  void finals(double until_s, const Stop& stop) {
    const Stop late = [&] { return (stop && stop()) || parts.log.spent() >= until_s; };
    const int64_t before = parts.log.counted().measured;
    loops.tuner().finals(kFinalsS, late);
    again += parts.log.counted().measured - before;
  }

  bool found_something() const {
    for (size_t m = 0; m < networks.size(); ++m) {
      if (networks.replanned(m) || !loops.programs_of(m).empty()) return true;
    }
    return false;
  }

  // Where nothing was found there is nothing to compare: that time goes to more rounds, up to the first find. Once there is no
  // time to compare one, finds are records alone, with which the next run begins; true: there is such a find.
  bool late_rounds(const Stop& stop) {
    const measure::KeepTo here(parts.measurer.spare_cpus());
    const auto until = [&](double end_s) {
      return [this, stop, end_s] { return (stop && stop()) || parts.log.spent() >= end_s; };
    };
    if (found_something()) return false;
    const Stop late = until(ending.late_end());
    contest.run([&] { return late() || found_something(); });
    loops.tuner().settle();
    if (found_something()) finals(parts.log.spent() + ending.finals_s(), stop);
    if (found_something()) return false;
    artifacts.renew_now(loops);
    records_alone = true;
    contest.run(until(ending.learning_begin()));
    loops.tuner().settle();
    return found_something();
  }

  void judge(Summary& s, const Stop& stop) {
    finals(ending.finals_end(), stop);
    const bool too_late = s.reason == "budget" && late_rounds(stop);
    if (!too_late) artifacts.renew_now(loops);
    for (size_t m = 0; m < networks.size(); ++m) {
      s.models.push_back(too_late ? end.leave(m) : end.judge(m));
      s.models.back().refused = artifacts.refused(m);
    }
    parts.log.tell(plan_decided("programs", parts.models, artifacts.built()));
    if (stop && stop()) s.reason = "interrupted";
  }

  void sum_up(Summary& s) {
    const TaskTuner& tuner = loops.tuner();
    s.tasks = tuner.results();
    s.reasons = tuner.reasons();
    s.seconds = tuner.seconds();
    for (const auto& [part, t] : parts.watch.seconds()) s.seconds[part] += t;
    s.kinds = contest.kinds();
    s.spent_s = parts.log.spent();
  }

  void save_model() const {
    const std::string& file = parts.options.save_cost_model;
    if (!file.empty()) files::write_file(file, parts.options.tuner.model->model().save());
  }

  Summary finish(const std::string& reason, const Stop& stop) {
    Summary s;
    s.run = parts.log.run();
    s.reason = reason;
    loops.tuner().settle();
    if (reason != "interrupted") {
      judge(s, stop);
    } else {
      artifacts.renew_now(loops);
    }
    const events::Counted counted = parts.log.counted();
    s.measured = counted.measured - again;
    s.failed = counted.failed;
    s.again = again;
    sum_up(s);
    parts.log.tell(run_ended(s));
    const bool over = s.reason != "interrupted";
    if (over) parts.log.end();
    save_model();
    // What it learned is not lost if this is left out or cut off, for records are there.
    const auto& history = parts.options.history;
    if (over && history && ending.has_time_for(0))
      s.history = history::renew(parts.db, parts.where(), *history);
    return s;
  }
};

Session::Session(std::vector<Model> models, SessionOptions options, measure::Measurer& measurer,
                 measure::NetworkTimer& timer, db::Database& db, Forward forward)
    : impl_(std::make_unique<Impl>(make_parts(std::move(models), std::move(options), measurer,
                                              timer, db, std::move(forward)))) {}
Session::~Session() = default;

Summary Session::run(const std::function<bool()>& stop) {
  impl_->begin();
  const std::string reason = impl_->rounds(stop);
  return impl_->finish(reason, stop);
}

}  // namespace tenon::tune
