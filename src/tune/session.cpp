// SPDX-License-Identifier: Apache-2.0
#include "tune/session.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "files/file.h"
#include "history/known_programs.h"
#include "measure/cores.h"
#include "support/check.h"
#include "support/private_folder.h"
#include "tune/best_schedules.h"
#include "tune/contest.h"
#include "tune/events.h"
#include "tune/layout_decision.h"
#include "tune/plan_event.h"

namespace tenon::tune {
namespace {

namespace fs = std::filesystem;

constexpr double kReserve = 0.12;  // of the budget, for finals and the comparison of networks
constexpr double kLeastReserveS = 1.5, kMostReserveS = 30;
constexpr double kFinalsS = 0.4;  // per task
constexpr double kLeastCompareS = 0.5, kMostCompareS = 5;
constexpr double kMostDifference = 1e-2;  // of outputs; kernels are held to much less
constexpr int64_t kLeastLayouts = 6;      // that the trials of the stage are dealt out to
constexpr int64_t kLeastTrials = 8;       // of a layout, or its time says little
constexpr double kLeastStageS = 20;
constexpr int64_t kTasksOfPair = 3;  // the pair, and the two that it would replace
constexpr int64_t kUsualPairs = 4;   // that the trials of their stage are dealt out to
constexpr double kLeastPairsS = 8;
// What the first seconds of each kind are taken to gain, of the networks' time.
constexpr double kHopeOfLoops = 0.05, kHopeOfPairs = 0.02, kHopeOfLayouts = 0.03;
constexpr double kDecideBy = 0.6;     // of the rounds: loops of other layouts need their time, too
constexpr double kWriteShare = 0.05;  // of the time, for renewing artifacts
constexpr double kLeastBetweenWritesS = 5;

// Programs that were tuned, by task.
using Programs = std::map<std::string, plan::TaskPlan>;

bool same_calls(const plan::NetworkPlan& a, const plan::NetworkPlan& b) {
  return a.pairs.calls == b.pairs.calls && a.layouts.calls == b.layouts.calls;
}

bool all_empty(const std::vector<plan::CallDecisions>& chosen) {
  return std::all_of(chosen.begin(), chosen.end(),
                     [](const plan::CallDecisions& c) { return c.calls.empty(); });
}

bool matches(const std::string& glob, const task::Task& t) {
  return fnmatch(glob.c_str(), t.label.c_str(), 0) == 0 ||
         fnmatch(glob.c_str(), t.key.c_str(), 0) == 0;
}

}  // namespace

struct Session::Impl {
  std::vector<Model> models;
  SessionOptions options;
  measure::Measurer& measurer;
  measure::NetworkTimer& timer;
  db::Database& db;
  Forward forward;

  Stopwatch watch;
  std::string run;
  std::unique_ptr<db::RunClaim> claim;  // nobody else goes on with it
  double spent_before = 0;
  double start = 0;

  // Per model: pairs and layouts as the searches decided. The tuner's programs come on top.
  std::vector<plan::NetworkPlan> plans;
  bool pairs_decided = false, layouts_decided = false;

  std::vector<TaskToTune> tasks;  // those to tune
  std::vector<ModelSpec> specs;
  std::vector<std::vector<std::string>> steps;  // per model, per step: key of its task
  std::unique_ptr<TaskTuner> tuner;
  std::vector<std::map<std::string, std::string>> written;  // per model: traces of its artifact
  std::vector<plan::NetworkPlan> built;                     // per model: the plan of its artifact
  double last_write = 0, write_cost = 0;

  std::unique_ptr<Contest> contest;
  std::unique_ptr<PairSearch> pair_search;
  std::unique_ptr<LayoutSearch> layout_search;
  Stop halted;                                        // the time of the rounds is up
  std::vector<std::function<int64_t()>> trials_left;  // of kinds that are not over
  double loops_gained_s = 0;

  Impl(std::vector<Model> m, SessionOptions o, measure::Measurer& me, measure::NetworkTimer& t,
       db::Database& d, Forward f)
      : models(std::move(m)),
        options(std::move(o)),
        measurer(me),
        timer(t),
        db(d),
        forward(std::move(f)),
        watch(options.tuner.clock ? options.tuner.clock : machine_clock()),
        plans(models.size(), first_plan()),
        written(models.size()),
        built(models.size()) {
    options.tuner.accuracy = options.compile.accuracy;
  }

