// SPDX-License-Identifier: Apache-2.0
// Each event has one list of fields, which a writer and a reader go through in turn.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "events/events.h"

namespace tenon::events {
namespace {

using Json = nlohmann::ordered_json;

// ---- names and fields ------------------------------------------------------------------------------------------

constexpr const char* name_of(const RunStarted&) { return "run"; }
constexpr const char* name_of(const HistoryUsed&) { return "history"; }
constexpr const char* name_of(const PairTried&) { return "pair"; }
constexpr const char* name_of(const PairsChosen&) { return "pairs"; }
constexpr const char* name_of(const LayoutTried&) { return "layout"; }
constexpr const char* name_of(const LayoutsChosen&) { return "layouts"; }
constexpr const char* name_of(const PlanDecided&) { return "plan"; }
constexpr const char* name_of(const DefaultTimed&) { return "default"; }
constexpr const char* name_of(const ArtifactWritten&) { return "artifact"; }
constexpr const char* name_of(const RoundDone&) { return "round"; }
constexpr const char* name_of(const NewBest&) { return "best"; }
constexpr const char* name_of(const Transplanted&) { return "transplanted"; }
constexpr const char* name_of(const FoundWrong&) { return "wrong"; }
constexpr const char* name_of(const Undecided&) { return "undecided"; }
constexpr const char* name_of(const Refused&) { return "refused"; }
constexpr const char* name_of(const Fault&) { return "fault"; }
constexpr const char* name_of(const Finals&) { return "finals"; }
constexpr const char* name_of(const NetworkCompared&) { return "network"; }
constexpr const char* name_of(const Skipped&) { return "skipped"; }
constexpr const char* name_of(const RunEnded&) { return "end"; }
const char* name_of(const Unknown& e) { return e.name.c_str(); }

template <class F>
void fields(F& f, ModelNamed& e) {
  f("name", e.name);
  f("directory", e.directory);
}
template <class F>
void fields(F& f, TaskNamed& e) {
  f("key", e.key);
  f("label", e.label);
  f("calls", e.calls);
  f("flops", e.flops);
  f("origin", e.origin);
}
template <class F>
void fields(F& f, RunStarted& e) {
  f("run", e.run);
  f("command", e.command);
  f("models", e.models);
  f("tasks", e.tasks);
  f("budget_s", e.budget_s);
  f("trials", e.trials);
  f("target", e.target);
  f("protocol", e.protocol);
  f("seed", e.seed);
  f("space", e.space);
  f("strategy", e.strategy);
  f("cost_model", e.cost_model);
  f("measured_before", e.measured_before);
  f("spent_before_s", e.spent_before_s);
}
template <class F>
void fields(F& f, HistoryUsed& e) {
  f("from", e.from);
  f("records", e.records);
  f("tasks", e.tasks);
  f("trained_at", e.trained_at);
  f("top1", e.top1);
  f("top5", e.top5);
  f("pairwise", e.pairwise);
  f("held_out", e.held_out);
  f("notes", e.notes);
}
template <class F>
void fields(F& f, PairTried& e) {
  f("task", e.task);
  f("label", e.label);
  f("first", e.first);
  f("second", e.second);
  f("calls", e.calls);
  f("s", e.s);
  f("apart_s", e.apart_s);
  f("taken", e.taken);
}
template <class F>
void fields(F& f, PairsChosen& e) {
  f.decision("models", e.models, "it does not say which pairs each model has");
}
template <class F>
void fields(F& f, LayoutTried& e) {
  f("task", e.task);
  f("label", e.label);
  f("point", e.point);
  f("edges", e.edges);
  f("s", e.s);
  f("default_s", e.default_s);
  f("best_s", e.best_s);
  f("tried", e.tried);
}
template <class F>
void fields(F& f, LayoutsChosen& e) {
  f.decision("models", e.models, "it does not say which layouts each model has");
}
template <class F>
void fields(F& f, PlanDecided& e) {
  f("decided", e.decided);
  f.decision("models", e.models, "it does not say what is planned for each model");
}
template <class F>
void fields(F& f, DefaultTimed& e) {
  f("task", e.task);
  f("s", e.s);
  f("outcome", e.outcome);
  f("trace", e.trace);
}
template <class F>
void fields(F& f, ArtifactWritten& e) {
  f("model", e.model);
  f("directory", e.directory);
  f("tuned", e.tuned);
  f("seconds", e.seconds);
}
template <class F>
void fields(F& f, Ranking& e) {
  f("pairwise", e.pairwise);
  f("recall", e.recall);
  f("top", e.top);
  f("k", e.k);
  f("samples", e.samples);
}
template <class F>
void fields(F& f, RoundDone& e) {
  f("round", e.round);
  f("task", e.task);
  f("tried", e.tried);
  f("ok", e.ok);
  f("failures", e.failures);
  f("best_s", e.best_s);
  f("default_s", e.default_s);
  f("measured", e.measured);
  f("failed", e.failed);
  f("estimate_s", e.estimate_s);
  f("default_estimate_s", e.default_estimate_s);
  f("ranking", e.ranking);
  f("seconds", e.seconds);
}
template <class F>
void fields(F& f, NewBest& e) {
  f("task", e.task);
  f("s", e.s);
  f("was_s", e.was_s);
  f("default_s", e.default_s);
  f("trace", e.trace);
}
template <class F>
void fields(F& f, Transplanted& e) {
  f("task", e.task);
  f("tried", e.tried);
  f("ok", e.ok);
  f("from", e.from);
  f("s", e.s);
  f("best_s", e.best_s);
  f("trace", e.trace);
}
template <class F>
void fields(F& f, FoundWrong& e) {
  f("task", e.task);
  f("why", e.why);
  f("trace", e.trace);
}
template <class F>
void fields(F& f, Undecided& e) {
  f("task", e.task);
  f("why", e.why);
  f("trace", e.trace);
}
template <class F>
void fields(F& f, Refused& e) {
  f("task", e.task);
  f("records", e.records);
  f("why", e.why);
}
template <class F>
void fields(F& f, Fault& e) {
  f("task", e.task);
  f("what", e.what);
}
template <class F>
void fields(F& f, Finals& e) {
  f("task", e.task);
  f("default_s", e.default_s);
  f("best_s", e.best_s);
  f("kept", e.kept);
  f("trace", e.trace);
}
template <class F>
void fields(F& f, NetworkCompared& e) {
  f("model", e.model);
  f("default_s", e.default_s);
  f("tuned_s", e.tuned_s);
  f("ratio", e.ratio);
  f("low", e.low);
  f("high", e.high);
  f("difference", e.difference);
  f("kept", e.kept);
  f("tuned", e.tuned);
  f("tasks", e.tasks);
}
template <class F>
void fields(F& f, Skipped& e) {
  f("row", e.row);
  f("why", e.why);
}
template <class F>
void fields(F& f, RunEnded& e) {
  f("reason", e.reason);
  f("measured", e.measured);
  f("failed", e.failed);
  f("spent_s", e.spent_s);
  f("seconds", e.seconds);
  f("spent_on", e.spent_on);
  f("gained_by", e.gained_by);
}
template <class F>
void fields(F&, Unknown&) {}

// ---- writing ---------------------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(Json& out) : out_(out) {}
  template <class T>
  void operator()(const char* name, T& v) {
    out_[name] = written(v);
  }
  template <class T>
  void decision(const char* name, T& v, const char*) {
    (*this)(name, v);
  }

