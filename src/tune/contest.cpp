// SPDX-License-Identifier: Apache-2.0
#include "tune/contest.h"

#include <algorithm>

namespace tenon::tune {
namespace {

constexpr size_t kLoops = 0;
constexpr double kTurnS =
    2;  // steps of one kind are taken together: to change costs what is in flight
constexpr int64_t kMostSteps = 3;  // in one turn
constexpr double kLeastS = 0.25;   // that a turn counts as: a clock may stand still
constexpr double kBehind = 0.5;    // of the loops' rate

}  // namespace

void Contest::add(Contender c) {
  budget_.add(c.name, c.hope_s);
  contenders_.push_back(std::move(c));
}

void Contest::run(const Stop& stop) {
  std::optional<size_t> last;
  while (!(stop && stop())) {
    const auto kind = budget_.next();
    if (!kind) return;
    if (last && *last != *kind && contenders_[*last].leave) contenders_[*last].leave();
    last = kind;
    turn(*kind, stop);
  }
}

void Contest::turn(size_t kind, const Stop& stop) {
  const double begun = now_(), gained = contenders_[kind].gained_s();
  bool more = true;
  int64_t steps = 0;
  do {
    more = contenders_[kind].step(stop);
  } while (more && kind == kLoops && ++steps < kMostSteps && now_() - begun < kTurnS &&
           !(stop && stop()));
  const double spent = std::max(kLeastS, now_() - begun);
  budget_.report(kind, contenders_[kind].gained_s() - gained, spent);
  if (stop && stop()) return;
  const auto& used_up = contenders_[kind].used_up;
  if (!more || (used_up && used_up())) end(kind);
  for (size_t k = 1; k < contenders_.size(); ++k) {
    if (!budget_.kinds()[k].over && gives_up(k)) end(k);
  }
}

bool Contest::gives_up(size_t kind) const {
  return budget_.kinds()[kind].steps >= Budget::kFirstSteps &&
         budget_.rate(kind) < kBehind * budget_.rate(kLoops);
}

// What it decides may add contenders, so nothing of it is used afterwards. The loops go on: there
// may be others now, or trials that were kept for this kind.
void Contest::end(size_t kind) {
  budget_.end(kind);
  const auto decide = contenders_[kind].decide;
  if (decide) decide();
  if (kind != kLoops) budget_.reopen(kLoops);
}

void Contest::decide_all() {
  for (size_t k = 1; k < contenders_.size(); ++k) {
    if (!budget_.kinds()[k].over && budget_.kinds()[k].steps > 0) end(k);
  }
}

}  // namespace tenon::tune
