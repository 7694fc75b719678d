// SPDX-License-Identifier: Apache-2.0
// Gradient-boosted trees by XGBoost: what they see, what they are trained by and what becomes of
// several opinions is the row of a table (xgb.cpp). The trees of this run stand on those of the
// history and are grown anew each time: labels are relative to the best time of their task, and
// that moves. Scoring is shared among threads.
#pragma once

#include <memory>
#include <string_view>

#include "cost/model.h"
#include "cost/models/encoders.h"
#include "cost/models/growth.h"

namespace tenon::cost {

// What a program is worth by the predictions of several members for it.
using Acquisition = double(std::span<const float> predicted);
Acquisition expected_improvement, upper_confidence;

struct BoostedKind {
  std::string_view name;
  const Encoder& encoder;
  Loss* loss;
  std::span<const Parameter> parameters;
  Stop stop = Stop::kError;
  int max_rounds = 300;
  bool learns_from_failures = false;
  size_t members = 1;  // each sees four fifths of the programs if there are several
  Acquisition* worth = nullptr;
};
extern const BoostedKind kXgb, kXgbRank, kXgbReg, kXgbItervar, kXgbKnob, kXgbEi, kXgbUcb;

std::unique_ptr<CostModel> make_boosted_model(const BoostedKind& kind, uint64_t seed, int threads);
// As a row of the table of models wants it.
template <const BoostedKind& kind>
std::unique_ptr<CostModel> make_boosted(uint64_t seed, int threads) {
  return make_boosted_model(kind, seed, threads);
}

}  // namespace tenon::cost