  const plan::NetworkPlan& first_plan() const { return options.compile.plan; }
  bool replanned(size_t m) const { return !same_calls(plans[m], first_plan()); }

  double spent() const { return spent_before + watch.now() - start; }

  void tell(const events::Event& event) {
    const double t = spent();
    const std::string json = events::to_json(event, t);
    db.add_event(run, {t, json});
    if (forward) forward(json);
  }

  // ---- what there is to tune ---------------------------------------------------------------------------------

  // What a plan makes of a model; nothing is lowered.
  plan::Network network(size_t m, const plan::NetworkPlan& plan,
                        const plan::LayoutTimes& layout_times = {}) const {
    compile::Options o = options.compile;
    o.plan = plan;
    o.layout_times = layout_times;
    return compile::decide(*models[m].graph, models[m].name, o);
  }

  artifact::Program compiled(size_t m, const plan::NetworkPlan& plan) const {
    artifact::Program p = compile::build(network(m, plan), options.compile);
    p.provenance = models[m].provenance;
    return p;
  }

  artifact::Program default_program(size_t m) const { return compiled(m, first_plan()); }

  static plan::NetworkPlan with(plan::NetworkPlan plan, const Programs& programs) {
    for (const auto& [key, program] : programs) plan.set(program);
    return plan;
  }

  void find_tasks() {
    tasks.clear();
    specs.clear();
    steps.clear();
    std::map<std::string, size_t> known;
    std::vector<std::map<size_t, double>> calls(models.size());
    steps.resize(models.size());
    for (size_t m = 0; m < models.size(); ++m) {
      const plan::Network n = network(m, plans[m]);
      for (const int32_t t : n.task_of) {
        const task::Task& task = n.tasks[static_cast<size_t>(t)].task;
        steps[m].push_back(task.key);
        const auto [it, first] = known.emplace(task.key, tasks.size());
        if (first) {
          if (matches(options.tasks, task)) {
            tasks.push_back(to_tune(n, static_cast<size_t>(t)));
          } else {
            it->second = SIZE_MAX;
          }
        }
        if (it->second != SIZE_MAX) calls[m][it->second] += 1;
      }
    }
    if (tasks.empty()) {
      throw UserError(fmt::format("no task matches \"{}\"", options.tasks),
                      "tenon tune --dry-run lists the tasks of a model");
    }
    for (size_t m = 0; m < models.size(); ++m) {
      ModelSpec spec{std::vector<double>(tasks.size(), 0), models[m].target_s,
                     models[m].reference_s};
      for (const auto& [i, n] : calls[m]) spec.weights[i] = n;
      specs.push_back(std::move(spec));
    }
  }

  // Geometric means need a time to compare with.
  void find_references() {
    if (options.tuner.scheduler.objective != Objective::kSpeedup) return;
    for (size_t m = 0; m < models.size(); ++m) {
      if (specs[m].reference_s > 0) continue;
      const auto folder = PrivateFolder::temporary("default");
      write_to(folder.path() / models[m].name, default_program(m));
      const measure::NetworkTimes t =
          timer.compare(folder.path() / models[m].name, folder.path() / models[m].name,
                        {.threads = options.threads, .seconds = kLeastCompareS});
      if (!t.error.empty()) throw UserError("the default of " + models[m].name + ": " + t.error);
      specs[m].reference_s = t.a_s;
    }
  }

  // ---- artifacts ---------------------------------------------------------------------------------------------

  void write_to(const fs::path& directory, const artifact::Program& p) {
    artifact::write(p, {directory, options.outputs, options.compile.threads});
  }

  // What the tuner found for the model's tasks.
  Programs programs_of(size_t m) const {
    Programs out;
    const auto& results = tuner->results();
    for (size_t i = 0; i < tasks.size(); ++i) {
      const std::string& key = tasks[i].task.key;
      if (specs[m].weights[i] == 0 || results[i].origin != "tuned") continue;
      out[key] = tuned_program(tasks[i].task, results[i].best, plan::From::kMeasured);
    }
    return out;
  }

  static std::map<std::string, std::string> texts(const Programs& programs) {
    std::map<std::string, std::string> out;
    for (const auto& [key, p] : programs) out[key] = p.trace;
    return out;
  }

