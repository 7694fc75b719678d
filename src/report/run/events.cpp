// SPDX-License-Identifier: Apache-2.0
#include "report/run/events.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "events/events.h"

namespace tenon::report {
namespace {

// A curve has a point where its value changes.
void add_point(std::vector<Point>& curve, const Point& p) {
  if (curve.empty() || curve.back().s != p.s) curve.push_back(p);
}

class Reader {
 public:
  Told take() {
    close_part();
    count_transplants();
    return std::move(told_);
  }

  void read(const db::EventRow& row) {
    ++row_;
    const events::Parsed parsed = events::parse(row.json);
    if (!parsed.event || !std::isfinite(row.at_s)) {
      told_.story.unreadable.push_back(row_);
      return;
    }
    at_s_ = row.at_s;
    told_.story.spent_s = std::max(told_.story.spent_s, at_s_);
    just_decided_ &= std::holds_alternative<events::RunStarted>(*parsed.event);
    std::visit([&](const auto& e) { take_event(e); }, *parsed.event);
  }

 private:
  RunStory& story() { return told_.story; }

  TaskStory& task(const std::string& key) {
    for (TaskStory& t : story().tasks) {
      if (t.key == key) return t;
    }
    story().tasks.emplace_back().key = key;
    return story().tasks.back();
  }
  TaskNotes& notes(const std::string& key) { return told_.notes[key]; }

  ModelStory& model(const std::string& name) {
    for (ModelStory& m : story().models) {
      if (m.name == name) return m;
    }
    story().models.emplace_back().name = name;
    return story().models.back();
  }

  // Each start of the run times its own parts; what its end says counts, or its rounds if it was cut off.
  void close_part() {
    for (const auto& [name, s] : part_) {
      auto& all = story().seconds;
      const auto it =
          std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.first == name; });
      if (it == all.end()) {
        all.emplace_back(name, s);
      } else {
        it->second += s;
      }
    }
    part_.clear();
  }

  // Told at each start, and again when pairs or layouts were chosen: the network then has other tasks.
  void take_event(const events::RunStarted& e) {
    RunStory& r = story();
    if (!std::exchange(just_decided_, false)) {
      close_part();
      ++r.parts;
    }
    r.reason.clear();
    r.budget_s = e.budget_s;
    r.trials_limit = e.trials;
    r.target = e.target;
    r.protocol = e.protocol;
    r.seed = e.seed;
    r.space = e.space;
    r.strategy = e.strategy;
    r.cost_model = e.cost_model;
    for (const std::string& d : e.disturbed) {
      if (std::find(r.disturbed.begin(), r.disturbed.end(), d) == r.disturbed.end()) {
        r.disturbed.push_back(d);
      }
    }
    if (r.parts == 1) r.measured_before = e.measured_before;
    for (const events::ModelNamed& m : e.models) model(m.name).directory = m.directory;
    for (TaskStory& t : r.tasks) t.calls.clear();
    for (const events::TaskNamed& t : e.tasks) {
      TaskStory& s = task(t.key);
      s.label = t.label;
      s.origin = t.origin;
      s.flops = t.flops;
      s.calls = t.calls;
      s.nodes = t.nodes;
    }
  }

  void take_event(const events::HistoryUsed& e) { story().history = e; }

  void take_event(const events::DefaultTimed& e) {
    TaskStory& t = task(e.task);
    t.default_s = e.s;
    t.default_outcome = e.outcome;
    if (!e.trace.empty()) notes(e.task).start_trace = e.trace;
    if (!t.default_s) return;
    if (!t.best_s) t.best_s = t.default_s;
    if (t.best.empty()) add_point(t.best, {at_s_, 0, *t.default_s});
  }

  void take_event(const events::ArtifactWritten&) {
    if (!story().first_artifact_s) story().first_artifact_s = at_s_;
  }

  void take_event(const events::RoundDone& e) {
    RunStory& r = story();
    TaskStory& t = task(e.task);
    TaskNotes& n = notes(e.task);
    ++r.rounds;
    r.measured = std::max(r.measured, e.measured);
    r.failed = std::max(r.failed, e.failed);
    n.tried += e.tried;
    for (const auto& [kind, count] : e.failures) n.failures[kind] += count;
    if (e.default_s) t.default_s = e.default_s;
    if (e.best_s) {
      t.best_s = e.best_s;
      add_point(t.best, {at_s_, n.tried, *e.best_s});
    }
    take_estimates(e);
    for (const auto& [part, s] : e.seconds) part_[part] += s;
    if (e.ranking) {
      r.ranking.push_back({r.rounds, e.ranking->pairwise, e.ranking->recall, e.ranking->top,
                           e.ranking->k, e.ranking->samples});
    }
  }

  void take_event(const events::Counted& e) {
    story().measured = std::max(story().measured, e.measured);
    story().failed = std::max(story().failed, e.failed);
  }

  void take_estimates(const events::RoundDone& e) {
    for (size_t i = 0; i < story().models.size(); ++i) {
      ModelStory& m = story().models[i];
      if (i < e.default_estimate_s.size() && e.default_estimate_s[i]) {
        m.default_estimate_s = e.default_estimate_s[i];
      }
      if (i < e.estimate_s.size() && e.estimate_s[i]) {
        add_point(m.estimate, {at_s_, e.measured, *e.estimate_s[i]});
      }
    }
  }

  void take_event(const events::NewBest& e) {
    TaskStory& t = task(e.task);
    t.best_s = e.s;
    t.tuned = true;
    if (e.default_s) t.default_s = e.default_s;
    notes(e.task).best_trace = e.trace;
  }

