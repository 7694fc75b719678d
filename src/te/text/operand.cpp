// SPDX-License-Identifier: Apache-2.0
#include "te/text/operand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace tenon::te::text {
namespace {

using ir::BinaryOp;

// Every walk over a body is recursive; this keeps the stack small.
constexpr int kMaxDepth = 500;

constexpr std::array<std::pair<std::string_view, BinaryOp>, 9> kBinaryFunctions = {{
    {"min", BinaryOp::kMin},
    {"max", BinaryOp::kMax},
    {"minimum", BinaryOp::kMinimum},
    {"maximum", BinaryOp::kMaximum},
    {"bit_and", BinaryOp::kBitAnd},
    {"bit_or", BinaryOp::kBitOr},
    {"bit_xor", BinaryOp::kBitXor},
    {"shl", BinaryOp::kShl},
    {"shr", BinaryOp::kShr},
}};

bool fits(const Operand& o, ir::DType t) {
  if (t.code == ir::TypeCode::kUInt) {
    return (!o.negative || o.magnitude == 0) && (t.bits == 64 || o.magnitude >> t.bits == 0);
  }
  const uint64_t half = uint64_t{1} << (t.bits - 1);
  return o.negative ? o.magnitude <= half : o.magnitude < half;
}

std::string written(const Operand& o) {
  return o.is_float ? fmt::format("{}", o.negative ? -o.number : o.number)
                    : fmt::format("{}{}", o.negative ? "-" : "", o.magnitude);
}

// Integer literals combine into a literal, so that A[i] * (2 + 3) has the type of A.
std::optional<Operand> fold(BinaryOp op, const Operand& a, const Operand& b) {
  if (!a.literal() || !b.literal() || a.is_float || b.is_float) {
    return std::nullopt;
  }
  const auto value = [](const Operand& o) {
    return o.negative ? -static_cast<__int128>(o.magnitude) : static_cast<__int128>(o.magnitude);
  };
  __int128 v = 0;
  switch (op) {
    case BinaryOp::kAdd:
      v = value(a) + value(b);
      break;
    case BinaryOp::kSub:
      v = value(a) - value(b);
      break;
    case BinaryOp::kMul:
      if (__builtin_mul_overflow(value(a), value(b), &v)) {
        return std::nullopt;
      }
      break;
    default:
      return std::nullopt;
  }
  const __int128 size = v < 0 ? -v : v;
  if (size > static_cast<__int128>(std::numeric_limits<uint64_t>::max())) {
    return std::nullopt;
  }
  Operand o = a;
  o.negative = v < 0;
  o.magnitude = static_cast<uint64_t>(size);
  o.number = static_cast<double>(o.magnitude);
  return o;
}

// Empty if `op` can be applied to two values of type `t`.
std::string type_rule(BinaryOp op, ir::DType t) {
  switch (op) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      return t.is_bool() ? "" : "needs bool operands";
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return t.is_int() ? "" : "needs integer operands";
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      return t.is_float() ? "" : "needs float operands";
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      return "";
    default:
      return t.is_bool() ? "needs numbers, not bool" : "";
  }
}

bool divides(BinaryOp op) {
  return op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
}

}  // namespace

ir::Expr Types::as(const Operand& o, ir::DType t) const {
  if (!o.literal()) {
    return o.expr;
  }
  if (t.is_float()) {
    return ir::make_float(t, o.negative ? -o.number : o.number);
  }
  if (t.is_bool() || o.is_float) {
    cursor_.fail(o.at, fmt::format("type mismatch: the literal {} cannot be {}", written(o),
                                   ir::to_string(t)));
  }
  if (!fits(o, t)) {
    cursor_.fail(o.at, fmt::format("the literal {} does not fit {}", written(o), ir::to_string(t)));
  }
  const uint64_t bits = o.negative ? 0 - o.magnitude : o.magnitude;
  return ir::make_int(t, static_cast<int64_t>(bits));
}

ir::Expr Types::expect(const Operand& o, ir::DType t, const std::string& what) const {
  ir::Expr e = as(o, t);
  if (e.dtype() != t) {
    cursor_.fail(o.at, fmt::format("type mismatch: {} must be {}, not {}", what, ir::to_string(t),
                                   ir::to_string(e.dtype())));
  }
  return e;
}

std::vector<ir::Expr> Types::unify(const Token& op, const std::vector<Operand>& all) const {
  const auto typed =
      std::find_if(all.begin(), all.end(), [](const Operand& o) { return !o.literal(); });
  if (typed == all.end() &&
      std::any_of(all.begin(), all.end(), [](const Operand& o) { return o.is_float; })) {
    cursor_.fail(op, fmt::format("the type of the literals beside '{}' is not known", op.text),
                 "write one of them with its type, as in f32(1.0)");
  }
  const ir::DType t = typed == all.end() ? ir::kI64 : typed->expr.dtype();
  std::vector<ir::Expr> exprs;
  for (const Operand& o : all) {
    exprs.push_back(as(o, t));
    if (exprs.back().dtype() != t) {
      cursor_.fail(op,
                   fmt::format("type mismatch: '{}' of {} and {}", op.text, ir::to_string(t),
                               ir::to_string(exprs.back().dtype())),
                   fmt::format("cast one of them, as in {}(x)", ir::to_string(t)));
    }
  }
  return exprs;
}

