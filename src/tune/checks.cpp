// SPDX-License-Identifier: Apache-2.0
#include "tune/checks.h"

#include <algorithm>
#include <chrono>

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

Comparison Checks::begin_round(const TaskEntry& e, std::vector<Measurement> round) const {
  Comparison c{std::move(round)};
  if (which_ == Verify::kOff) return c;
  const Measurement* best = e.history.best(true);
  for (const size_t i : fastest_first(c.round)) {
    const bool wins = best == nullptr || c.round[i].median_s < best->median_s;
    if (!wins && which_ == Verify::kBest) break;
    c.left.push_back(i);
  }
  return c;
}

Comparison Checks::begin_default(std::vector<Measurement> one) const {
  Comparison c{std::move(one)};
  if (which_ != Verify::kOff) c.left = fastest_first(c.round);
  return c;
}

bool Checks::advance(const TaskEntry& e, Comparison& c, bool wait) {
  while (!c.left.empty()) {
    Measurement& m = c.round[c.left.front()];
    if (!c.verdict.valid()) {
      c.verdict = watch_.time("verify", [&] {
        return measurer_.verify_beside(e.given.task, schedule::trace_from_json(m.trace));
      });
    }
    const bool known = c.verdict.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (!known && !wait) return false;
    judge(e, m, watch_.time("verify", [&] { return c.verdict.get(); }));
    c.left.erase(c.left.begin());
    if (m.verified && which_ == Verify::kBest) c.left.clear();
  }
  return true;
}

void Checks::check_finals(const TaskEntry& e, std::vector<Measurement>& ordered) {
  for (Measurement& m : ordered) {
    if (m.outcome != Outcome::kOk) continue;
    if (!m.verified && which_ != Verify::kOff) {
      judge(e, m, watch_.time("verify", [&] {
        return measurer_.verify(e.given.task, schedule::trace_from_json(m.trace));
      }));
    }
    if (m.outcome == Outcome::kOk) break;
  }
}

void Checks::judge(const TaskEntry& e, Measurement& m, const measure::Verdict& v) {
  m.verified = v.right();
  if (m.verified) return;
  m.outcome = v.wrong() ? Outcome::kWrong : Outcome::kUndecided;
  m.error = v.why;
  if (v.wrong()) tell_(events::FoundWrong{e.key(), v.why, m.trace});
}

}  // namespace tenon::tune
