// SPDX-License-Identifier: Apache-2.0
#include "tune/events.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/check.h"

namespace tenon::tune {
namespace {

using Json = nlohmann::ordered_json;

Json number(double v) { return std::isfinite(v) && v > 0 ? Json(v) : Json(nullptr); }

// What an error says may hold bytes of a candidate.
std::string dump(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Of each model: the sum over its tasks; null while one of them has no time.
Json estimates(const std::vector<ModelSpec>& models, const std::vector<TaskResult>& results,
               double TaskResult::*which) {
  Json out = Json::array();
  for (const ModelSpec& m : models) {
    double sum = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      if (m.weights[i] == 0) continue;
      const double s = results[i].*which;
      sum += m.weights[i] * (s > 0 ? s : INFINITY);
    }
    out.push_back(number(sum));
  }
  return out;
}

// What the database holds may have been written by anything.
Json read_event(const std::string& json) {
  Json e = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (e.is_discarded()) throw UserError("it is no JSON");
  if (!e.is_object() || !e.contains("event") || !e["event"].is_string()) {
    throw UserError("it is no object with the name of an event");
  }
  return e;
}

// Of each model what an event of that name says of it; nothing if the event has another name.
template <class Choice>
std::optional<std::vector<Choice>> choices_of(const std::string& json, const char* name,
                                              const std::vector<Model>& models) {
  const Json e = read_event(json);
  if (e["event"] != name) return std::nullopt;
  std::vector<Choice> out;
  try {
    for (const Model& m : models) {
      const auto& of = e.at("models").get_ref<const Json::object_t&>();
      const auto it = of.find(m.name);
      out.push_back(it == of.end() ? Choice() : it->second.get<Choice>());
    }
  } catch (const Json::exception&) {
    throw UserError(fmt::format("it does not say which {} each model has", name));
  }
  return out;
}

Json seconds_between(const RoundTold& r) {
  Json out = Json::object();
  for (const auto& [part, s] : r.after) {
    const auto it = r.before.find(part);
    out[part] = s - (it == r.before.end() ? 0 : it->second);
  }
  return out;
}

Json ranking_json(const cost::RankingQuality* q) {
  if (q == nullptr) return nullptr;
  return {{"pairwise", q->pairwise_accuracy},
          {"recall", q->recall_at_k},
          {"top", q->top_k_score},
          {"k", q->k},
          {"samples", q->samples}};
}

}  // namespace

std::string run_event(const RunTold& r) {
  Json models = Json::array();
  for (const Model& m : r.models) {
    models.push_back({{"name", m.name}, {"directory", m.directory.string()}});
  }
  Json tasks = Json::array();
  for (size_t i = 0; i < r.tasks.size(); ++i) {
    Json calls = Json::array();
    for (const ModelSpec& m : r.specs) calls.push_back(m.weights[i]);
    const task::Task& t = r.tasks[i].task;
    tasks.push_back({{"key", t.key},
                     {"label", t.label},
                     {"calls", calls},
                     {"flops", t.flops},
                     {"origin", r.tasks[i].origin}});
  }
  const TunerOptions& o = r.options.tuner;
  return dump({{"event", "run"},
               {"run", r.run},
               {"command", r.options.command},
               {"models", models},
               {"tasks", tasks},
               {"budget_s", r.options.budget_s},
               {"trials", o.trials},
               {"target", r.target},
               {"protocol", r.protocol},
               {"seed", o.seed},
               {"space", o.space},
               {"strategy", o.strategy},
               {"cost_model", o.cost_model},
               {"measured_before", r.measured_before},
               {"spent_before_s", r.spent_before_s}});
}

std::optional<std::string> machine_of(const std::string& json) {
  const Json e = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const bool told = e.is_object() && e.contains("event") && e["event"] == "run" &&
                    e.contains("target") && e["target"].is_string();
  return told ? std::optional(e["target"].get<std::string>()) : std::nullopt;
}

std::string layout_event(const LayoutTold& l) {
  return dump({{"event", "layout"},
               {"task", l.task},
               {"label", l.label},
               {"point", l.point},
               {"edges", l.edges},
               {"s", number(l.seconds)},
               {"default_s", number(l.default_s)},
               {"best_s", number(l.best_s)},
               {"tried", l.tried}});
}

std::string layouts_event(const std::vector<Model>& models,
                          const std::vector<compile::Layouts>& chosen) {
  Json of = Json::object();
  for (size_t m = 0; m < models.size(); ++m) of[models[m].name] = chosen[m];
  return dump({{"event", "layouts"}, {"models", of}});
}

std::optional<std::vector<compile::Layouts>> layouts_of(const std::string& json,
                                                        const std::vector<Model>& models) {
  return choices_of<compile::Layouts>(json, "layouts", models);
}

std::string pair_event(const PairTold& p) {
  return dump({{"event", "pair"},
               {"task", p.task},
               {"label", p.label},
               {"first", p.first},
               {"second", p.second},
               {"calls", p.calls},
               {"s", number(p.seconds)},
               {"apart_s", number(p.apart_s)},
               {"taken", p.taken}});
}

std::string pairs_event(const std::vector<Model>& models,
                        const std::vector<compile::DepthwisePointwise>& chosen) {
  Json of = Json::object();
  for (size_t m = 0; m < models.size(); ++m) of[models[m].name] = chosen[m];
  return dump({{"event", "pairs"}, {"models", of}});
}

std::optional<std::vector<compile::DepthwisePointwise>> pairs_of(const std::string& json,
                                                                 const std::vector<Model>& models) {
  return choices_of<compile::DepthwisePointwise>(json, "pairs", models);
}

std::string default_event(const std::string& task, const task::Measurement& m) {
  return dump({{"event", "default"},
               {"task", task},
               {"s", number(m.median_s)},
               {"outcome", to_string(m.outcome)},
               {"trace", m.trace}});
}

std::string artifact_event(const Model& model, int tuned, double seconds) {
  return dump({{"event", "artifact"},
               {"model", model.name},
               {"directory", model.directory.string()},
               {"tuned", tuned},
               {"seconds", seconds}});
}

std::string round_event(const RoundTold& r) {
  std::map<std::string, int64_t> failures;
  int64_t ok = 0;
  for (const task::Measurement& m : r.measurements) {
    if (m.outcome == task::Outcome::kOk) {
      ++ok;
    } else {
      ++failures[to_string(m.outcome)];
    }
  }
  return dump({{"event", "round"},
               {"round", r.round},
               {"task", r.task},
               {"tried", r.measurements.size()},
               {"ok", ok},
               {"failures", failures},
               {"best_s", number(r.result.best_s)},
               {"default_s", number(r.result.start_s)},
               {"measured", r.measured},
               {"failed", r.failed},
               {"estimate_s", estimates(r.models, r.results, &TaskResult::best_s)},
               {"default_estimate_s", estimates(r.models, r.results, &TaskResult::start_s)},
               {"ranking", ranking_json(r.ranking)},
               {"seconds", seconds_between(r)}});
}

std::string best_event(const std::string& task, const TaskResult& result, double was_s) {
  return dump({{"event", "best"},
               {"task", task},
               {"s", number(result.best_s)},
               {"was_s", number(was_s)},
               {"default_s", number(result.start_s)},
               {"trace", schedule::to_json(result.best)}});
}

std::string wrong_event(const std::string& task, const std::string& why, const std::string& trace) {
  return dump({{"event", "wrong"}, {"task", task}, {"why", why}, {"trace", trace}});
}

std::string undecided_event(const std::string& task, const std::string& why,
                            const std::string& trace) {
  return dump({{"event", "undecided"}, {"task", task}, {"why", why}, {"trace", trace}});
}

std::string refused_event(const std::string& task, int64_t records, const std::string& why) {
  return dump({{"event", "refused"}, {"task", task}, {"records", records}, {"why", why}});
}

std::string fault_event(const std::string& task, const std::string& what) {
  return dump({{"event", "fault"}, {"task", task}, {"what", what}});
}

std::string finals_event(const std::string& task, const TaskResult& result) {
  return dump({{"event", "finals"},
               {"task", task},
               {"default_s", number(result.start_s)},
               {"best_s", number(result.best_s)},
               {"kept", result.origin == "tuned" ? "tuned" : "default"},
               {"trace", schedule::to_json(result.best)}});
}

std::string network_event(const ModelSummary& m) {
  return dump({{"event", "network"},
               {"model", m.name},
               {"default_s", number(m.times.a_s)},
               {"tuned_s", number(m.times.b_s)},
               {"ratio", number(m.times.ratio)},
               {"low", number(m.times.low)},
               {"high", number(m.times.high)},
               {"difference", m.times.difference},
               {"kept", m.kept},
               {"tuned", m.tuned},
               {"tasks", m.tasks}});
}

std::string end_event(const Summary& s) {
  return dump({{"event", "end"},
               {"reason", s.reason},
               {"measured", s.measured},
               {"failed", s.failed},
               {"spent_s", s.spent_s},
               {"seconds", s.seconds}});
}

std::string skipped_event(size_t row, const std::string& why) {
  return dump({{"event", "skipped"}, {"row", row}, {"why", why}});
}

std::string at_time(const std::string& json, double at_s) {
  Json j = Json::parse(json);
  j["t"] = at_s;
  return dump(j);
}

}  // namespace tenon::tune