  void write(size_t m, const Programs& programs) {
    const double before = watch.now();
    watch.time("write", [&] {
      const artifact::Program p = compiled(m, with(plans[m], programs));
      write_to(models[m].directory, p);
      built[m] = p.plan;
    });
    written[m] = texts(programs);
    last_write = watch.now();
    write_cost = last_write - before;
    tell(events::ArtifactWritten{models[m].name, models[m].directory.string(), std::ssize(programs),
                                 write_cost});
  }

  // Only what changed, and not so often that writing eats the budget.
  void renew(bool at_once) {
    if (options.tuner.verify == Verify::kOff) return;
    const double since = watch.now() - last_write;
    if (!at_once && since < std::max(kLeastBetweenWritesS, write_cost / kWriteShare)) return;
    for (size_t m = 0; m < models.size(); ++m) {
      const Programs now = programs_of(m);
      if (texts(now) != written[m]) write(m, now);
    }
  }

  // ---- the end -----------------------------------------------------------------------------------------------

  double compare_s() const {
    if (options.budget_s <= 0) return kMostCompareS;
    return std::clamp(0.02 * options.budget_s, kLeastCompareS, kMostCompareS);
  }

  // Tasks whose tuned steps take longer inside the network than the default's.
  std::vector<std::string> losers(size_t m, const measure::NetworkTimes& t) const {
    std::vector<std::string> out;
    if (t.a_steps_s.size() != steps[m].size() || t.b_steps_s.size() != steps[m].size()) return out;
    std::map<std::string, std::pair<double, double>> sums;
    for (size_t s = 0; s < steps[m].size(); ++s) {
      sums[steps[m][s]].first += t.a_steps_s[s];
      sums[steps[m][s]].second += t.b_steps_s[s];
    }
    for (const auto& [key, s] : sums) {
      if (s.second >= s.first) out.push_back(key);
    }
    return out;
  }

  static std::string why_default(const measure::NetworkTimes& t) {
    if (!t.error.empty()) return t.error;
    if (t.difference > kMostDifference) {
      return fmt::format("outputs differ by {:.2g}", t.difference);
    }
    if (t.low > 1) return "";
    // A tie is no gain: what was tuned is kept only where it is faster beyond doubt.
    return t.ratio < 1 ? "the whole network was not faster"
                       : fmt::format("no faster ({:.2f} to {:.2f} times as fast)", t.low, t.high);
  }

  // Against the default's artifact; programs that lose inside the network are dropped from `chosen`.
  void compare(size_t m, const fs::path& plain, ModelSummary& s, Programs& chosen) {
    const measure::NetworkOptions how{options.threads, compare_s(), {}};
    const auto once = [&] {
      s.times =
          watch.time("network", [&] { return timer.compare(plain, models[m].directory, how); });
    };
    once();
    if (replanned(m) || !s.times.error.empty()) return;
    const auto before = chosen.size();
    for (const std::string& key : losers(m, s.times)) chosen.erase(key);
    if (chosen.size() == before) return;
    write(m, chosen);
    if (!chosen.empty()) once();
  }

  // The best that records have for the tasks that were there at first.
  Programs without_searches(size_t m) {
    plans[m] = first_plan();
    const plan::Network n = network(m, plans[m]);
    steps[m].clear();
    for (const int32_t t : n.task_of) {
      steps[m].push_back(n.tasks[static_cast<size_t>(t)].task.key);
    }
    const plan::NetworkPlan known =
        best_records(db, options.compile.target, measurer.target(options.compile.target),
                     measurer.protocol())
            .plan;
    Programs out;
    for (const std::string& key : steps[m]) {
      const plan::TaskPlan* program = known.find(key);
      if (program != nullptr && program->has_program) out[key] = *program;
    }
    return out;
  }

  // How many of the programs were built; others were refused.
  int in_artifact(size_t m, const Programs& programs) const {
    return static_cast<int>(
        std::count_if(built[m].tasks.begin(), built[m].tasks.end(), [&](const plan::TaskPlan& t) {
          return programs.contains(t.task) && t.from != plan::From::kRule;
        }));
  }

  std::vector<std::string> refused_in(size_t m) const {
    std::vector<std::string> out;
    for (const plan::TaskPlan& t : built[m].tasks) {
      if (!t.refused.empty()) out.push_back(fmt::format("task {}: {}", t.task, t.refused));
    }
    return out;
  }

