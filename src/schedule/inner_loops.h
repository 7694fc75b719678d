// SPDX-License-Identifier: Apache-2.0
// Which loops run through all their values while an attached stage keeps one box.
//
//   compute_at B C i:  for i { B's box; for j { C } }      =>      inner_loops(B) == {j of C}
#pragma once

#include <algorithm>
#include <vector>

#include "schedule/bounds.h"

namespace tenon::schedule {

// A few dozen at most: looking at all of them is cheaper than hashing.
class VarSet {
 public:
  void insert(const ir::VarNode* v) { vars_.push_back(v); }
  bool contains(const ir::VarNode* v) const {
    return std::find(vars_.begin(), vars_.end(), v) != vars_.end();
  }

 private:
  std::vector<const ir::VarNode*> vars_;
};

bool uses_any(const ir::Expr& e, const VarSet& vars);

// The loops inside of the place where `st` is attached. For a stage in shared memory these are the
// loops of the block's threads too, wherever they stand.
VarSet inner_loops(const State& s, const Bounds& b, const Stage& st);

}  // namespace tenon::schedule
