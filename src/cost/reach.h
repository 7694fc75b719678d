// SPDX-License-Identifier: Apache-2.0
// How far each loop takes an index, alone: much less than Forms knows, and much cheaper. Quotients and remainders are
// taken loop by loop; what is not understood reaches anywhere.
//
//   loops f (12), j (4):   (f // 3)*4 + j   =>   f: step 0, span 12;   j: step 1, span 3
#pragma once

#include <span>
#include <vector>

#include "ir/ir.h"

namespace tenon::cost {

struct Reach {
  double step = 0;  // what the first step of the loop adds
  double span = 0;  // between the first and the last; 0: the loop does not move the index
};

class ReachTable {
 public:
  using Row = int32_t;  // a Reach per loop

  // Forgets all rows; those to come are over loops of these extents.
  void reset(std::span<const double> extents);
  void name_loop(const ir::VarNode* v, size_t loop) { name(v, ~int32_t(loop)); }
  void name_row(const ir::VarNode* v, Row r) { name(v, r); }
  // A variable without a name does not move. The row of a named variable is that row itself.
  Row of(const ir::Expr& e);
  Row of_sum(const ir::Expr& a, const ir::Expr& b);

  std::span<const Reach> row(Row r) const {
    return {reaches_.data() + static_cast<size_t>(r) * loops_, loops_};
  }

 private:
  Row make();
  Reach* at(Row r) { return reaches_.data() + static_cast<size_t>(r) * loops_; }
  struct Name {
    const ir::VarNode* var = nullptr;
    int32_t what = 0;  // a row, or ~loop
  };
  void name(const ir::VarNode* v, int32_t what);
  size_t slot_of(const ir::VarNode* v) const;
  const int32_t* name_of(const ir::VarNode* v) const;
  void add(const ir::Expr& e, double k, Row out);
  void add_variable(const ir::VarNode* v, double k, Row out);
  void add_row(Row in, double k, Row out);
  bool add_binary(const ir::Binary& b, double k, Row out);
  void add_divided(const ir::Binary& b, double divisor, double k, Row out);
  void add_anywhere(const ir::Expr& e, Row out);

  size_t loops_ = 0;
  std::vector<double> extents_;
  std::vector<Name> names_ =
      std::vector<Name>(64);  // a table by address, never more than half full
  size_t named_ = 0;
  std::vector<Reach> reaches_;
  Row rows_ = 0;
};

}  // namespace tenon::cost
