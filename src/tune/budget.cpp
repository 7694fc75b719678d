// SPDX-License-Identifier: Apache-2.0
#include "tune/budget.h"

#include <algorithm>

namespace tenon::tune {
namespace {

// A hope counts as much as so many seconds of evidence.
constexpr double kHopedS = 5;
// Of what a step showed, so much is left when as many seconds as kHopedS have gone by.
constexpr double kKept = 0.5;

}  // namespace

size_t Budget::add(std::string name, double hope_s) {
  kinds_.push_back({.name = std::move(name)});
  evidence_.push_back({hope_s, kHopedS});
  return kinds_.size() - 1;
}

double Budget::rate(size_t kind) const {
  return evidence_[kind].gained_s / evidence_[kind].spent_s;
}

std::optional<size_t> Budget::next() const {
  std::optional<size_t> best;
  for (size_t k = 0; k < kinds_.size(); ++k) {
    if (kinds_[k].over) continue;
    if (kinds_[k].steps < kFirstSteps) return k;
    if (!best || rate(k) > rate(*best)) best = k;
  }
  return best;
}

// Old evidence is not forgotten below the weight of a hope: one step without luck does not end a
// kind.
void Budget::report(size_t kind, double gained_s, double spent_s) {
  Kind& k = kinds_[kind];
  k.gained_s += gained_s;
  k.spent_s += spent_s;
  ++k.steps;
  Evidence& e = evidence_[kind];
  const double old = std::max(kKept, 1 - spent_s / (2 * kHopedS));
  e.gained_s = old * e.gained_s + std::max(0.0, gained_s);
  e.spent_s = std::max(kHopedS, old * e.spent_s + spent_s);
}

}  // namespace tenon::tune