  ModelSummary judge(size_t m) {
    ModelSummary s{
        models[m].name, models[m].directory, {}, "default: nothing better was found", 0, 0, {}};
    for (const double w : specs[m].weights) s.tasks += w > 0 ? 1 : 0;
    Programs chosen = programs_of(m);
    if ((chosen.empty() && !replanned(m)) || options.tuner.verify == Verify::kOff) return s;
    const auto folder = PrivateFolder::temporary("default");
    const fs::path plain = folder.path() / models[m].name;
    watch.time("write", [&] { write_to(plain, default_program(m)); });
    if (texts(chosen) != written[m]) write(m, chosen);
    compare(m, plain, s, chosen);
    if (replanned(m) && !why_default(s.times).empty()) {
      chosen = without_searches(m);
      write(m, chosen);
      compare(m, plain, s, chosen);
    }
    const std::string why = chosen.empty() && !replanned(m) ? "no task gained inside the network"
                                                            : why_default(s.times);
    s.kept = why.empty() ? "tuned" : "default: " + why;
    s.tuned = why.empty() ? in_artifact(m, chosen) : 0;
    if (!why.empty() && (replanned(m) || !written[m].empty())) {
      plans[m] = first_plan();
      write(m, {});
    }
    tell(network_compared(s));
    return s;
  }

  // ---- the whole ---------------------------------------------------------------------------------------------

  std::string model_names() const {
    std::string out;
    for (const Model& m : models) out += (out.empty() ? "" : " ") + m.name;
    return out;
  }

  // Runs may be imported from other machines; what those spent and decided holds only there.
  bool is_of_this_machine(const db::RunRow& r) const {
    for (const db::EventRow& e : db.events(r.id)) {
      const auto machine = machine_of(e.json);
      if (machine) return *machine == measurer.target(options.compile.target);
    }
    return true;  // it was cut off before it told anything
  }

  std::shared_ptr<history::KnownPrograms> known_programs() const {
    auto known = std::make_shared<history::KnownPrograms>(options.programs);
    known->add_records(db, {std::make_shared<const target::Target>(options.compile.target),
                            measurer.target(options.compile.target), measurer.protocol()});
    return known;
  }

  void begin() {
    start = watch.now();
    if (options.tuner.model == nullptr) options.tuner.model = make_run_model(options.tuner);
    if (options.transplant) options.tuner.known = known_programs();
    claim = db.claim_runs(options.command, model_names());
    const auto mine = [&](const db::RunRow& r) { return is_of_this_machine(r); };
    if (const auto cut_off = db.unfinished(options.command, model_names(), mine)) {
      run = cut_off->id;
      const auto events = db.events(run);
      for (const db::EventRow& e : events) {
        if (std::isfinite(e.at_s)) spent_before = std::max(spent_before, e.at_s);
      }
      for (size_t i = 0; i < events.size(); ++i) restore(i + 1, events[i].json);
    } else {
      run = db.begin_run(options.command, model_names());
    }
    const history::Used known = learn_history();
    find_tasks();
    find_references();
    start_tuner();
    if (!known.from.empty() || !known.notes.empty()) tell(history_used(known));
    for (size_t m = 0; m < models.size(); ++m) write(m, programs_of(m));
  }

  // ---- history -----------------------------------------------------------------------------------------------

  history::Where where() const {
    return {std::make_shared<const target::Target>(options.compile.target),
            measurer.target(options.compile.target), measurer.protocol()};
  }

  history::Used learn_history() {
    if (!options.history) return {};
    return watch.time("train",
                      [&] { return options.tuner.model->begin(db, where(), *options.history); });
  }

  // After the run has ended: what it learned is not lost if this is cut off, for records are there.
  std::string renew_history() const {
    return options.history ? history::renew(db, where(), *options.history) : "";
  }

  // Decisions that an earlier part of the run told. What cannot be read is decided again.
  void restore(size_t row, const std::string& json) try {
    const events::Parsed read = events::parse(json);
    if (!read.why.empty()) throw UserError(read.why);
    const auto told = plan_of(*read.event, models);
    if (!told) return;
    pairs_decided |= told->decided == "pairs";
    layouts_decided |= told->decided == "layouts";
    for (size_t m = 0; m < models.size(); ++m) {
      const plan::NetworkPlan& p = told->plans[m];
      if (told->decided == "pairs") plans[m].pairs = p.pairs;
      if (told->decided == "layouts") take_layouts(m, p.layouts);
    }
  } catch (const UserError& e) {
    tell(events::Skipped{static_cast<int64_t>(row), e.what()});
  }

