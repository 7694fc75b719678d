// SPDX-License-Identifier: Apache-2.0
// What a run adds to a network that was trained before it: trees on a short form of the rows, grown on what the
// network's scores leave over and weighed by growth.h.
//
//   TlpRun run(seed);
//   run.add(sample, score of the network);
//   if (run.train()) run.correct(row, score);   // a better score
#pragma once

#include <optional>
#include <vector>

#include "cost/model.h"
#include "cost/models/growth.h"
#include "cost/tokens.h"

namespace tenon::cost {

// The innermost loops of the anchor side by side, then sums over all rows.
inline constexpr size_t kShortLoops = 10, kShortOfLoop = kAxisRoles + kTokenMarks + 7;
inline constexpr uint32_t kShortColumns = kShortLoops * kShortOfLoop + kTokenColumns;
std::vector<float> short_form(const Row& row);

class TlpRun {
 public:
  explicit TlpRun(uint64_t seed) : seed_(seed) {}

  void add(const Sample& s, float score);
  size_t size() const { return programs_.size(); }
  // False: there is too little to learn from, or no library of trees.
  bool train();
  // Of programs, for scores of the network. Safe to call from several threads.
  void correct(std::span<const Row> rows, std::span<float> scores) const;

 private:
  struct Trees {
    Footing footing;
    Booster booster;
  };
  uint64_t seed_;
  Programs programs_;
  std::vector<double> network_;  // its scores
  std::optional<Trees> trees_;
};

}  // namespace tenon::cost
