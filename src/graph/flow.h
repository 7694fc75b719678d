// SPDX-License-Identifier: Apache-2.0
// Branches and loops of a model, which lie between its nodes (docs/control-flow.md). A model without any has an empty flow
// and its nodes run in their order. Otherwise each node belongs to a segment, and a list of instructions says what runs:
//
//   0  run segment 0                 i = 0
//   1  set i 0                       while (i < n) {
//   2  if i reached n go to 6          segment 1
//   3  run segment 1                   i += 1
//   4  add i 1                       }
//   5  go to 2
//   6  run segment 2                 segment 2
//
// Values that an instruction writes are variables: no node computes them, and they may be written again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::graph {

enum class FlowKind : uint8_t {
  kRun,      // the nodes of segment `number`
  kCopy,     // to = from
  kSet,      // to = number; to is one i64
  kAdd,      // to += number
  kClear,    // to = 0, every element
  kTake,     // to = from[at]; number 1: from[last - at]
  kPut,      // to[at] = from; number 1: to[last - at]
  kUnless,   // if from is false, go to `target`
  kReached,  // if at >= from, go to `target`; both are one i64
  kJump,     // go to `target`
  kCount,  // the first extent of `to`, an output of the model, is `at`, or what it is if that is less
};

struct FlowOp {
  FlowKind kind = FlowKind::kRun;
  int32_t to = -1, from = -1, at = -1;  // values; -1: it has none
  int64_t number = 0;
  int32_t target = -1;  // an instruction, or one behind the last

  bool goes() const {
    return kind == FlowKind::kUnless || kind == FlowKind::kReached || kind == FlowKind::kJump;
  }
  // What kPut and kAdd write, they leave in parts as it was: they read it too.
  std::vector<int32_t> reads() const;
  int32_t writes() const;  // -1: nothing
};

using Flow = std::vector<FlowOp>;

// "put %4[%2] = %3"; `name` says what a value is called.
std::string to_string(const FlowOp& op, const std::function<std::string(int32_t)>& name);

// Takes instructions away; those that went to one of them go to what follows it.
void erase_ops(Flow& flow, const std::vector<bool>& gone);

}  // namespace tenon::graph
