// SPDX-License-Identifier: Apache-2.0
// Loops: written out turn by turn while the model is read, or as a loop of the program.
//
//   Turns t;                        state = initial
//   t.initial = {x};                for (turn = 0; turn < count && condition; ++turn)
//   t.body = ...;                     condition, state, scanned[turn] = body(turn, state, through[turn])
//   write_turns(c, t)
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "onnx/converter.h"

namespace tenon::onnx {

// Up to so many turns are written out: what they compute may be known then, and kernels of neighbours may become one.
// More of them become a loop, unless all they compute is known.
inline constexpr int64_t kMaxWrittenOut = 32;

// What one turn computes.
struct Turn {
  ValueId condition = -1;  // whether there is another turn; -1: it does not say
  std::vector<ValueId> state, scanned;
};

struct Turns {
  std::string op;          // "Loop", for refusals
  ValueId count = -1;      // how many turns at most, one i64; -1: no limit
  ValueId condition = -1;  // whether there is a first turn; -1: there is
  std::vector<ValueId> initial;
  struct Through {
    ValueId from = -1;  // what is gone through along its first axis
    bool backward = false;
  };
  std::vector<Through> through;
  std::vector<bool> scanned_backward;  // by what is scanned; those behind the last are not
  size_t wanted = 0;                   // how many of what is scanned are results
  std::function<Turn(ValueId turn, const std::vector<ValueId>& state,
                     const std::vector<ValueId>& elements)>
      body;
};

// The last state, then what was scanned along a new first axis. Unsupported if it cannot be done.
std::vector<ValueId> write_turns(Convert& c, const Turns& t);

// Both ways on their own. The first is given up, with nothing returned, behind kMaxWrittenOut turns that did not become
// constants, unless `all` are wanted.
std::optional<std::vector<ValueId>> write_out(Convert& c, const Turns& t, bool all);
std::vector<ValueId> write_loop(Convert& c, const Turns& t);

// Values of equal shape along a new dimension.
ValueId stack(graph::GraphBuilder& b, const std::vector<ValueId>& xs, int64_t dim);
// x[at] along dimension `dim`, without that dimension, as one of `of_many`.
ValueId element(graph::GraphBuilder& b, ValueId x, int64_t dim, int64_t at, int64_t of_many);

}  // namespace tenon::onnx
