// SPDX-License-Identifier: Apache-2.0
// The name of each event and the list of its fields, which a writer and a reader go through in
// turn.
//
//   fields(writer, event);   // writer("run", event.run); writer("command", event.command); ...
#pragma once

#include "events/events.h"

namespace tenon::events {

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
constexpr const char* name_of(const Counted&) { return "counted"; }
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
inline const char* name_of(const Unknown& e) { return e.name.c_str(); }

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
  f("nodes", e.nodes);
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
  f("disturbed", e.disturbed);
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
void fields(F& f, Counted& e) {
  f("measured", e.measured);
  f("failed", e.failed);
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
  f("again", e.again);
  f("spent_s", e.spent_s);
  f("seconds", e.seconds);
  f("spent_on", e.spent_on);
  f("gained_by", e.gained_by);
}
template <class F>
void fields(F&, Unknown&) {}

}  // namespace tenon::events
