// SPDX-License-Identifier: Apache-2.0
// TLP (Zhai et al. 2023): attention over the rows of tokens.h, trained by the plug-in tenon-torch to rank programs of one
// task. With several machines one network has an output for each (MTL-TLP), and what they share is learned from all.
// Scores need no plug-in. What this run measures is learned by trees on top of the network, weighed as a
// history is (growth.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost/model.h"
#include "cost/models/attention_network.h"
#include "cost/tokens.h"

namespace tenon::cost {

inline constexpr uint32_t kTlpWidth = 64, kTlpHeads = 4;

std::unique_ptr<CostModel> make_tlp(uint64_t seed, int threads, MakeRowsScorer make_scorer);

// A machine as records name it.
struct TlpMachine {
  std::string target, protocol;
  int64_t vector_bytes = 0;  // of its registers; 0: not a CPU
};
// Programs on several machines; the first is the one that the model is for.
struct TlpLessons {
  std::vector<TlpMachine> machines;
  std::vector<Row> rows;
  std::vector<std::string> tasks;
  std::vector<double> seconds;  // rows x machines; NaN: not measured, infinity: it failed
};
// A model that learned from them as from a history. Throws UserError where nothing can train it.
std::unique_ptr<CostModel> learned_tlp(const TlpLessons& lessons, uint64_t seed, int threads);

}  // namespace tenon::cost
