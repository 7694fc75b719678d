// SPDX-License-Identifier: Apache-2.0
// Random flat functions that the interpreter accepts and whose answer does not depend on how
// products are fused: f32 and f64 values that are added are integers small enough to be exact.
#pragma once

#include <vector>

#include "ir/build.h"
#include "support/rng.h"

namespace tenon::backend {

class RandomProgram {
 public:
  explicit RandomProgram(Rng& rng) : rng_(rng) {}
  ir::Function make();

 private:
  struct Loop {
    ir::Var var;
    int64_t extent;  // an upper bound
  };
  // A value and, when it is an integer (of any type), a bound of its magnitude; 0: not known to be
  // one.
  struct Value {
    ir::Expr e;
    double bound = 0;
  };

  ir::Stmt nest(int depth, bool may_be_parallel);
  ir::Stmt statement(int depth);
  ir::Stmt store_to_new_output();
  ir::Stmt register_tile();
  ir::Stmt temporary(int depth);

  Value value(ir::DType t, int depth);
  Value leaf(ir::DType t);
  Value int_value(ir::DType t, int depth);
  Value float_value(ir::DType t, int depth);
  Value bool_value(int lanes, int depth);
  Value cast_value(ir::DType t, int depth);
  Value select_value(ir::DType t, int depth);
  ir::Expr read(ir::DType t);
  ir::Expr guarded_read(const ir::Buffer& b, int lanes);
  // An index of any sign whose magnitude stays small; scalar or with lanes.
  ir::Expr index(int lanes, int depth);
  ir::DType any_type(int lanes);
  int any_lanes();
  // Places that no two iterations of the loops around share.
  ir::Expr own_place(int64_t per_iteration);
  int64_t iterations() const;

  Rng& rng_;
  std::vector<ir::Buffer> inputs_, outputs_;
  std::vector<ir::Buffer> readable_;  // filled temporaries in scope
  std::vector<Loop> loops_;
  int depth_of_parallel_ = 0;
};

}  // namespace tenon::backend
