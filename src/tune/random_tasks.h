// SPDX-License-Identifier: Apache-2.0
// Tasks of random shapes that follow those of real networks: convolutions of every kind, products
// of matrices, rows (softmax, norms) and pooling, with the epilogues that networks have. They are
// what a cost model is trained on, so that it has seen more than the shapes of a few networks.
//
//   random_tasks({.count = 2, .seed = 7}, target)
//     =>  conv 3x3 of 96 channels on 28x28, bias, relu;  matmul 197x768x3072, bias
//
// A task depends on the seed and its own number alone: ten tasks begin with the same five as five.
#pragma once

#include <cstdint>
#include <vector>

#include "target/target.h"
#include "tune/tuner.h"

namespace tenon::tune {

struct RandomTaskOptions {
  int64_t count = 0;
  uint64_t seed = 1;
  double least_flops = 1e6, most_flops = 1e9;
};
// All are distinct. Fewer than asked for, if the bounds leave too little. Throws UserError if they
// leave nothing.
std::vector<TaskToTune> random_tasks(const RandomTaskOptions& options,
                                     const target::Target& target);

// A task with the program that its template gives it by rule.
TaskToTune with_default(task::Task t);

}  // namespace tenon::tune
