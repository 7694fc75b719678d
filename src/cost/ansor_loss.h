// SPDX-License-Identifier: Apache-2.0
// Ansor's loss. A program's score is the sum over its rows; loss = y * (score - y)^2, so that fast programs weigh most
// and failures (y = 0) nothing.
//
//   two programs of 1 and 3 rows, y = 0.5:  each row of a program gets gradient (score - 0.5) * 0.5
//
// The second derivative is y times the number of rows: rows of one program tend to share leaves, and with y alone a
// step would overshoot by that factor, beyond all bounds for ten rows at the usual learning rate.
#pragma once

#include <span>
#include <vector>

#include "cost/model.h"

namespace tenon::cost {

// Programs one after the other, `rows` of each.
struct Packs {
  std::vector<size_t> rows;
  std::vector<float> labels;
};

// It has a time.
bool ran(const Sample& s);

// Best time of the task / time; 0 for a failure. One per sample.
std::vector<float> labels_of(std::span<const Sample> samples);

struct Gradients {
  std::vector<float> first, second;  // per row
  double rmse = 0;                   // of the scores, weighted like the loss
};
void ansor_gradients(const Packs& packs, std::span<const float> predicted, Gradients& out);

}  // namespace tenon::cost
