// SPDX-License-Identifier: Apache-2.0
// How expressions and statements are made. These functions check types, match lanes by broadcasting
// a scalar operand, and fold what is trivial on integers (constants, x+0, x*1, x*0, x-x of the same
// handle, comparisons of constants); everything deeper is arith/simplify's work.
//
//   Expr e = i * 16 + j;            // Var i, j
//   Stmt s = store(c, {i, j}, load(a, {i, k}) * load(b, {k, j}));
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"

namespace tenon::ir {

// Constants of any type; a vector type gives a Broadcast.
Expr make_int(DType t, int64_t v);
Expr make_float(DType t, double v);
Expr make_const(DType t, double v);  // of whichever class t is
Expr make_bool(bool v);
Expr zero_of(DType t);

Expr make_binary(BinaryOp op, Expr a, Expr b);
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // kDiv: floats, or truncating integers
Expr operator-(Expr a);
Expr floor_div(Expr a, Expr b);
Expr floor_mod(Expr a, Expr b);
Expr min(Expr a, Expr b);  // of floats: a NaN in a stays, one in b is passed over (ir.h)
Expr max(Expr a, Expr b);
Expr minimum(Expr a, Expr b);  // of floats: NaN if either is; of integers: min
Expr maximum(Expr a, Expr b);
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);
Expr lt(Expr a, Expr b);
Expr le(Expr a, Expr b);
Expr gt(Expr a, Expr b);  // lt(b, a)
Expr ge(Expr a, Expr b);  // le(b, a)
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr bit_not(Expr a);
Expr select(Expr condition, Expr on_true, Expr on_false);
Expr cast(DType t, Expr v);  // keeps v's lanes; returns v when nothing changes
Expr call(Intrinsic fn, std::vector<Expr> args);
// A predicate that is constantly true is dropped; constantly false gives 0 here and no_op in store.
Expr load(const Buffer& b, std::vector<Expr> indices, Expr predicate = Expr());
Expr ramp(Expr base, Expr stride, int lanes);  // returns base when lanes == 1
Expr broadcast(Expr v, int lanes);             // returns v when lanes == 1
// Into `lanes` groups of neighbours; returns v when each has one lane.
Expr vector_reduce(BinaryOp op, Expr v, int lanes = 1);

Stmt store(const Buffer& b, std::vector<Expr> indices, Expr value, Expr predicate = Expr());
Stmt make_for(const Var& v, Expr min, Expr extent, ForKind kind, Stmt body,
              ThreadTag tag = ThreadTag::kNone);
// A constant condition gives the case that it picks.
Stmt make_if(Expr condition, Stmt then_case, Stmt else_case = Stmt());
Stmt block(std::vector<Stmt>
               stmts);  // flattens nested blocks, drops empty ones; one statement stays itself
Stmt no_op();
bool is_no_op(const Stmt& s);
Stmt allocate(const Buffer& b, Stmt body);
Stmt barrier();
Stmt prefetch(const Buffer& b, std::vector<Expr> indices);
Stmt combine(BinaryOp op, const Buffer& b, int64_t threads);

// The value if `e` is an integer (or bool) constant; of a Broadcast of one too.
std::optional<int64_t> const_int(const Expr& e);
bool is_const(const Expr& e, int64_t v);
bool is_zero(const Expr& e);  // a constant of any type; -0.0 too
bool is_const_true(const Expr& e);
bool is_const_false(const Expr& e);
// The neutral element of a combining operation: 0 for kAdd, -inf or the lowest integer for kMax, ...
Expr identity_of(BinaryOp op, DType t);

}  // namespace tenon::ir
