// SPDX-License-Identifier: Apache-2.0
#include "history/task_history.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::history {
namespace {

bool faster(const task::Measurement* a, const task::Measurement* b) {
  return a->median_s != b->median_s ? a->median_s < b->median_s : a->trace < b->trace;
}

}  // namespace

void TaskHistory::add(const task::Measurement& given) {
  task::Measurement m = given;
  if (m.outcome == task::Outcome::kOk && !has_time(m)) {
    m.outcome = task::Outcome::kRefused;
    m.error = fmt::format("{}: it took {} s", task::kDamaged, m.median_s);
    m.verified = false;
  }
  ++measured_;
  if (m.outcome != task::Outcome::kOk) ++failures_[to_string(m.outcome)];
  const auto [it, first] = by_trace_.emplace(m.trace, m);
  if (first || it->second.outcome == task::Outcome::kWrong) return;
  if (m.choices.empty()) m.choices = it->second.choices;  // who measures again may not know them
  if (it->second.outcome == task::Outcome::kUndecided) it->second = m;
  const bool verified = it->second.verified || m.verified;
  // A machine that was busy for once does not undo what ran before.
  if (m.outcome == task::Outcome::kOk || m.outcome == task::Outcome::kWrong) it->second = m;
  it->second.verified = verified && it->second.outcome == task::Outcome::kOk;
}

const task::Measurement* TaskHistory::find(const std::string& trace) const {
  const auto it = by_trace_.find(trace);
  return it == by_trace_.end() ? nullptr : &it->second;
}

const task::Measurement* TaskHistory::best(bool verified_only) const {
  const task::Measurement* best = nullptr;
  for (const auto& [trace, m] : by_trace_) {
    if (m.outcome != task::Outcome::kOk || (verified_only && !m.verified)) continue;
    if (best == nullptr || faster(&m, best)) best = &m;
  }
  return best;
}

std::vector<const task::Measurement*> TaskHistory::fastest(size_t n) const {
  std::vector<const task::Measurement*> all;
  for (const auto& [trace, m] : by_trace_) {
    if (m.outcome == task::Outcome::kOk) all.push_back(&m);
  }
  std::sort(all.begin(), all.end(), faster);
  all.resize(std::min(n, all.size()));
  return all;
}

std::vector<const task::Measurement*> TaskHistory::failed_programs() const {
  std::vector<const task::Measurement*> out;
  for (const auto& [trace, m] : by_trace_) {
    const bool decided = m.outcome != task::Outcome::kUndecided;
    if (decided && m.outcome != task::Outcome::kOk) out.push_back(&m);
  }
  return out;
}

int64_t TaskHistory::failed() const {
  int64_t n = 0;
  for (const auto& [outcome, count] : failures_) n += count;
  return n;
}

}  // namespace tenon::history
