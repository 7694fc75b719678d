// SPDX-License-Identifier: Apache-2.0
// Sequences while a model is read. Each is a list of tensors and has a value of the graph that stands for it, so that it is
// passed on, captured and given back as tensors are; nothing is computed for that value.
//
//   SequenceInsert(s, x)        the list of s and x
//   a loop that inserts x       the list of s and one piece: a tensor with a row for each turn
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "graph/graph.h"

namespace tenon::onnx {

struct Piece {
  graph::ValueId value = -1;
  int64_t rows = kOne;  // so many tensors, one behind the other along its first axis
  bool operator==(const Piece&) const = default;

  static constexpr int64_t kOne = -1;     // it is one tensor itself
  static constexpr int64_t kBefore = -2;  // inside of a loop: all that was there before this turn
  static constexpr int64_t kCounted =
      -3;  // as many rows as the loop had turns, which the run decides
  static constexpr int64_t kUnsized =
      -4;  // one tensor that is as large as `value`, a split, says when the model runs
};

class Sequences {
 public:
  // Null: the value is a tensor.
  const std::vector<Piece>* find(graph::ValueId v) const {
    const auto it = known_.find(v);
    return it != known_.end() ? &it->second : nullptr;
  }
  void add(graph::ValueId v, std::vector<Piece> pieces) { known_[v] = std::move(pieces); }
  // Forgets those of values from `first` on, which are taken back.
  void shrink(graph::ValueId first) { known_.erase(known_.lower_bound(first), known_.end()); }

 private:
  std::map<graph::ValueId, std::vector<Piece>> known_;
};

}  // namespace tenon::onnx