  // Empty: as they were.
  void take_layouts(size_t m, const plan::CallDecisions& chosen) {
    if (!chosen.calls.empty()) plans[m].layouts = chosen;
  }

  int64_t trials_of_loops() const {
    const int64_t all = options.tuner.trials;
    if (all <= 0) return 0;
    const int64_t left = all - measured_in_run() - reserved();
    return std::max<int64_t>(
        1, (tuner == nullptr ? measured_in_run() - spent_elsewhere() : tuner->measured()) + left);
  }

  // By all searches, in all parts of the run.
  int64_t measured_in_run() const {
    int64_t n = 0;
    for (const db::Group& g : db.groups({"", "", "", run})) n += g.count;
    return n;
  }

  // Trials that kinds of decisions which are not over may still take.
  int64_t reserved() const {
    int64_t n = 0;
    for (const auto& left : trials_left) n += left();
    return n;
  }

  void make_tuner() {
    TunerOptions o = options.tuner;
    o.trials = trials_of_loops();
    tuner = std::make_unique<TaskTuner>(tasks, specs, o, measurer, &db, run,
                                        [this](const events::Event& e) { tell(e); });
  }

  void start_tuner() {
    make_tuner();
    tell(run_started({run, options, models, tasks, specs, measurer.target(options.compile.target),
                      measurer.protocol(), tuner->measured(), spent_before}));
  }

  // After plans changed: the networks have other tasks.
  void tune_anew() {
    const std::vector<ModelSpec> before = specs;
    find_tasks();
    for (size_t m = 0; m < models.size(); ++m) specs[m].reference_s = before[m].reference_s;
    start_tuner();
    for (size_t m = 0; m < models.size(); ++m) write(m, programs_of(m));
  }

  // ---- pairs and layouts -------------------------------------------------------------------------------------

  // Trials of this run for tasks that are tuned no more: pairs and layouts that were not chosen.
  int64_t spent_elsewhere() const {
    int64_t n = 0;
    for (const db::Group& g : db.groups({"", "", "", run})) {
      const bool here = std::any_of(tasks.begin(), tasks.end(),
                                    [&](const TaskToTune& t) { return t.task.key == g.task; });
      if (!here) n += g.count;
    }
    return n;
  }

  // Stages before the loops are for whole networks, whose artifacts are made; what they decide is
  // decided for the vectors of CPUs.
  bool has_stages() const {
    return options.tasks == "*" && options.compile.target.is_cpu() && options.tuner.verify != Verify::kOff &&
           !options.tuner.make_space;
  }

  // What a search may take: of the seconds that are left, and of all trials.
  struct Share {
    double seconds, trials;
  };
  Share share_of(double share) const {
    const int64_t all = options.tuner.trials;
    const auto left = static_cast<double>(all - measured_in_run());
    return {share * (rounds_end() - spent()),
            all > 0 ? std::clamp(share * static_cast<double>(all), 0.0, std::max(0.0, left))
                    : INFINITY};
  }

  // True once a search has had its share. Its trials are kept for it until then, and those of the step that goes beyond.
  template <class Search>
  std::function<bool()> used_up(const Search& search, double share, int64_t step_trials) {
    const Share given = share_of(share);
    trials_left = {[&search, given, step_trials] {
      const double left =
          given.trials - static_cast<double>(search.measured()) + static_cast<double>(step_trials);
      return std::isfinite(left) ? std::max<int64_t>(0, static_cast<int64_t>(left)) : 0;
    }};
    return [this, &search, given, end = spent() + given.seconds] {
      return spent() >= end || static_cast<double>(search.measured()) >= given.trials;
    };
  }

  // Of each task: fewer where trials are few, so that some pairs fit into the stage's share.
  int64_t pair_trials() const {
    const double each = share_of(options.pairs.share).trials / (kTasksOfPair * kUsualPairs);
    const double most = static_cast<double>(options.pairs.trials);
    return static_cast<int64_t>(std::clamp(each, static_cast<double>(kLeastTrials), most));
  }

