// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <set>
#include <unordered_map>

#include "support/check.h"
#include "te/text.h"
#include "te/text/lexer.h"

namespace tenon::te {
namespace {

using ir::BinaryOp;
using text::quote_name;

// How tightly each form binds; an operand that binds more loosely than its place needs parentheses.
enum Level { kOr = 1, kAnd, kNot, kCompare, kSum, kProduct, kUnary, kPrimary };

struct Infix {
  const char* text;
  Level level;
};

std::optional<Infix> infix(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return Infix{"+", kSum};
    case BinaryOp::kSub:
      return Infix{"-", kSum};
    case BinaryOp::kMul:
      return Infix{"*", kProduct};
    case BinaryOp::kDiv:
      return Infix{"/", kProduct};
    case BinaryOp::kFloorDiv:
      return Infix{"//", kProduct};
    case BinaryOp::kFloorMod:
      return Infix{"%", kProduct};
    case BinaryOp::kEq:
      return Infix{"==", kCompare};
    case BinaryOp::kNe:
      return Infix{"!=", kCompare};
    case BinaryOp::kLt:
      return Infix{"<", kCompare};
    case BinaryOp::kLe:
      return Infix{"<=", kCompare};
    case BinaryOp::kAnd:
      return Infix{"and", kAnd};
    case BinaryOp::kOr:
      return Infix{"or", kOr};
    default:
      return std::nullopt;
  }
}

const char* function_name(BinaryOp op) {
  switch (op) {
    case BinaryOp::kMin:
      return "min";
    case BinaryOp::kMax:
      return "max";
    case BinaryOp::kMinimum:
      return "minimum";
    case BinaryOp::kMaximum:
      return "maximum";
    case BinaryOp::kBitAnd:
      return "bit_and";
    case BinaryOp::kBitOr:
      return "bit_or";
    case BinaryOp::kBitXor:
      return "bit_xor";
    case BinaryOp::kShl:
      return "shl";
    case BinaryOp::kShr:
      return "shr";
    default:
      TENON_CHECK(false) << "no function for " << ir::to_string(op);
      return "";
  }
}

const char* reduction_name(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "sum";
    case BinaryOp::kMul:
      return "prod";
    case BinaryOp::kMin:
      return "min";
    case BinaryOp::kMax:
      return "max";
    case BinaryOp::kMinimum:
      return "minimum";
    case BinaryOp::kMaximum:
      return "maximum";
    case BinaryOp::kAnd:
      return "all";
    case BinaryOp::kOr:
      return "any";
    default:
      TENON_CHECK(false) << "no reduction by " << ir::to_string(op);
      return "";
  }
}

// Literals other than true and false take their type from what stands beside them.
bool is_literal(const ir::Expr& e) {
  return e.as<ir::FloatImm>() != nullptr || (e.as<ir::IntImm>() != nullptr && !e.dtype().is_bool());
}

// The shortest digits that read back as the same value of type `t`.
std::string float_text(ir::DType t, double v) {
  if (std::isnan(v)) {
    return "nan";
  }
  std::string s = fmt::format("{}", v);
  if (t.bits < 64) {
    const std::string brief = fmt::format("{}", static_cast<float>(v));
    double back = 0;
    std::from_chars(brief.data(), brief.data() + brief.size(), back);
    s = static_cast<float>(back) == static_cast<float>(v) ? brief : s;
  }
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
}

std::string literal_text(const ir::Expr& e) {
  if (const auto* f = e.as<ir::FloatImm>()) {
    return float_text(e.dtype(), f->value);
  }
  const int64_t v = e.as<ir::IntImm>()->value;
  return e.dtype() == ir::kU64 ? fmt::format("{}", static_cast<uint64_t>(v)) : fmt::format("{}", v);
}

class OpPrinter {
 public:
  explicit OpPrinter(const ComputeOp& op) : op_(op) {}

  std::string run() {
    std::string s = fmt::format("{}[{}] = ", quote_name(op_.name()), axes(op_.axes));
    if (op_.is_reduction()) {
      s += fmt::format("{}({}) ", reduction_name(*op_.combiner), axes(op_.reduce_axes));
    }
    // A body that starts with min(k: ...) would read as a reduction; it never does, as calls take values.
    return s + typed(op_.body, kOr);
  }

 private:
  std::string axes(const std::vector<Axis>& all) {
    std::string s;
    for (const Axis& a : all) {
      std::string name = a.var.name();
      for (int n = 1; name.empty() || !taken_.insert(name).second; ++n) {
        name = fmt::format("{}_{}", a.var.name(), n);
      }
      names_[a.var.node()] = quote_name(name);
      s += fmt::format("{}{}: {}", s.empty() ? "" : ", ", quote_name(name), a.extent);
    }
    return s;
  }

