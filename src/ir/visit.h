// SPDX-License-Identifier: Apache-2.0
// Walking and rewriting. One-offs take lambdas; a class is only for state shared by several cases.
//
//   visit(stmt, [&](const Expr& e) { if (e.as<Load>()) ++loads; });
//   Stmt t = substitute(stmt, {{i.node(), 4}});
//
// A Mutator rebuilds a node only when a child changed; otherwise the same handle comes back. Override
// `mutate(const Expr&)` or `mutate(const Stmt&)` for the kinds of interest and call `descend` for the
// rest. Rebuilding goes through build.h, so trivial folding happens on the way.
#pragma once

#include "ir/ir.h"
#include "support/flat_map.h"
#include "support/function_ref.h"

namespace tenon::ir {

class Mutator {
 public:
  virtual ~Mutator() = default;
  virtual Expr mutate(const Expr& e) { return descend(e); }
  virtual Stmt mutate(const Stmt& s) { return descend(s); }

 protected:
  // Rebuilds with mutated children; keeps buffers, loop variables, kinds and tags.
  Expr descend(const Expr& e);
  Stmt descend(const Stmt& s);
};

// Pre-order over expressions, including those inside statements. Undefined handles are skipped.
void visit(const Expr& e, FunctionRef<void(const Expr&)> fn);
// The loads of an expression, those inside the indices of others too, in the same order.
void visit_loads(const Expr& e, FunctionRef<void(const Load&)> fn);
void visit(const Stmt& s, FunctionRef<void(const Expr&)> on_expr);
void visit(const Stmt& s, FunctionRef<void(const Stmt&)> on_stmt);
// The direct children, in order; undefined ones skipped.
void for_each_child(const Expr& e, FunctionRef<void(const Expr&)> fn);

// Post-order rewriting: `fn` sees each node after its children were rewritten and returns its
// replacement (or the node itself).
Expr rewrite(const Expr& e, FunctionRef<Expr(const Expr&)> fn);
Stmt rewrite(const Stmt& s, FunctionRef<Expr(const Expr&)> on_expr,
             FunctionRef<Stmt(const Stmt&)> on_stmt = nullptr);
// The same for loads alone: what has none inside is not looked at.
Expr rewrite_loads(const Expr& e, FunctionRef<Expr(const Load&)> fn);

using VarMap = FlatMap<const VarNode*, Expr>;
Expr substitute(const Expr& e, const VarMap& map);
Stmt substitute(const Stmt& s, const VarMap& map);

bool uses_var(const Expr& e, const VarNode* v);
bool reads(const Expr& e, const Buffer& b);
bool uses_var(const Stmt& s, const VarNode* v);

}  // namespace tenon::ir