 private:
  template <class T>
  static Json written(T& v) {
    if constexpr (std::is_constructible_v<Json, T&>) {
      return v;
    } else {
      Json j = Json::object();
      Writer w(j);
      fields(w, v);
      return j;
    }
  }
  static Json written(Seconds& v) {
    return v && std::isfinite(*v) && *v > 0 ? Json(*v) : Json(nullptr);
  }
  static Json written(PlanOf& v) { return Json::parse(v.text); }
  static Json written(std::optional<Ranking>& v) { return v ? written(*v) : Json(nullptr); }
  template <class T>
  static Json written(std::vector<T>& v) {
    Json j = Json::array();
    for (T& one : v) j.push_back(written(one));
    return j;
  }
  template <class T>
  static Json written(std::map<std::string, T>& v) {
    Json j = Json::object();
    for (auto& [name, one] : v) j[name] = written(one);
    return j;
  }

  Json& out_;
};

// ---- reading ---------------------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(const Json& in, std::string& why) : in_(in), why_(why) {}
  template <class T>
  void operator()(const char* name, T& v) {
    const auto it = in_.find(name);
    if (it != in_.end()) read(*it, v);
  }
  template <class T>
  void decision(const char* name, T& v, const char* otherwise) {
    const auto it = in_.find(name);
    if (it == in_.end() || !read(*it, v)) why_ = otherwise;
  }