  // One pair must fit into the stage's share. What a lock file decided stays.
  bool searches_pairs() const {
    const Share given = share_of(options.pairs.share);
    if (given.seconds < kLeastPairsS || given.trials < kTasksOfPair * kLeastTrials) return false;
    const compile::Options& c = options.compile;
    return options.pairs.on && !pairs_decided && !layouts_decided && has_stages() && c.fuse &&
           !c.row_major && !c.plan.pairs.decided() &&
           std::any_of(models.begin(), models.end(),
                       [](const Model& m) { return may_have_pairs(*m.graph); });
  }

  std::vector<PairNetworks> pair_networks() const {
    std::vector<PairNetworks> out(models.size());
    for (size_t m = 0; m < models.size(); ++m) {
      if (!may_have_pairs(*models[m].graph)) continue;
      plan::NetworkPlan all = first_plan();
      all.pairs = {{{"*", ""}}, plan::From::kGiven};
      out[m] = {network(m, first_plan()), network(m, all)};
    }
    return out;
  }

  // Joins the contest where there is a pair to try. Layouts come after it: joined calls are other operators.
  void open_pairs() {
    PairOptions o = options.pairs;
    o.trials = pair_trials();
    if (searches_pairs()) {
      pair_search = std::make_unique<PairSearch>(pair_networks(), options.tuner, o, measurer, &db,
                                                 run, [this](const events::Event& e) { tell(e); });
    }
    if (pair_search == nullptr || pair_search->pairs() == 0) return open_layouts();
    const auto used = used_up(*pair_search, o.share, kTasksOfPair * o.trials);
    contest->add({.name = "pairs",
                  .hope_s = kHopeOfPairs * network_s(),
                  .step =
                      [this, used](const Stop& stop) {
                        return pair_search->step([&] { return (stop && stop()) || used(); });
                      },
                  .gained_s = [this] { return pair_search->gained_s(); },
                  .used_up = used,
                  .decide =
                      [this] {
                        decide_pairs(pair_search->chosen());
                        open_layouts();
                      }});
  }

  void decide_pairs(const std::vector<plan::CallDecisions>& chosen) {
    pairs_decided = true;
    trials_left.clear();
    for (size_t m = 0; m < models.size(); ++m) plans[m].pairs = chosen[m];
    tell(plan_decided("pairs", models, plans));
    if (!all_empty(chosen)) tune_anew();
  }

  // Of every layout's loops: fewer where trials are few, so that several layouts fit into the stage's share.
  int64_t layout_trials() const {
    const LayoutOptions& o = options.layouts;
    if (options.tuner.trials <= 0) return o.trials;
    return std::min(o.trials, static_cast<int64_t>(share_of(o.share).trials) / kLeastLayouts);
  }

  // A few layouts must fit into the stage's share, or loops alone are the better use of it.
  bool searches_layouts() const {
    const LayoutOptions& o = options.layouts;
    if (layout_trials() < kLeastTrials) return false;
    if (share_of(o.share).seconds < kLeastStageS) return false;
    return o.on() && !layouts_decided && has_stages();
  }

  void open_layouts() {
    if (!searches_layouts()) return;
    LayoutOptions o = options.layouts;
    o.accuracy = options.compile.accuracy;
    o.trials = layout_trials();
    layout_search =
        std::make_unique<LayoutSearch>(tasks, specs, options.tuner, o, measurer, &db, run,
                                       [this](const events::Event& e) { tell(e); });
    const auto used = used_up(*layout_search, o.share, o.trials);
    contest->add({.name = "layouts",
                  .hope_s = kHopeOfLayouts * network_s(),
                  .step =
                      [this, used](const Stop& stop) {
                        return layout_search->step([&] { return (stop && stop()) || used(); });
                      },
                  .gained_s = [this] { return layout_search->gained_s(); },
                  .used_up = used,
                  .decide =
                      [this] {
                        layout_search->keep_learned();
                        decide(layout_search->layout_times(), halted);
                      }});
  }

  void decide(const plan::LayoutTimes& layout_times, const std::function<bool()>& stop) {
    std::vector<DecideWithTimes> decide;
    for (size_t m = 0; m < models.size(); ++m) {
      decide.push_back([this, m](const plan::LayoutTimes& t) {
        plan::NetworkPlan free = plans[m];
        free.layouts = {};
        return network(m, free, t);
      });
    }
    const std::vector<plan::CallDecisions> chosen =
        decide_layouts(layout_times, decide, options.tuner, measurer, &db, run, stop);
    layouts_decided = true;
    trials_left.clear();
    for (size_t m = 0; m < models.size(); ++m) take_layouts(m, chosen[m]);
    tell(plan_decided("layouts", models, plans));
    if (!all_empty(chosen)) tune_anew();
  }

