// SPDX-License-Identifier: Apache-2.0
// The state behind simplify(): ranges in force, variables replaced, and what was already simplified.
// One file per concern: simplify_expr (dispatch), simplify_linear, simplify_divmod, simplify_compare,
// simplify_vector, simplify_stmt.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arith/interval.h"
#include "arith/linear.h"
#include "ir/ir.h"
#include "ir/visit.h"

namespace tenon::arith {

// Nodes of the expression as a tree.
int64_t node_count(const ir::Expr& e);

// What assume() changed, so that it can be taken back.
struct Undo {
  std::vector<std::pair<const ir::VarNode*, Interval>> saved;  // in order of change
  size_t facts = 0;
};
// Narrows `ranges` by `condition` (by its negation if not `holds`), noting changes in `undo`.
void assume(const ir::Expr& condition, bool holds, Ranges& ranges, Undo& undo);
// Narrows `ranges` by l >= 0.
void assume_non_negative(const Linear& l, Ranges& ranges, Undo& undo);
void take_back(const Undo& undo, Ranges& ranges);

class Simplifier {
 public:
  // Borrows `ranges` and copies it only when something is to be assumed.
  explicit Simplifier(const Ranges& ranges) : ranges_(&ranges) {}
  Simplifier(const Simplifier&) = delete;
  Simplifier& operator=(const Simplifier&) = delete;

  // To the fixed point.
  ir::Expr run(const ir::Expr& e);
  // One pass, bottom up; almost always already the fixed point.
  ir::Expr expr(const ir::Expr& e);
  // What intervals say about a condition as it stands; simplifies nothing.
  std::optional<bool> decide(const ir::Expr& condition) const;

  const Ranges& ranges() const { return *ranges_; }
  Ranges& own_ranges();
  void replace_var(const ir::VarNode* v, ir::Expr by) { replaced_[v] = std::move(by); }
  void keep_var(const ir::VarNode* v) { replaced_.erase(v); }

  // Inside its lifetime a condition (or its negation) is taken to hold.
  class Assumption {
   public:
    Assumption(Simplifier& s, const ir::Expr& condition, bool holds);
    // Opens a scope in which the caller narrows through `undo`.
    explicit Assumption(Simplifier& s);
    ~Assumption();
    Assumption(const Assumption&) = delete;
    Assumption& operator=(const Assumption&) = delete;
    Undo& undo() { return undo_; }

   private:
    Simplifier& s_;
    Undo undo_;
    std::unordered_map<const ir::ExprNode*, std::pair<ir::Expr, ir::Expr>> outer_memo_;
  };

 private:
  ir::Expr dispatch(const ir::Expr& e);
  ir::Expr variable(const ir::Expr& e);
  ir::Expr children(const ir::Expr& e);  // rebuilt from simplified children
  ir::Expr binary(const ir::Expr& e);
  ir::Expr select(const ir::Expr& e);
  ir::Expr logic(const ir::Expr& e);
  ir::Expr undecided(const ir::Expr& e, ir::BinaryOp op);
  // The table of rules on a node whose children are simple.
  ir::Expr table(const ir::Expr& e);

  ir::Expr linear(const ir::Expr& e);
  ir::Expr simplify_leaves(const ir::Expr& e);
  bool combine(Linear& l);
  bool join_remainder(Linear& l, size_t at);
  bool join_quotient(Linear& l, size_t at, const ir::Expr& x, int64_t c);
  bool join_congruent(Linear& l, size_t at, const ir::Expr& y, int64_t c);
  bool split_from_quotient(Linear& l, size_t at);

  ir::Expr divide(const ir::Expr& e);
  ir::Expr modulo(const ir::Expr& e);
  ir::Expr exclusive_or(const ir::Expr& e);
  ir::Expr compare(const ir::Expr& e);
  ir::Expr extremum(const ir::Expr& e);

  ir::Expr vector(const ir::Expr& e);
  ir::Expr float_vector(const ir::Expr& e);

  // `candidate` simplified if that is no larger than `e`, else `e`.
  ir::Expr accept(const ir::Expr& candidate, const ir::Expr& e);

  const Ranges* ranges_;
  std::optional<Ranges> own_;
  ir::VarMap replaced_;
  // Results for nodes that several parents share; the key's handle is kept so that its address stays
  // taken.
  std::unordered_map<const ir::ExprNode*, std::pair<ir::Expr, ir::Expr>> memo_;
  int depth_ = 0;
};

}  // namespace tenon::arith
