// SPDX-License-Identifier: Apache-2.0
// Statements made ready to be run many times, as interp_expr.h makes expressions ready.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "ir/interp_expr.h"
#include "ir/interp_machine.h"

namespace tenon::ir::interp {

// The state of a run that is not a thread's own.
struct Machine {
  Clock clock;
  // How many threads a barrier waits for; kDiverged where some took another way.
  size_t threads = 1;
  static constexpr size_t kDiverged = ~size_t{0};
  std::array<int64_t, 3> extents = {};        // of the thread loops that are bound
  std::array<int64_t, 3> launch = {1, 1, 1};  // threads of a block: the longest loops of its nest
};

// Runs a statement on all active threads in lockstep: every thread finishes it before any goes on.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void run(Machine& m, Active active) const = 0;
};
using ExecutorRef = std::unique_ptr<const Executor>;

// What a loop is made of, besides its kind.
struct LoopParts {
  std::string name;
  size_t slot = 0;  // of its variable
  EvaluatorRef min, extent;
  ExecutorRef body;
};

// The executor of a loop of the kind of `n`.
ExecutorRef make_loop(const For& n, LoopParts parts);

}  // namespace tenon::ir::interp