  // With its own type spelled out where nothing beside it tells.
  std::string typed(const ir::Expr& e, Level place) {
    return is_literal(e) ? fmt::format("{}({})", ir::to_string(e.dtype()), literal_text(e))
                         : plain(e, place);
  }

  std::string plain(const ir::Expr& e, Level place) {
    const auto [s, level] = print(e);
    return level < place ? "(" + s + ")" : s;
  }

  // Arguments that share one type: the first is spelled out if all are literals.
  std::string shared(const std::vector<ir::Expr>& args) {
    bool all_literal = true;
    for (const ir::Expr& a : args) {
      all_literal = all_literal && is_literal(a);
    }
    std::string s;
    for (const ir::Expr& a : args) {
      s += s.empty() ? (all_literal ? typed(a, kOr) : plain(a, kOr)) : ", " + plain(a, kOr);
    }
    return s;
  }

  std::pair<std::string, Level> print(const ir::Expr& e) {
    if (is_literal(e)) {
      std::string s = literal_text(e);
      return {s, s[0] == '-' ? kUnary : kPrimary};
    }
    switch (e.kind()) {
      case ir::ExprKind::kIntImm:
        return {ir::is_const_true(e) ? "true" : "false", kPrimary};
      case ir::ExprKind::kVarNode:
        return {names_.at(e.as<ir::VarNode>()), kPrimary};
      case ir::ExprKind::kCast:
        return {
            fmt::format("{}({})", ir::to_string(e.dtype()), typed(e.as<ir::Cast>()->value, kOr)),
            kPrimary};
      case ir::ExprKind::kUnary:
        return unary(*e.as<ir::Unary>());
      case ir::ExprKind::kBinary:
        return binary(*e.as<ir::Binary>());
      case ir::ExprKind::kSelect: {
        const auto* s = e.as<ir::Select>();
        return {fmt::format("select({}, {})", plain(s->condition, kOr),
                            shared({s->on_true, s->on_false})),
                kPrimary};
      }
      case ir::ExprKind::kLoad:
        return {load(*e.as<ir::Load>()), kPrimary};
      case ir::ExprKind::kCall: {
        const auto* c = e.as<ir::Call>();
        return {fmt::format("{}({})", ir::to_string(c->fn), shared(c->args)), kPrimary};
      }
      default:
        TENON_CHECK(false) << op_.name() << " holds a vector expression";
        return {"", kPrimary};
    }
  }

  std::pair<std::string, Level> unary(const ir::Unary& u) {
    switch (u.op) {
      case ir::UnaryOp::kNot:
        return {"not " + plain(u.a, kNot), kNot};
      case ir::UnaryOp::kNeg:
        return {"-" + typed(u.a, kUnary), kUnary};
      default:
        return {fmt::format("bit_not({})", typed(u.a, kOr)), kPrimary};
    }
  }

  std::pair<std::string, Level> binary(const ir::Binary& b) {
    const auto in = infix(b.op);
    if (!in) {
      return {fmt::format("{}({})", function_name(b.op), shared({b.a, b.b})), kPrimary};
    }
    // Comparisons do not chain; the others group to the left.
    const Level right = static_cast<Level>(in->level + 1);
    const Level left = in->level == kCompare ? right : in->level;
    const bool both = is_literal(b.a) && is_literal(b.b);
    return {fmt::format("{} {} {}", both ? typed(b.a, left) : plain(b.a, left), in->text,
                        plain(b.b, right)),
            in->level};
  }

  std::string load(const ir::Load& l) {
    std::string s;
    for (const ir::Expr& i : l.indices) {
      s += (s.empty() ? "" : ", ") + plain(i, kOr);
    }
    return fmt::format("{}[{}]", quote_name(l.buffer.name()), s);
  }

  const ComputeOp& op_;
  std::set<std::string> taken_;
  std::unordered_map<const ir::VarNode*, std::string> names_;
};

}  // namespace

std::string to_text(const ComputeOp& op) { return OpPrinter(op).run(); }

std::string to_text(const ComputeDag& dag) {
  std::string s;
  if (dag.name != "kernel" && !dag.name.empty()) {
    s += fmt::format("kernel {}\n", quote_name(dag.name));
  }
  for (const Input& in : dag.inputs) {
    s += fmt::format("{} {}: {}[{}]\n", in.constant ? "const" : "input",
                     quote_name(in.tensor.name()), ir::to_string(in.tensor.dtype()),
                     fmt::join(in.tensor.shape(), ", "));
  }
  for (const OpRef& op : dag.ops) {
    s += to_text(*op) + "\n";
  }
  for (const Tensor& t : dag.outputs) {
    s += fmt::format("output {}\n", quote_name(t.name()));
  }
  return s;
}

}  // namespace tenon::te
