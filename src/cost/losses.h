// SPDX-License-Identifier: Apache-2.0
// What models that are trained by gradients are trained by. A program's score is the sum over its
// rows; its label y is best time of the task / time. Each loss gives the first and second
// derivative by the score of each program:
//
//   Ansor's   y * (score - y)^2 / 2              fast programs weigh most, failures (y = 0) nothing
//   squared   (score - y)^2 / 2
//   rank      log(1 + exp(worse score - better score))   over pairs of programs of one task
//   lambda    -w log2(sigmoid(better score - worse score))   over all pairs of one task, where w is
//             what the sum of (2^y - 1) / log2(1 + rank), 1 at best, would change by a swap
//   value     |score - log(y)| * y, where y is at least 1 / 64
//
// With Ansor's and y = 0.5, each row of a program gets the gradient (score - 0.5) * 0.5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/model.h"

namespace tenon::cost {

// It has a time.
bool ran(const Sample& s);

// Best time of the task / time; 0 for a failure. One per sample.
std::vector<float> labels_of(std::span<const Sample> samples);

// Programs one after the other, `rows` of each.
struct Packs {
  std::vector<size_t> rows;
  std::vector<float> labels;
  std::vector<uint32_t> tasks;  // a number for each task
};

struct Gradients {
  std::vector<float> first, second;  // per row
  double error = 0;                  // falls as the scores get better
};

// Of programs, as a function of their scores. `counts` says which programs count; a pair counts if
// both do.
struct Derivatives {
  std::vector<double> first, second;  // per program
  double error = 0;
};
using Loss = void(const Packs& packs, std::span<const double> scores, std::span<const char> counts,
                  Derivatives& out);
// The errors of lambda_rank_loss (TLP's) and value_loss are the losses themselves, a sum and a mean;
// ranks and so weights of pairs are taken as constants.
Loss ansor_loss, squared_loss, rank_loss, lambda_rank_loss, value_loss;

// Of a label, in the value loss.
inline constexpr float kLeastWorth = 1.0F / 64;

// The sums over the rows of each program.
std::vector<double> scores_of(const Packs& packs, std::span<const float> predicted);

// Every row gets the gradient of its program; programs that do not count get none. The second
// derivative is multiplied by the number of rows: rows of one program tend to share leaves, and
// without it a step would overshoot by that factor, beyond all bounds for ten rows at the usual
// learning rate.
void gradients(Loss* loss, const Packs& packs, std::span<const double> scores,
               std::span<const char> counts, Gradients& out);

// AutoTVM's measure of a ranking: recall(i), the share of the i best scores that are among the i +
// 1 best labels, with i + 1 below the line; the mean over i = 0 .. n - 1, n at most 64, and then
// over tasks. Only programs that count.
//
//   three programs in the right order:   (0/1 + 1/2 + 2/3) / 3
double average_recall(const Packs& packs, std::span<const double> scores,
                      std::span<const char> counts);

}  // namespace tenon::cost
