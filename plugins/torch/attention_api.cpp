// SPDX-License-Identifier: Apache-2.0
// The interface to the trainer of attention networks: no exception leaves it.
#include <algorithm>
#include <numeric>
#include <vector>

#include "attention.h"
#include "cost/models/attention_trainer.h"

namespace {

using tenon::attention::Attention;

int32_t train(const tenon_attention_sizes* sizes, const tenon_attention_lessons* lessons,
              float* weights) {
  try {
    Attention net(*sizes, weights, lessons->threads);
    net.train(*lessons);
    net.copy_weights(weights);
    return 0;
  } catch (...) {
    return 1;
  }
}

int32_t score(const tenon_attention_sizes* sizes, const tenon_row_sets* sets, const float* weights,
              float* scores) {
  try {
    std::vector<int64_t> all(sets->sets);
    std::iota(all.begin(), all.end(), 0);
    const std::vector<float> got = Attention(*sizes, weights, 1).score(*sets, all);
    std::copy(got.begin(), got.end(), scores);
    return 0;
  } catch (...) {
    return 1;
  }
}

int32_t loss(const tenon_attention_sizes* sizes, const tenon_attention_lessons* lessons,
             const float* weights, double* value, float* gradient) {
  try {
    *value = Attention(*sizes, weights, lessons->threads).loss(*lessons, gradient);
    return 0;
  } catch (...) {
    return 1;
  }
}

constexpr tenon_attention_trainer_functions kFunctions{TENON_ATTENTION_TRAINER_VERSION, train,
                                                       score, loss};

}  // namespace

__attribute__((visibility("default"))) const tenon_attention_trainer_functions*
tenon_attention_trainer_api(void) {
  return &kFunctions;
}
