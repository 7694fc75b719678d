// SPDX-License-Identifier: Apache-2.0
#include "te/text/parse_expr.h"

#include <fmt/format.h>

#include <limits>

namespace tenon::te::text {
namespace {

using ir::BinaryOp;

constexpr int kMaxNesting = 200;

template <class Map>
std::string known_names(const Map& map) {
  std::string all;
  size_t count = 0;
  for (const auto& [name, value] : map) {
    all += (count == 0 ? "" : ", ") + name;
    if (++count == 8 && map.size() > 8) {
      return all + ", ...";
    }
  }
  return all.empty() ? "none" : all;
}

Operand literal(const Token& t, bool is_float) {
  Operand o;
  o.at = t;
  o.is_float = is_float;
  o.magnitude = t.magnitude;
  o.number = t.number;
  return o;
}

}  // namespace

Operand ExprParser::disjunction() {
  if (++nesting_ > kMaxNesting) {
    cursor_.fail(cursor_.peek(), fmt::format("nested more than {} deep", kMaxNesting));
  }
  Operand left = conjunction();
  while (cursor_.peek().is_word("or")) {
    const Token op = cursor_.next();
    left = types_.binary(op, BinaryOp::kOr, left, conjunction());
  }
  --nesting_;
  return left;
}

Operand ExprParser::conjunction() {
  Operand left = negation();
  while (cursor_.peek().is_word("and")) {
    const Token op = cursor_.next();
    left = types_.binary(op, BinaryOp::kAnd, left, negation());
  }
  return left;
}

Operand ExprParser::negation() {
  if (!cursor_.peek().is_word("not")) {
    return comparison();
  }
  const Token op = cursor_.next();
  if (++nesting_ > kMaxNesting) {
    cursor_.fail(op, fmt::format("nested more than {} deep", kMaxNesting));
  }
  Operand o = types_.unary(op, ir::UnaryOp::kNot, negation());
  --nesting_;
  return o;
}

Operand ExprParser::comparison() {
  Operand left = sum();
  const Token op = cursor_.peek();
  const auto step = [&](BinaryOp code, bool swapped) {
    cursor_.next();
    const Operand right = sum();
    left = swapped ? types_.binary(op, code, right, left) : types_.binary(op, code, left, right);
  };
  if (op.is("==")) {
    step(BinaryOp::kEq, false);
  } else if (op.is("!=")) {
    step(BinaryOp::kNe, false);
  } else if (op.is("<") || op.is("<=")) {
    step(op.is("<") ? BinaryOp::kLt : BinaryOp::kLe, false);
  } else if (op.is(">") || op.is(">=")) {
    step(op.is(">") ? BinaryOp::kLt : BinaryOp::kLe, true);
  }
  return left;
}

Operand ExprParser::sum() {
  Operand left = product();
  while (cursor_.peek().is("+") || cursor_.peek().is("-")) {
    const Token op = cursor_.next();
    left = types_.binary(op, op.is("+") ? BinaryOp::kAdd : BinaryOp::kSub, left, product());
  }
  return left;
}

Operand ExprParser::product() {
  Operand left = unary();
  while (true) {
    const Token op = cursor_.peek();
    BinaryOp code = BinaryOp::kMul;
    if (op.is("/")) {
      code = BinaryOp::kDiv;
    } else if (op.is("//")) {
      code = BinaryOp::kFloorDiv;
    } else if (op.is("%")) {
      code = BinaryOp::kFloorMod;
    } else if (!op.is("*")) {
      return left;
    }
    cursor_.next();
    left = types_.binary(op, code, left, unary());
  }
}

Operand ExprParser::unary() {
  if (!cursor_.peek().is("-")) {
    return primary();
  }
  const Token op = cursor_.next();
  if (++nesting_ > kMaxNesting) {
    cursor_.fail(op, fmt::format("nested more than {} deep", kMaxNesting));
  }
  Operand o = types_.unary(op, ir::UnaryOp::kNeg, unary());
  --nesting_;
  return o;
}

Operand ExprParser::primary() {
  const Token t = cursor_.peek();
  if (t.kind == TokenKind::kInt || t.kind == TokenKind::kFloat) {
    cursor_.next();
    return literal(t, t.kind == TokenKind::kFloat);
  }
  if (t.is("(")) {
    cursor_.next();
    Operand o = disjunction();
    cursor_.expect_close(")", t);
    return o;
  }
  if (t.kind == TokenKind::kName) {
    return name();
  }
  cursor_.fail(t, fmt::format("expected an expression, found {}", describe(t)));
}

Operand ExprParser::name() {
  const Token t = cursor_.next();
  if (cursor_.peek().is("[")) {
    return read(t);
  }
  if (cursor_.peek().is("(") && !t.quoted) {
    const Token open = cursor_.next();
    return types_.call(t, list(")", open));
  }
  Operand o;
  o.at = t;
  if (t.is_word("true") || t.is_word("false")) {
    o.expr = ir::make_bool(t.is_word("true"));
    return o;
  }
  if (t.is_word("inf") || t.is_word("nan")) {
    o.is_float = true;
    o.number = t.is_word("inf") ? std::numeric_limits<double>::infinity()
                                : std::numeric_limits<double>::quiet_NaN();
    return o;
  }
  const auto axis = names_.axes.find(t.text);
  if (axis != names_.axes.end()) {
    o.expr = axis->second;
    return o;
  }
  if (names_.tensors.count(t.text) != 0) {
    cursor_.fail(t, fmt::format("tensor '{}' is used without indices", t.text),
                 fmt::format("write {}[...]", quote_name(t.text)));
  }
  cursor_.fail(t, fmt::format("unknown axis '{}'", t.text),
               "axes here: " + known_names(names_.axes));
}

Operand ExprParser::read(const Token& name) {
  const auto found = names_.tensors.find(name.text);
  if (found == names_.tensors.end()) {
    cursor_.fail(name, fmt::format("unknown tensor '{}'", name.text),
                 "declared so far: " + known_names(names_.tensors));
  }
  const Tensor& tensor = found->second;
  const Token open = cursor_.next();
  const std::vector<Operand> at = list("]", open);
  if (at.size() != tensor.rank()) {
    cursor_.fail(name, fmt::format("'{}' has rank {} but is read with {} {}", name.text,
                                   tensor.rank(), at.size(), at.size() == 1 ? "index" : "indices"));
  }
  std::vector<ir::Expr> indices;
  Operand o;
  for (const Operand& i : at) {
    indices.push_back(types_.expect(i, ir::kI64, fmt::format("an index of '{}'", name.text)));
    o.depth = std::max(o.depth, i.depth + 1);
  }
  o.at = name;
  o.expr = ir::load(tensor, std::move(indices));
  places_[o.expr.get()] = name;
  return o;
}

std::vector<Operand> ExprParser::list(std::string_view close, const Token& open) {
  std::vector<Operand> all;
  if (cursor_.accept(close)) {
    return all;
  }
  do {
    all.push_back(disjunction());
  } while (cursor_.accept(","));
  cursor_.expect_close(close, open);
  return all;
}

}  // namespace tenon::te::text