Operand Types::make(const Token& at, ir::Expr e, std::initializer_list<int> depths) const {
  Operand o;
  o.at = at;
  o.expr = std::move(e);
  o.depth = 1 + (depths.size() == 0 ? 0 : std::max(depths));
  if (o.depth > kMaxDepth) {
    cursor_.fail(at, fmt::format("the expression is nested more than {} deep", kMaxDepth));
  }
  return o;
}

Operand Types::make(const Token& at, ir::Expr e, const std::vector<Operand>& parts) const {
  int depth = 0;
  for (const Operand& o : parts) {
    depth = std::max(depth, o.depth);
  }
  return make(at, std::move(e), {depth});
}

Operand Types::binary(const Token& op, BinaryOp code, const Operand& a, const Operand& b) const {
  if (const auto literal = fold(code, a, b)) {
    return *literal;
  }
  const std::vector<ir::Expr> ab = unify(op, {a, b});
  if (const std::string why = type_rule(code, ab[0].dtype()); !why.empty()) {
    cursor_.fail(op, fmt::format("type mismatch: '{}' {}, not {}", op.text, why,
                                 ir::to_string(ab[0].dtype())));
  }
  if (divides(code) && ir::is_const(ab[1], 0)) {
    cursor_.fail(op, "division by zero");
  }
  return make(a.at, ir::make_binary(code, ab[0], ab[1]), {a.depth, b.depth});
}

Operand Types::unary(const Token& op, ir::UnaryOp code, const Operand& a) const {
  if (code == ir::UnaryOp::kNeg && a.literal()) {
    Operand negated = a;
    negated.negative = !a.negative;
    return negated;
  }
  if (code == ir::UnaryOp::kNot) {
    return make(op, ir::logical_not(expect(a, ir::kBool, "the operand of 'not'")), {a.depth});
  }
  if (code == ir::UnaryOp::kBitNot) {
    const ir::Expr e = as(a, ir::kI64);
    if (!e.dtype().is_int()) {
      cursor_.fail(op, fmt::format("type mismatch: 'bit_not' of {}", ir::to_string(e.dtype())));
    }
    return make(op, ir::bit_not(e), {a.depth});
  }
  if (a.expr.dtype().is_bool()) {
    cursor_.fail(op, "type mismatch: '-' needs a number, not bool");
  }
  return make(op, -a.expr, {a.depth});
}

Operand Types::cast(const Token& name, ir::DType t, const Operand& a) const {
  if (t.is_vector()) {
    cursor_.fail(name, fmt::format("'{}' is a vector type; definitions are scalar", name.text));
  }
  return make(name, a.literal() ? as(a, t) : ir::cast(t, a.expr), {a.depth});
}

void Types::check_count(const Token& name, size_t got, size_t wanted) const {
  if (got != wanted) {
    cursor_.fail(name, fmt::format("'{}' takes {} argument{}, not {}", name.text, wanted,
                                   wanted == 1 ? "" : "s", got));
  }
}

Operand Types::select(const Token& name, const std::vector<Operand>& args) const {
  check_count(name, args.size(), 3);
  const ir::Expr condition = expect(args[0], ir::kBool, "the condition of select");
  const std::vector<ir::Expr> sides = unify(name, {args[1], args[2]});
  return make(name, ir::select(condition, sides[0], sides[1]), args);
}

Operand Types::intrinsic(const Token& name, ir::Intrinsic fn,
                         const std::vector<Operand>& args) const {
  check_count(name, args.size(), static_cast<size_t>(ir::arity(fn)));
  const std::vector<ir::Expr> values = unify(name, args);
  const ir::DType t = values[0].dtype();
  if (!t.is_float() && !(fn == ir::Intrinsic::kAbs && t.is_int())) {
    cursor_.fail(name, fmt::format("type mismatch: '{}' of {}", name.text, ir::to_string(t)),
                 "cast the argument, as in f32(x)");
  }
  return make(name, ir::call(fn, values), args);
}

Operand Types::call(const Token& name, const std::vector<Operand>& args) const {
  for (const auto& [word, code] : kBinaryFunctions) {
    if (name.text == word) {
      check_count(name, args.size(), 2);
      Operand o = binary(name, code, args[0], args[1]);
      o.at = name;
      return o;
    }
  }
  if (name.text == "select") {
    return select(name, args);
  }
  if (name.text == "bit_not") {
    check_count(name, args.size(), 1);
    return unary(name, ir::UnaryOp::kBitNot, args[0]);
  }
  if (const auto t = ir::parse_dtype(name.text)) {
    check_count(name, args.size(), 1);
    return cast(name, *t, args[0]);
  }
  if (const auto fn = ir::parse_intrinsic(name.text)) {
    return intrinsic(name, *fn, args);
  }
  cursor_.fail(name, fmt::format("unknown function '{}'", name.text),
               "a tensor is read with brackets, as in A[i]");
}

}  // namespace tenon::te::text
