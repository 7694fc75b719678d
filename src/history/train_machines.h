// SPDX-License-Identifier: Apache-2.0
// The cost model tlp out of the records of several machines: what they share is learned from all of them, and each has an
// output of its own. So a machine with few records of its own gains from others that measured the same programs.
//
//   const Trained t = train_machines(db, {here, there}, {.labels = 0.07});
#pragma once

#include <span>

#include "history/machines.h"
#include "history/train.h"

namespace tenon::history {

struct TrainMachinesOptions {
  int64_t now = 0;    // what the card says it was trained at
  double labels = 1;  // the share of the first machine's times that it may learn from
  uint64_t seed = 1;  // which ones
  Limits limits = {};
};

// The model is for the first machine: its card, its scores on held-out tasks (against all of its times there). Throws
// UserError where nothing can train.
Trained train_machines(const db::Database& db, std::span<const Where> machines,
                       const TrainMachinesOptions& options);

}  // namespace tenon::history
