// SPDX-License-Identifier: Apache-2.0
// Value functions that nobody trained: what they say follows from the rows by a rule of the test's.
#pragma once

#include <functional>

#include "value/function.h"
#include "value/rows.h"

namespace tenon::value {

// A function whose worth is `worth` of the rows of one program.
inline ValueFunction pretend_value(std::function<float(const cost::Row&)> worth,
                                   double margin = 0) {
  class Scorer : public cost::RowsScorer {
   public:
    explicit Scorer(std::function<float(const cost::Row&)> f) : worth_(std::move(f)) {}
    std::vector<float> score(std::span<const cost::Row> sets, uint32_t) const override {
      std::vector<float> out;
      for (const cost::Row& r : sets) out.push_back(worth_(r));
      return out;
    }

   private:
    std::function<float(const cost::Row&)> worth_;
  };
  ValueModel m;
  m.margin = m.algorithm_margin = margin;
  m.network = cost::fresh_attention_network({row_columns(), 8, 2, 1}, 1);
  return {std::move(m), [worth](const cost::AttentionNetwork&, cost::Keep) {
            return std::make_unique<Scorer>(worth);
          }};
}

// By the hash of the rows, in [-1, 0): programs are good or bad without a reason.
inline float by_hash(const cost::Row& r) {
  uint64_t h = 1469598103934665603ULL;
  for (const float v : r.values) {
    h = (h ^ static_cast<uint64_t>(static_cast<int64_t>(v * 4096))) * 1099511628211ULL;
  }
  return -1 + static_cast<float>(h >> 40) / static_cast<float>(uint64_t{1} << 24);
}

}  // namespace tenon::value
