// SPDX-License-Identifier: Apache-2.0
// A trace as a set of rows, for networks with attention (TLP, Zhai et al. 2023). It takes no State, no bounds and
// no lowering: loops and layouts come from a sketch (sketch.h).
//
//   a row for   the task                 work, bytes, registers, caches, cores
//               each axis of the anchor  extent, stride or dilation, what vectors leave over
//               each loop of the anchor  innermost first, through the loops that it is attached to
//               each stored tensor       its dimensions as they lie in memory
//               each step                that loops and layouts do not show: algorithm, place, unrolling, scope ..
//               each loop of others
//
// This is also the order in which rows are cut where there are more than kTokenRows. All rows share their columns:
// kind, what the stage is to the anchor, what the axis is, marks, and numbers that mean something else in each kind.
// docs/tuning/cost-models.md says where this leaves the paper.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cost/row.h"
#include "cost/sketch.h"
#include "task/task.h"

namespace tenon::cost {

inline constexpr uint32_t kTokenKinds = 40;  // primitives by id, up to 31; then the others
inline constexpr uint32_t kTokenMarks = 8, kTokenNumbers = 24;
inline constexpr uint32_t kTokenColumns =
    kTokenKinds + 8 + kAxisRoles + 1 + kTokenMarks + kTokenNumbers;
inline constexpr size_t kTokenRows = 64;

enum TokenKind : uint8_t {
  kTaskToken = 32,
  kAxisToken,
  kNestToken,
  kTensorToken,
  kLoopToken,
};

// Safe to call from several threads. Remembers what tasks begin with, so one for many programs is fast.
class Tokens {
 public:
  Result<Row> encode(const task::Task& t, const schedule::Trace& trace) const;

 private:
  struct Start;
  Result<std::shared_ptr<const Start>> start(const task::Task& t,
                                             const schedule::Trace& trace) const;

  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Start>> starts_;  // the newest last
};

// How they are computed: what a saved model must agree on.
uint64_t token_hash();

}  // namespace tenon::cost
