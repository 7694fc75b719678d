// SPDX-License-Identifier: Apache-2.0
#include "report/run/events.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace tenon::report {
namespace {

using Json = nlohmann::json;

std::optional<double> number(const Json& j, const char* name) {
  const auto it = j.find(name);
  if (it == j.end() || !it->is_number() || !std::isfinite(it->get<double>())) return std::nullopt;
  return it->get<double>();
}

// A time that is not above zero was not taken.
Seconds time_of(const Json& j, const char* name) {
  const auto s = number(j, name);
  return s && *s > 0 ? s : std::nullopt;
}

int64_t integer(const Json& j, const char* name) {
  constexpr double kMost = 9e18;
  return static_cast<int64_t>(std::clamp(number(j, name).value_or(0), -kMost, kMost));
}

std::string text(const Json& j, const char* name) {
  const auto it = j.find(name);
  return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}

Json list(const Json& j, const char* name) {
  const auto it = j.find(name);
  return it != j.end() && it->is_array() ? *it : Json::array();
}

Json object(const Json& j, const char* name) {
  const auto it = j.find(name);
  return it != j.end() && it->is_object() ? *it : Json::object();
}

// A curve has a point where its value changes.
void add_point(std::vector<Point>& curve, const Point& p) {
  if (curve.empty() || curve.back().s != p.s) curve.push_back(p);
}

class Reader {
 public:
  Told take() {
    close_part();
    return std::move(told_);
  }

  void read(const db::EventRow& row) {
    ++row_;
    const Json j = Json::parse(row.json, nullptr, false);
    if (!j.is_object() || !std::isfinite(row.at_s)) {
      told_.story.unreadable.push_back(row_);
      return;
    }
    at_s_ = row.at_s;
    told_.story.spent_s = std::max(told_.story.spent_s, at_s_);
    struct Row {
      const char* name;
      void (Reader::*read)(const Json&);
    };
    static constexpr Row kRows[] = {
        {"run", &Reader::run},     {"default", &Reader::start}, {"artifact", &Reader::artifact},
        {"round", &Reader::round}, {"best", &Reader::best},     {"wrong", &Reader::wrong},
        {"fault", &Reader::fault}, {"finals", &Reader::finals}, {"network", &Reader::network},
        {"end", &Reader::end},     {"layout", &Reader::layout}, {"layouts", &Reader::layouts},
        {"pair", &Reader::pair},   {"pairs", &Reader::pairs},
    };
    const std::string name = text(j, "event");
    just_decided_ &= name == "run";
    for (const Row& r : kRows) {
      if (name == r.name) (this->*r.read)(j);
    }
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
  TaskStory& task(const Json& j) { return task(text(j, "task")); }
  TaskNotes& notes(const Json& j) { return told_.notes[text(j, "task")]; }

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
  void run(const Json& j) {
    RunStory& r = story();
    if (!std::exchange(just_decided_, false)) {
      close_part();
      ++r.parts;
    }
    r.reason.clear();
    r.budget_s = number(j, "budget_s").value_or(0);
    r.trials_limit = integer(j, "trials");
    r.target = text(j, "target");
    r.protocol = text(j, "protocol");
    r.seed = static_cast<uint64_t>(std::max<int64_t>(0, integer(j, "seed")));
    r.space = text(j, "space");
    r.strategy = text(j, "strategy");
    r.cost_model = text(j, "cost_model");
    if (r.parts == 1) r.measured_before = integer(j, "measured_before");
    for (const Json& m : list(j, "models")) model(text(m, "name")).directory = text(m, "directory");
    for (TaskStory& t : r.tasks) t.calls.clear();
    for (const Json& t : list(j, "tasks")) {
      TaskStory& s = task(text(t, "key"));
      s.label = text(t, "label");
      s.origin = text(t, "origin");
      s.flops = number(t, "flops").value_or(0);
      s.calls.clear();
      for (const Json& c : list(t, "calls")) s.calls.push_back(c.is_number() ? c.get<double>() : 0);
    }
  }

  void start(const Json& j) {
    TaskStory& t = task(j);
    t.default_s = time_of(j, "s");
    t.default_outcome = text(j, "outcome");
    if (!text(j, "trace").empty()) notes(j).start_trace = text(j, "trace");
    if (!t.default_s) return;
    if (!t.best_s) t.best_s = t.default_s;
    if (t.best.empty()) add_point(t.best, {at_s_, 0, *t.default_s});
  }

  void artifact(const Json&) {
    if (!story().first_artifact_s) story().first_artifact_s = at_s_;
  }

  void round(const Json& j) {
    RunStory& r = story();
    TaskStory& t = task(j);
    TaskNotes& n = notes(j);
    ++r.rounds;
    r.measured = std::max(r.measured, integer(j, "measured"));
    r.failed = std::max(r.failed, integer(j, "failed"));
    n.tried += integer(j, "tried");
    const Json failures = object(j, "failures");
    for (const auto& [kind, count] : failures.items()) {
      if (count.is_number()) n.failures[kind] += count.get<int64_t>();
    }
    if (const Seconds s = time_of(j, "default_s")) t.default_s = s;
    if (const Seconds s = time_of(j, "best_s")) {
      t.best_s = s;
      add_point(t.best, {at_s_, n.tried, *s});
    }
    estimates(j);
    const Json seconds = object(j, "seconds");
    for (const auto& [part, s] : seconds.items()) {
      if (s.is_number()) part_[part] += s.get<double>();
    }
    const Json q = object(j, "ranking");
    if (!q.empty()) {
      r.ranking.push_back({r.rounds, number(q, "pairwise").value_or(0),
                           number(q, "recall").value_or(0), number(q, "top").value_or(0),
                           integer(q, "k"), integer(q, "samples")});
    }
  }

  void estimates(const Json& j) {
    const Json now = list(j, "estimate_s");
    const Json before = list(j, "default_estimate_s");
    for (size_t i = 0; i < story().models.size(); ++i) {
      ModelStory& m = story().models[i];
      if (i < before.size() && before[i].is_number())
        m.default_estimate_s = before[i].get<double>();
      if (i < now.size() && now[i].is_number()) {
        add_point(m.estimate, {at_s_, integer(j, "measured"), now[i].get<double>()});
      }
    }
  }

  void best(const Json& j) {
    TaskStory& t = task(j);
    t.best_s = time_of(j, "s");
    t.tuned = true;
    if (const Seconds s = time_of(j, "default_s")) t.default_s = s;
    notes(j).best_trace = text(j, "trace");
  }

  void wrong(const Json& j) {
    told_.wrong.push_back({"wrong", 1, text(j, "task"), "", text(j, "why"), text(j, "trace"), ""});
  }
  void fault(const Json& j) {
    told_.faults.push_back({"fault", 1, text(j, "task"), "", text(j, "what"), "", ""});
  }

  void finals(const Json& j) {
    TaskStory& t = task(j);
    if (const Seconds s = time_of(j, "default_s")) t.default_s = s;
    TaskNotes& n = notes(j);
    n.kept = text(j, "kept");
    if (const Seconds s = n.kept == "default" ? t.default_s : time_of(j, "best_s")) {
      t.best_s = s;
      add_point(t.best, {at_s_, n.tried, *s});
    }
    if (!text(j, "trace").empty()) n.best_trace = text(j, "trace");
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
  void pair(const Json& j) {
    auto& all = story().pairs;
    std::erase_if(all, [&](const PairTry& p) { return p.task == text(j, "task"); });
    PairTry p;
    p.task = text(j, "task");
    p.label = text(j, "label");
    p.calls = integer(j, "calls");
    p.s = time_of(j, "s");
    p.apart_s = time_of(j, "apart_s");
    p.taken = j.value("taken", Json()) == true;
    all.push_back(std::move(p));
  }

  void pairs(const Json& j) {
    just_decided_ = true;
    const Json models = object(j, "models");
    for (const auto& [name, calls] : models.items()) {
      auto& chosen = model(name).pairs;
      chosen.clear();
      if (!calls.is_array()) continue;
      for (const Json& call : calls) {
        if (call.is_string()) chosen.push_back(call.get<std::string>());
      }
    }
  }

  void layout(const Json& j) {
    const std::string key = text(j, "task");
    auto& all = story().layouts;
    auto it = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.task == key; });
    if (it == all.end()) {
      it = all.emplace(all.end());
      it->task = key;
    }
    it->label = text(j, "label");
    if (const Seconds s = time_of(j, "default_s")) it->default_s = s;
    LayoutTry t;
    t.point = text(j, "point");
    t.edges = text(j, "edges");
    t.s = time_of(j, "s");
    it->tries.push_back(std::move(t));
  }