  double rounds_end() const {
    if (options.budget_s <= 0) return INFINITY;
    const double reserve = std::clamp(kReserve * options.budget_s, kLeastReserveS, kMostReserveS);
    return options.budget_s - std::min(reserve, options.budget_s / 2);
  }

  // Of all networks, as far as it is known.
  double network_s() const {
    double sum = 0;
    const auto& results = tuner->results();
    for (const ModelSpec& m : specs) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (std::isfinite(results[i].best_s)) sum += m.weights[i] * results[i].best_s;
      }
    }
    return sum;
  }

  bool defaults_known() const {
    return std::all_of(tuner->results().begin(), tuner->results().end(),
                       [](const TaskResult& r) { return r.start_s > 0; });
  }

  bool step_loops(const Stop& stop) {
    tuner->set_trials(trials_of_loops());
    const double before = defaults_known() ? network_s() : INFINITY;
    const bool more = tuner->step(stop);
    if (std::isfinite(before)) loops_gained_s += std::max(0.0, before - network_s());
    renew(false);
    return more;
  }

  // The loops begin, so that what the others may gain is known; then all share what is left.
  void share_budget(const Stop& halt) {
    contest = std::make_unique<Contest>([this] { return watch.now(); });
    while (!halt() && !defaults_known()) {
      if (!step_loops(halt)) break;
    }
    contest->add({.name = "loops",
                  .hope_s = kHopeOfLoops * network_s(),
                  .step = [this](const Stop& stop) { return step_loops(stop); },
                  .gained_s = [this] { return loops_gained_s; },
                  .leave = [this] { tuner->settle(); }});
    open_pairs();
    contest->run(halt);
  }

  // Why the rounds ended.
  std::string rounds(const std::function<bool()>& stop) {
    const measure::KeepTo here(measurer.spare_cpus());
    const double end = rounds_end(), decide_by = spent() + kDecideBy * (end - spent());
    const auto interrupted = [&] { return stop && stop(); };
    halted = [&] { return interrupted() || spent() >= end; };
    share_budget([&] { return interrupted() || spent() >= decide_by; });
    if (!interrupted()) {
      tuner->settle();
      contest->decide_all();
      contest->run(halted);
    }
    if (interrupted()) return "interrupted";
    if (spent() >= end) return "budget";
    const int64_t trials = options.tuner.trials;
    return trials > 0 && measured_in_run() >= trials ? "trials" : "exhausted";
  }

  void save_model() const {
    if (options.save_cost_model.empty()) return;
    files::write_file(options.save_cost_model, options.tuner.model->model().save());
  }

  Summary finish(const std::string& reason, const std::function<bool()>& stop) {
    Summary s;
    s.run = run;
    s.reason = reason;
    tuner->settle();
    s.measured = measured_in_run();  // finals measure again
    if (reason != "interrupted") {
      tuner->finals(kFinalsS, stop);
      renew(true);
      for (size_t m = 0; m < models.size(); ++m) {
        s.models.push_back(judge(m));
        s.models.back().refused = refused_in(m);
      }
      tell(plan_decided("programs", models, built));
      if (stop && stop()) s.reason = "interrupted";
    } else {
      renew(true);
    }
    s.tasks = tuner->results();
    s.failed = tuner->failed();
    s.reasons = tuner->reasons();
    s.seconds = tuner->seconds();
    for (const auto& [part, t] : watch.seconds()) s.seconds[part] += t;
    if (contest != nullptr) s.kinds = contest->kinds();
    s.spent_s = spent();
    tell(run_ended(s));
    if (s.reason != "interrupted") db.end_run(run);
    save_model();
    if (s.reason != "interrupted") s.history = renew_history();
    return s;
  }
};

Session::Session(std::vector<Model> models, SessionOptions options, measure::Measurer& measurer,
                 measure::NetworkTimer& timer, db::Database& db, Forward forward)
    : impl_(std::make_unique<Impl>(std::move(models), std::move(options), measurer, timer, db,
                                   std::move(forward))) {}
Session::~Session() = default;

Summary Session::run(const std::function<bool()>& stop) {
  impl_->begin();
  const std::string reason = impl_->rounds(stop);
  return impl_->finish(reason, stop);
}

}  // namespace tenon::tune
