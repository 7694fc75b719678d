// SPDX-License-Identifier: Apache-2.0
#include "tune/checks.h"

#include <algorithm>

namespace tenon::tune {
namespace {

using task::Measurement;
using task::Outcome;

// Indices of those that ran, the fastest first.
std::vector<size_t> fastest_first(const std::vector<Measurement>& round) {
  std::vector<size_t> order;
  for (size_t i = 0; i < round.size(); ++i) {
    if (round[i].outcome == Outcome::kOk) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return round[a].median_s != round[b].median_s ? round[a].median_s < round[b].median_s : a < b;
  });
  return order;
}

}  // namespace

Checks::Checks(Verify which, measure::Measurer& measurer, Stopwatch& watch, Tell tell)
    : which_(which), measurer_(measurer), watch_(watch), tell_(std::move(tell)) {}

void Checks::check_round(const TaskEntry& e, std::vector<Measurement>& round) {
  if (which_ == Verify::kOff) return;
  const Measurement* best = e.history.best(true);
  for (const size_t i : fastest_first(round)) {
    Measurement& m = round[i];
    const bool wins = best == nullptr || m.median_s < best->median_s;
    if (!wins && which_ == Verify::kBest) break;
    check(e, m);
    if (m.verified && which_ == Verify::kBest) break;
  }
}

void Checks::check_default(const TaskEntry& e, Measurement& m) {
  if (m.outcome == Outcome::kOk && which_ != Verify::kOff) check(e, m);
}

void Checks::check_finals(const TaskEntry& e, std::vector<Measurement>& ordered) {
  for (Measurement& m : ordered) {
    if (m.outcome != Outcome::kOk) continue;
    if (!m.verified && which_ != Verify::kOff) check(e, m);
    if (m.outcome == Outcome::kOk) break;
  }
}

void Checks::check(const TaskEntry& e, Measurement& m) {
  const measure::Verdict v = watch_.time(
      "verify", [&] { return measurer_.verify(e.given.task, schedule::trace_from_json(m.trace)); });
  m.verified = v.right();
  if (m.verified) return;
  m.outcome = v.wrong() ? Outcome::kWrong : Outcome::kUndecided;
  m.error = v.why;
  if (v.wrong()) tell_(events::FoundWrong{e.key(), v.why, m.trace});
}

}  // namespace tenon::tune
