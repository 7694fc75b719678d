// SPDX-License-Identifier: Apache-2.0
// Expressions of the text form, loosest first: or, and, not, comparisons (one, not chained), + -,
// * / // %, unary -, then reads, calls, axes, literals and parentheses.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "te/dag.h"
#include "te/text/lexer.h"
#include "te/text/operand.h"

namespace tenon::te::text {

struct Names {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, ir::Var> axes;
};

class ExprParser {
 public:
  ExprParser(Cursor& cursor, const Names& names) : cursor_(cursor), names_(names), types_(cursor) {}
  Operand parse() { return disjunction(); }
  // Where each read was written.
  const std::unordered_map<const ir::ExprNode*, Token>& places() const { return places_; }

 private:
  Operand disjunction();
  Operand conjunction();
  Operand negation();
  Operand comparison();
  Operand sum();
  Operand product();
  Operand unary();
  Operand primary();
  Operand name();
  Operand read(const Token& name);
  std::vector<Operand> list(std::string_view close, const Token& open);

  Cursor& cursor_;
  const Names& names_;
  Types types_;
  int nesting_ = 0;
  std::unordered_map<const ir::ExprNode*, Token> places_;
};

}  // namespace tenon::te::text
