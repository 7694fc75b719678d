// SPDX-License-Identifier: Apache-2.0
// Weights that are packed alike at every size of a model, so that they are stored once. Each size alone may take another
// algorithm for a layer, or panels of another width; then the others take what the largest size does with the weights,
// as long as they are estimated to lose little time by it.
//
//   layer4.1.conv2, batch 2 to 8 by winograd4, batch 1 by winograd2     batch 1 by winograd4 too
//   a dense layer, batch 64 by strassen, batch 1 directly               both are stored: batch 1 waits for weights only
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/accuracy.h"
#include "plan/network.h"
#include "space/choice.h"

namespace tenon::compile {

// A program that could be taken instead of a task's own.
struct Offer {
  size_t task = 0;
  task::Program program;
  plan::Verdict verdict;
  double lost = 0;   // time, estimated
  double saved = 0;  // bytes that need not be stored
  double steps = 0;  // of the task
};

// How a task packs its constants, and what led its template to that.
struct Packing {
  std::string how;                                       // empty: it has none
  std::optional<space::Choices> choices = std::nullopt;  // nothing: others cannot follow it
};

class Agreement {
 public:
  // Keeps references to both.
  Agreement(const plan::Network& largest, const plan::Options& options);

  // Replaces programs that rules gave, of a network of the same model; what was given stays.
  void apply(plan::Network& n);

 private:
  // By task: that of the same call at the largest size; the number of tasks there is none.
  std::vector<size_t> tasks_like(const plan::Network& n) const;
  void take_cheapest(plan::Network& n, const std::vector<size_t>& like,
                     std::vector<std::optional<Offer>> offers, double left);

  const plan::Network& largest_;
  const plan::Options& options_;
  plan::Errors errors_;
  std::map<std::string, size_t> tasks_;  // of the largest, by the names of calls
  std::vector<Packing> packing_;         // by task of the largest
};

}  // namespace tenon::compile