 private:
  // False: it is of another kind, in whole or in part; what can be read is.
  static bool read(const Json& j, std::string& v) {
    if (j.is_string()) v = j.get<std::string>();
    return j.is_string();
  }
  static bool read(const Json& j, bool& v) {
    v = j == true;
    return j.is_boolean();
  }
  static bool read(const Json& j, double& v) {
    const bool ok = j.is_number() && std::isfinite(j.get<double>());
    if (ok) v = j.get<double>();
    return ok;
  }
  static bool read(const Json& j, Seconds& v) {
    double s = 0;
    if (read(j, s) && s > 0) v = s;
    return true;
  }
  static bool read(const Json& j, int64_t& v) {
    if (j.is_number_integer() && !j.is_number_unsigned()) {
      v = j.get<int64_t>();
      return true;
    }
    constexpr double kMost = 9e18;
    double d = 0;
    if (!read(j, d)) return false;
    v = static_cast<int64_t>(std::clamp(d, -kMost, kMost));
    return true;
  }
  static bool read(const Json& j, uint64_t& v) {
    if (j.is_number_unsigned()) v = j.get<uint64_t>();
    return j.is_number_unsigned();
  }
  bool read(const Json& j, PlanOf& v) {
    if (!j.is_object()) return false;
    v.text = j.dump();
    const auto calls = [&](const char* part, std::map<std::string, std::string>& out) {
      const Json::json_pointer at(std::string("/") + part + "/calls");
      return !j.contains(at) || read(j.at(at), out);
    };
    return calls("pairs", v.pairs) && calls("layouts", v.layouts);
  }
  bool read(const Json& j, std::optional<Ranking>& v) {
    if (!j.is_object() || j.empty()) return false;
    return read(j, v.emplace());
  }
  template <class T>
  bool read(const Json& j, std::vector<T>& v) {
    if (!j.is_array()) return false;
    bool all = true;
    for (const Json& one : j) {
      T element = {};
      const bool read_it = read(one, element);
      // Numbers stand for models by their place; names do not.
      if (read_it || !std::is_same_v<T, std::string>) v.push_back(std::move(element));
      all &= read_it;
    }
    return all;
  }
  template <class T>
  bool read(const Json& j, std::map<std::string, T>& v) {
    if (!j.is_object()) return false;
    bool all = true;
    for (const auto& [name, one] : j.items()) {
      T element = {};
      const bool read_it = read(one, element);
      if (read_it || !std::is_same_v<T, std::string>) v[name] = std::move(element);
      all &= read_it;
    }
    return all;
  }
  template <class T>
  bool read(const Json& j, T& v) {
    if (!j.is_object()) return false;
    Reader r(j, why_);
    fields(r, v);
    return true;
  }

  const Json& in_;
  std::string& why_;
};

template <size_t kIndex = 0>
Event event_named(const std::string& name) {
  if constexpr (kIndex + 1 == std::variant_size_v<Event>) {
    return Unknown{name};
  } else {
    std::variant_alternative_t<kIndex, Event> e;
    return name == name_of(e) ? Event(std::move(e)) : event_named<kIndex + 1>(name);
  }
}

}  // namespace

std::string to_json(const Event& e, std::optional<double> t) {
  Json j = Json::object();
  std::visit(
      [&](auto copy) {
        j["event"] = name_of(copy);
        Writer w(j);
        fields(w, copy);
      },
      e);
  if (t) j["t"] = *t;
  // What an error says may hold bytes of a candidate.
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Parsed parse(const std::string& json) {
  Parsed p;
  const Json j = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) return {.event = {}, .why = "it is no JSON", .t = {}};
  const auto name = j.is_object() ? j.find("event") : j.end();
  if (!j.is_object() || name == j.end() || !name->is_string()) {
    return {.event = {}, .why = "it is no object with the name of an event", .t = {}};
  }
  Event e = event_named(name->get<std::string>());
  Reader r(j, p.why);
  std::visit([&](auto& alternative) { fields(r, alternative); }, e);
  if (const auto t = j.find("t"); t != j.end() && t->is_number()) p.t = t->get<double>();
  p.event = std::move(e);
  return p;
}

}  // namespace tenon::events
