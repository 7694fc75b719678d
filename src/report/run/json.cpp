// SPDX-License-Identifier: Apache-2.0
#include "report/run/json.h"

#include <nlohmann/json.hpp>

#include "report/network/network_json.h"
#include "report/page/words.h"

namespace tenon::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }

Json points(const std::vector<Point>& curve) {
  Json out = Json::array();
  for (const Point& p : curve) out.push_back({{"t", p.at_s}, {"trial", p.trial}, {"s", p.s}});
  return out;
}

Json network(const std::optional<NetworkResult>& n) {
  if (!n) return nullptr;
  return {{"default_s", number(n->default_s)},
          {"tuned_s", number(n->tuned_s)},
          {"ratio", number(n->ratio)},
          {"low", number(n->low)},
          {"high", number(n->high)},
          {"difference", n->difference},
          {"kept", n->kept},
          {"tuned", n->tuned},
          {"tasks", n->tasks}};
}

Json history(const std::optional<events::HistoryUsed>& h) {
  if (!h) return nullptr;
  return {{"from", h->from},
          {"records", h->records},
          {"tasks", h->tasks},
          {"trained_at", h->trained_at.empty() ? Json(nullptr) : Json(h->trained_at)},
          {"top1", number(h->top1)},
          {"top5", number(h->top5)},
          {"pairwise", number(h->pairwise)},
          {"held_out", h->held_out},
          {"notes", h->notes}};
}

Json schedule(const ScheduleText& s) {
  if (s.json.empty()) return nullptr;
  Json out = {{"trace", s.json}, {"loops", s.loops}};
  if (!s.problem.empty()) out["problem"] = s.problem;
  return out;
}

Json task(const TaskStory& t) {
  return {{"key", t.key},
          {"label", t.label},
          {"nodes", t.nodes},
          {"shape", t.shape},
          {"origin", t.origin},
          {"calls", t.calls},
          {"flops", t.flops},
          {"default_s", number(t.default_s)},
          {"default_outcome", t.default_outcome},
          {"best_s", number(t.best_s)},
          {"gain", number(t.gain())},
          {"kept", t.tuned ? "tuned" : "default"},
          {"trials", t.trials},
          {"failed", t.failed},
          {"curve", points(t.best)},
          {"default", schedule(t.start)},
          {"tuned", schedule(t.winner)}};
}

Json model(const RunStory& run, const ModelStory& m) {
  return {{"name", m.name},
          {"directory", m.directory},
          {"verdict", verdict(run, m).headline},
          {"default_estimate_s", number(m.default_estimate_s)},
          {"best_estimate_s", number(m.best_estimate_s())},
          {"curve", points(m.estimate)},
          {"network", network(m.network)},
          {"pairs", m.pairs},
          {"layouts", m.layouts},
          {"picture", m.picture ? network_json(*m.picture) : Json(nullptr)}};
}

Json layout_search(const RunStory& run, const LayoutSearch& o) {
  Json tries = Json::array();
  for (const LayoutTry& t : o.tries) {
    tries.push_back({{"point", t.point},
                     {"edges", t.edges},
                     {"words", t.words},
                     {"s", number(t.s)},
                     {"gain", number(gain(o, t))},
                     {"calls", run.layouts_decided ? Json(t.calls) : Json(nullptr)}});
  }
  return {{"task", o.task},
          {"label", o.label},
          {"shape", o.shape},
          {"default_s", number(o.default_s)},
          {"best_s", number(o.best_s())},
          {"tries", tries}};
}

Json lists(const RunStory& run) {
  Json models = Json::array();
  for (const ModelStory& m : run.models) models.push_back(model(run, m));
  Json tasks = Json::array();
  for (const TaskStory& t : run.tasks) tasks.push_back(task(t));
  Json failures = Json::array();
  for (const Failure& f : run.failures) {
    failures.push_back({{"outcome", f.outcome},
                        {"count", f.count},
                        {"task", f.task},
                        {"error", f.error},
                        {"trace", f.trace},
                        {"command", f.command}});
  }
  Json ranking = Json::array();
  for (const RankingPoint& p : run.ranking) {
    ranking.push_back({{"round", p.round},
                       {"pairwise", p.pairwise},
                       {"recall", p.recall},
                       {"top", p.top},
                       {"k", p.k},
                       {"samples", p.samples}});
  }
  Json pairs = Json::array();
  for (const PairTry& p : run.pairs) {
    pairs.push_back({{"task", p.task},
                     {"label", p.label},
                     {"calls", p.calls},
                     {"s", number(p.s)},
                     {"apart_s", number(p.apart_s)},
                     {"taken", p.taken}});
  }
  Json layouts = Json::array();
  for (const LayoutSearch& o : run.layouts) layouts.push_back(layout_search(run, o));
  Json seconds = Json::object();
  for (const auto& [name, s] : wall_time(run)) seconds[name] = s;
  Json kinds = Json::object();
  for (const auto& [name, k] : run.kinds) {
    kinds[name] = {{"spent_s", k.spent_s}, {"gained_s", k.gained_s}};
  }
  return {{"models", models},
          {"tasks", tasks},
          {"failures", failures},
          {"kinds", kinds},
          {"ranking", ranking},
          {"pairs", pairs},
          {"layouts_decided", run.layouts_decided},
          {"layouts", layouts},
          {"seconds", seconds}};
}

}  // namespace

std::string to_json(const RunStory& run) {
  Json out = {{"schema", "tenon.report/1"},
              {"run", run.id},
              {"command", run.command},
              {"started", run.started},
              {"finished", run.finished.empty() ? Json(nullptr) : Json(run.finished)},
              {"reason", run.reason.empty() ? Json(nullptr) : Json(run.reason)},
              {"target", run.target},
              {"protocol", run.protocol},
              {"space", run.space},
              {"strategy", run.strategy},
              {"cost_model", run.cost_model},
              {"seed", run.seed},
              {"budget_s", run.budget_s},
              {"trials", run.trials_limit},
              {"parts", run.parts},
              {"rounds", run.rounds},
              {"measured", run.measured},
              {"again", run.again},
              {"disturbed", run.disturbed},
              {"failed", run.failed},
              {"measured_before", run.measured_before},
              {"history", history(run.history)},
              {"spent_s", run.spent_s},
              {"first_artifact_s", number(run.first_artifact_s)},
              {"unreadable_events", run.unreadable}};
  out.update(lists(run));
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon::report
