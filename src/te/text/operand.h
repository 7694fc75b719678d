// SPDX-License-Identifier: Apache-2.0
// A parsed value: a typed expression, or a literal that takes its type from the operand beside it.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/build.h"
#include "te/text/lexer.h"

namespace tenon::te::text {

struct Operand {
  Token at;       // where it starts
  ir::Expr expr;  // undefined for a literal
  bool is_float = false;
  bool negative = false;
  uint64_t magnitude = 0;  // of an integer literal
  double number = 0;       // absolute value, of both kinds
  int depth = 1;           // height of the tree

  bool literal() const { return !expr.defined(); }
};

class Types {
 public:
  explicit Types(const Cursor& cursor) : cursor_(cursor) {}
  // The expression; a literal becomes a constant of type `t` or is refused if it does not fit.
  ir::Expr as(const Operand& o, ir::DType t) const;
  // The expression, which must be of type `t`; `what` names it in the refusal.
  ir::Expr expect(const Operand& o, ir::DType t, const std::string& what) const;
  // All of one type: that of the first that is no literal; integer literals alone are i64.
  std::vector<ir::Expr> unify(const Token& op, const std::vector<Operand>& all) const;
  Operand binary(const Token& op, ir::BinaryOp code, const Operand& a, const Operand& b) const;
  Operand unary(const Token& op, ir::UnaryOp code, const Operand& a) const;
  Operand call(const Token& name, const std::vector<Operand>& args) const;

 private:
  Operand make(const Token& at, ir::Expr e, std::initializer_list<int> depths) const;
  Operand make(const Token& at, ir::Expr e, const std::vector<Operand>& parts) const;
  Operand cast(const Token& name, ir::DType t, const Operand& a) const;
  Operand select(const Token& name, const std::vector<Operand>& args) const;
  Operand intrinsic(const Token& name, ir::Intrinsic fn, const std::vector<Operand>& args) const;
  void check_count(const Token& name, size_t got, size_t wanted) const;

  const Cursor& cursor_;
};

}  // namespace tenon::te::text