  void take_event(const events::Transplanted& e) {
    story().transplants.tried += e.tried;
    transplanted_from_.insert(e.from.begin(), e.from.end());
    notes(e.task).transplanted.insert(e.trace);
  }
  void count_transplants() {
    TransplantStory& t = story().transplants;
    t.from = std::ssize(transplanted_from_);
    for (const auto& [key, n] : told_.notes) {
      t.tasks += n.transplanted.empty() ? 0 : 1;
      t.kept += n.kept != "default" && n.transplanted.contains(n.best_trace) ? 1 : 0;
    }
  }

  void take_event(const events::FoundWrong& e) {
    told_.wrong.push_back({"wrong", 1, e.task, "", e.why, e.trace, ""});
  }
  void take_event(const events::Undecided& e) {
    told_.undecided.push_back({"undecided", 1, e.task, "", e.why, e.trace, ""});
  }
  void take_event(const events::Fault& e) {
    told_.faults.push_back({"fault", 1, e.task, "", e.what, "", ""});
  }
  // Each part of a run tells them again.
  void take_event(const events::Refused& e) {
    if (e.records == 0) {
      told_.left_out.push_back({"programs left out", 0, e.task, "", e.why, "", ""});
      return;
    }
    std::erase_if(told_.refused, [&](const Failure& f) { return f.task == e.task; });
    told_.refused.push_back({"records left out", e.records, e.task, "", e.why, "", ""});
  }
  void take_event(const events::Skipped&) {}
  void take_event(const events::Unknown&) {}

  void take_event(const events::Finals& e) {
    TaskStory& t = task(e.task);
    if (e.default_s) t.default_s = e.default_s;
    TaskNotes& n = notes(e.task);
    n.kept = e.kept;
    if (const Seconds s = n.kept == "default" ? t.default_s : e.best_s) {
      t.best_s = s;
      add_point(t.best, {at_s_, n.tried, *s});
    }
    if (!e.trace.empty()) n.best_trace = e.trace;
    renew_estimates();
  }

  // Finals time defaults and bests again, so the sums over tasks change with them.
  void renew_estimates() {
    for (size_t i = 0; i < story().models.size(); ++i) {
      double now = 0;
      double before = 0;
      for (const TaskStory& t : story().tasks) {
        const double calls = i < t.calls.size() ? t.calls[i] : 0;
        if (calls == 0) continue;
        if (!t.best_s || !t.default_s) return;
        now += calls * *t.best_s;
        before += calls * *t.default_s;
      }
      if (now == 0) continue;
      story().models[i].default_estimate_s = before;
      add_point(story().models[i].estimate, {at_s_, story().measured, now});
    }
  }

  // A run that went on in the middle tells it again.
  void take_event(const events::PairTried& e) {
    auto& all = story().pairs;
    std::erase_if(all, [&](const PairTry& p) { return p.task == e.task; });
    all.push_back({e.task, e.label, e.calls, e.s, e.apart_s, e.taken});
  }

  void take_event(const events::PairsChosen& e) {
    just_decided_ = true;
    for (const auto& [name, calls] : e.models) model(name).pairs = calls;
  }

  void take_event(const events::LayoutTried& e) {
    auto& all = story().layouts;
    auto it = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.task == e.task; });
    if (it == all.end()) {
      it = all.emplace(all.end());
      it->task = e.task;
    }
    it->label = e.label;
    if (e.default_s) it->default_s = e.default_s;
    LayoutTry t;
    t.point = e.point;
    t.edges = e.edges;
    t.s = e.s;
    it->tries.push_back(std::move(t));
  }

  void take_event(const events::LayoutsChosen& e) {
    story().layouts_decided = true;
    just_decided_ = true;
    for (const auto& [name, calls] : e.models) model(name).layouts = calls;
  }

  void take_event(const events::PlanDecided& e) {
    events::PairsChosen of_pairs;
    events::LayoutsChosen of_layouts;
    for (const auto& [name, plan] : e.models) {
      auto& pairs = of_pairs.models[name];
      for (const auto& [call, first] : plan.pairs) pairs.push_back(call);
      of_layouts.models[name] = plan.layouts;
    }
    if (e.decided == "pairs") take_event(of_pairs);
    if (e.decided == "layouts") take_event(of_layouts);
  }

  void take_event(const events::NetworkCompared& e) {
    model(e.model).network = {.default_s = e.default_s,
                              .tuned_s = e.tuned_s,
                              .ratio = e.ratio,
                              .low = e.low,
                              .high = e.high,
                              .difference = e.difference,
                              .kept = e.kept,
                              .tuned = e.tuned,
                              .tasks = e.tasks};
  }

  void take_event(const events::RunEnded& e) {
    RunStory& r = story();
    r.reason = e.reason;
    r.measured = std::max(r.measured, e.measured);
    r.failed = std::max(r.failed, e.failed);
    r.again = e.again;
    r.spent_s = std::max(r.spent_s, e.spent_s);
    for (const auto& [part, s] : e.seconds) part_[part] = std::max(part_[part], s);
    // Each part of a run tells what it spent itself.
    for (const auto& [kind, s] : e.spent_on) r.kinds[kind].spent_s += s;
    for (const auto& [kind, s] : e.gained_by) r.kinds[kind].gained_s += s;
  }

  std::set<std::string> transplanted_from_;  // keys
  Told told_;
  size_t row_ = 0;
  double at_s_ = 0;
  bool just_decided_ = false;  // the last event chose pairs or layouts
  std::map<std::string, double> part_;
};

}  // namespace

Told read_events(const std::vector<db::EventRow>& events) {
  Reader reader;
  for (const db::EventRow& e : events) reader.read(e);
  return reader.take();
}

}  // namespace tenon::report
