// SPDX-License-Identifier: Apache-2.0
// Sums of variables times constants, as most indices are, evaluated without asking each part of the expression.
//
//   ramp(i * 8 + 3, 1)   ->   3 + 8 * vars[slot of i] + 1 * lane
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/interp_machine.h"
#include "ir/ir.h"

namespace tenon::ir::interp {

struct Slots;

// In unsigned arithmetic: sums and products of i64 wrap, so the order of terms does not matter.
struct Linear {
  struct Term {
    size_t slot;
    uint64_t factor;
  };
  uint64_t constant = 0;
  uint64_t per_lane = 0;
  std::vector<Term> terms;

  int64_t at(const Thread& t, int lane) const {
    uint64_t sum = constant + per_lane * static_cast<uint64_t>(lane);
    for (const Term& term : terms) sum += term.factor * static_cast<uint64_t>(t.vars[term.slot]);
    return static_cast<int64_t>(sum);
  }
};

// Nothing for other expressions, and for those of other types than i64.
std::optional<Linear> linear(const Expr& e, const Slots& slots);

}  // namespace tenon::ir::interp