  void layouts(const Json& j) {
    story().layouts_decided = true;
    just_decided_ = true;
    const Json models = object(j, "models");
    for (const auto& [name, calls] : models.items()) {
      auto& chosen = model(name).layouts;
      chosen.clear();
      if (!calls.is_object()) continue;
      for (const auto& [call, edges] : calls.items()) {
        if (edges.is_string()) chosen[call] = edges.get<std::string>();
      }
    }
  }

  void network(const Json& j) {
    NetworkResult n;
    n.default_s = time_of(j, "default_s");
    n.tuned_s = time_of(j, "tuned_s");
    n.ratio = time_of(j, "ratio");
    n.low = time_of(j, "low");
    n.high = time_of(j, "high");
    n.difference = number(j, "difference").value_or(0);
    n.kept = text(j, "kept");
    n.tuned = integer(j, "tuned");
    n.tasks = integer(j, "tasks");
    model(text(j, "model")).network = n;
  }

  void end(const Json& j) {
    RunStory& r = story();
    r.reason = text(j, "reason");
    r.measured = std::max(r.measured, integer(j, "measured"));
    r.failed = std::max(r.failed, integer(j, "failed"));
    r.spent_s = std::max(r.spent_s, number(j, "spent_s").value_or(0));
    const Json seconds = object(j, "seconds");
    for (const auto& [part, s] : seconds.items()) {
      if (s.is_number()) part_[part] = std::max(part_[part], s.get<double>());
    }
  }

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
