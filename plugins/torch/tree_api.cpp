// SPDX-License-Identifier: Apache-2.0
// The interface to the trainer of trees: no exception leaves it.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cost/models/tree_trainer.h"
#include "tree_gru.h"

namespace {

using tenon::tree_gru::TreeGru;

int32_t train(const tenon_tree_sizes* sizes, const tenon_tree_lessons* lessons, float* weights) {
  try {
    TreeGru net(*sizes, weights);
    net.train(*lessons);
    net.copy_weights(weights);
    return 0;
  } catch (...) {
    return 1;
  }
}

int32_t score(const tenon_tree_sizes* sizes, const tenon_trees* trees, const float* weights,
              float* scores) {
  try {
    std::vector<int64_t> all(trees->trees);
    std::iota(all.begin(), all.end(), 0);
    const std::vector<float> got = TreeGru(*sizes, weights).score(*trees, all);
    std::copy(got.begin(), got.end(), scores);
    return 0;
  } catch (...) {
    return 1;
  }
}

constexpr tenon_tree_trainer_functions kFunctions{TENON_TREE_TRAINER_VERSION, train, score};

}  // namespace

__attribute__((visibility("default"))) const tenon_tree_trainer_functions* tenon_tree_trainer_api(
    void) {
  return &kFunctions;
}
