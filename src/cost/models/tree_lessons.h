// SPDX-License-Identifier: Apache-2.0
// Measured programs as lessons for a network, and the plug-in that gives them.
//
//   TreeLessons lessons;
//   lessons.add(sample);
//   train(find_tree_trainer().functions, lessons, seed, network);   // network.weights are better
#pragma once

#include <cstdint>
#include <vector>

#include "cost/model.h"
#include "cost/models/growth.h"
#include "cost/models/tree_network.h"

namespace tenon::cost {

struct TreeLessons {
  Programs programs;
  std::vector<int32_t> parent;  // of all nodes

  void add(const Sample& s);
};

using TreeTrainer = NetworkTrainer<tenon_tree_trainer_functions>;
TreeTrainer find_tree_trainer();

void train(const tenon_tree_trainer_functions& trainer, const TreeLessons& lessons, uint64_t seed,
           TreeNetwork& network);

}  // namespace tenon::cost
