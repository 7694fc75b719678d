// SPDX-License-Identifier: Apache-2.0
// Random programs of one matrix product with an epilogue, tiled as Ansor's sketches are, and a made-up time for each:
// something to learn without a machine.
#pragma once

#include <vector>

#include "cost/model.h"
#include "support/rng.h"

namespace tenon::cost {

// C of `rows` by `columns`, a sum over `depth`; D = relu(C) with C computed in its tiles.
struct Product {
  int64_t rows = 192, columns = 256, depth = 128;
};
task::Task task_of(const Product& p);
schedule::Trace random_tiling(const task::Task& t, const Product& p, Rng& rng);

// Seconds by a simple formula over the features: arithmetic divided by lanes and threads, lines
// fetched, loop overhead.
double made_up_seconds(const Row& f);

// As the model sees them.
std::vector<Sample> made_up_samples(const CostModel& model, const Product& p,
                                    const std::string& task, size_t n, Rng& rng);
// As xgb sees them.
std::vector<Sample> made_up_samples(const Product& p, const std::string& task, size_t n, Rng& rng);

}  // namespace tenon::cost
