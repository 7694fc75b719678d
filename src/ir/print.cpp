// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ir/build.h"

namespace tenon::ir {
namespace {

constexpr std::string_view kScopes[] = {"global", "shared", "local", "register"};
constexpr std::string_view kKinds[] = {"", " parallel", " vectorized", " unrolled", ""};
constexpr std::string_view kTags[] = {"",          " block.x",  " block.y",  " block.z",
                                      " thread.x", " thread.y", " thread.z", " vthread"};

// Higher binds tighter; 0 marks operators written as calls.
int precedence(BinaryOp op) {
  switch (op) {
    case BinaryOp::kOr:
      return 1;
    case BinaryOp::kAnd:
      return 2;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
      return 3;
    case BinaryOp::kBitOr:
      return 4;
    case BinaryOp::kBitXor:
      return 5;
    case BinaryOp::kBitAnd:
      return 6;
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return 7;
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
      return 8;
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      return 9;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      return 0;
  }
  return 0;
}
constexpr int kUnaryPrecedence = 10;

std::string_view reduce_name(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "sum";
    case BinaryOp::kMul:
      return "product";
    default:
      return to_string(op);
  }
}

std::string float_text(DType t, double v) {
  std::string digits = std::isnan(v)   ? "nan"
                       : std::isinf(v) ? (v < 0 ? "-inf" : "inf")
                       : t.bits == 64  ? fmt::format("{}", v)
                                       : fmt::format("{}", static_cast<float>(v));
  if (digits.find_first_of(".en") == std::string::npos) {
    digits += ".0";
  }
  return t == kF32 ? digits : fmt::format("{}({})", to_string(t), digits);
}

class Printer {
 public:
  void expr(const Expr& e, int outer = 0);
  void stmt(const Stmt& s);
  void function(const Function& f);
  std::string take() { return std::move(out_); }

 private:
  void binary(const Binary* n, int outer);
  void int_imm(const IntImm* n);
  void access(const Buffer& b, const std::vector<Expr>& indices);
  void load(const Load* n);
  void vector_reduce(const VectorReduce* n);
  void call(std::string_view name, std::initializer_list<Expr> args);
  void list(const std::vector<Expr>& args);
  void loop(const For* n);
  void conditional(const If* n);
  void body(const Stmt& s);
  void declare(const Buffer& b);
  void line() { out_.append(static_cast<size_t>(depth_) * 2, ' '); }
  const std::string& name_of(const void* node, const std::string& name);

  std::string out_;
  int depth_ = 0;
  std::unordered_map<const void*, std::string> names_;
  std::unordered_set<std::string> taken_;
};

const std::string& Printer::name_of(const void* node, const std::string& name) {
  auto [it, fresh] = names_.try_emplace(node, name);
  if (fresh) {
    for (int suffix = 1; !taken_.insert(it->second).second; ++suffix) {
      it->second = fmt::format("{}_{}", name, suffix);
    }
  }
  return it->second;
}

void Printer::list(const std::vector<Expr>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    out_ += i == 0 ? "" : ", ";
    expr(args[i]);
  }
}

void Printer::call(std::string_view name, std::initializer_list<Expr> args) {
  out_ += name;
  out_ += '(';
  list(args);
  out_ += ')';
}

void Printer::access(const Buffer& b, const std::vector<Expr>& indices) {
  out_ += name_of(b.get(), b.name());
  out_ += '[';
  list(indices);
  out_ += ']';
}

void Printer::int_imm(const IntImm* n) {
  if (n->dtype.is_bool()) {
    out_ += n->value != 0 ? "true" : "false";
  } else if (n->dtype == kI64) {
    out_ += std::to_string(n->value);
  } else if (n->dtype == kU64) {
    out_ += fmt::format("u64({})", static_cast<uint64_t>(n->value));
  } else {
    out_ += fmt::format("{}({})", to_string(n->dtype), n->value);
  }
}

void Printer::binary(const Binary* n, int outer) {
  const int own = precedence(n->op);
  if (own == 0) {
    call(to_string(n->op), {n->a, n->b});
    return;
  }
  if (own < outer) {
    out_ += '(';
  }
  // Comparisons do not chain, so both sides need parentheses; the others group to the left.
  expr(n->a, is_comparison(n->op) ? own + 1 : own);
  out_ += fmt::format(" {} ", to_string(n->op));
  expr(n->b, own + 1);
  if (own < outer) {
    out_ += ')';
  }
}

void Printer::load(const Load* n) {
  out_ += n->predicate.defined() ? "(" : "";
  access(n->buffer, n->indices);
  if (n->predicate.defined()) {
    out_ += " if ";
    expr(n->predicate);
    out_ += ')';
  }
}

void Printer::vector_reduce(const VectorReduce* n) {
  const std::string name = fmt::format("reduce_{}", reduce_name(n->op));
  if (n->dtype.is_vector()) {
    call(name, {n->value, Expr(n->dtype.lanes)});
  } else {
    call(name, {n->value});
  }
}

void Printer::expr(const Expr& e, int outer) {
  if (!e.defined()) {
    out_ += "undefined";
    return;
  }
  switch (e.kind()) {
    case ExprKind::kIntImm:
      int_imm(e.as<IntImm>());
      break;
    case ExprKind::kFloatImm:
      out_ += float_text(e.dtype(), e.as<FloatImm>()->value);
      break;
    case ExprKind::kVarNode:
      out_ += name_of(e.get(), e.as<VarNode>()->name);
      break;
    case ExprKind::kCast:
      call(to_string(e.dtype()), {e.as<Cast>()->value});
      break;
    case ExprKind::kUnary: {
      constexpr std::string_view kSigns[] = {"not ", "-", "~"};
      out_ += kSigns[static_cast<size_t>(e.as<Unary>()->op)];
      expr(e.as<Unary>()->a, kUnaryPrecedence);
      break;
    }
    case ExprKind::kBinary:
      binary(e.as<Binary>(), outer);
      break;
    case ExprKind::kSelect: {
      const auto* n = e.as<Select>();
      call("select", {n->condition, n->on_true, n->on_false});
      break;
    }
    case ExprKind::kLoad:
      load(e.as<Load>());
      break;
    case ExprKind::kCall: {
      const auto* n = e.as<Call>();
      out_ += to_string(n->fn);
      out_ += '(';
      list(n->args);
      out_ += ')';
      break;
    }
    case ExprKind::kRamp: {
      const auto* n = e.as<Ramp>();
      call("ramp", {n->base, n->stride, Expr(n->dtype.lanes)});
      break;
    }
    case ExprKind::kBroadcast:
      call("broadcast", {e.as<Broadcast>()->value, Expr(e.dtype().lanes)});
      break;
    case ExprKind::kVectorReduce:
      vector_reduce(e.as<VectorReduce>());
      break;
  }
}

void Printer::body(const Stmt& s) {
  out_ += " {\n";
  ++depth_;
  stmt(s);
  --depth_;
  line();
  out_ += '}';
}

void Printer::loop(const For* n) {
  out_ += "for ";
  out_ += name_of(n->var.get(), n->var.name());
  out_ += " in ";
  expr(n->min, kUnaryPrecedence);
  out_ += "..";
  expr(n->min + n->extent, is_const(n->min, 0) ? kUnaryPrecedence : 0);
  out_ += kKinds[static_cast<size_t>(n->loop_kind)];
  out_ += kTags[static_cast<size_t>(n->tag)];
  body(n->body);
}

void Printer::conditional(const If* n) {
  out_ += "if ";
  expr(n->condition);
  body(n->then_case);
  if (n->else_case.defined()) {
    out_ += " else";
    body(n->else_case);
  }
}

void Printer::declare(const Buffer& b) {
  out_ += fmt::format("{}: {}[{}]", name_of(b.get(), b.name()), to_string(b.dtype()),
                      fmt::join(b.shape(), ", "));
  if (b->strides != row_major_strides(b.shape())) {
    out_ += fmt::format(" strides [{}]", fmt::join(b->strides, ", "));
  }
}

void Printer::stmt(const Stmt& s) {
  if (const auto* n = s.as<Block>()) {
    for (const Stmt& t : n->stmts) {
      stmt(t);
    }
    return;
  }
  line();
  switch (s.kind()) {
    case StmtKind::kFor:
      loop(s.as<For>());
      break;
    case StmtKind::kStore: {
      const auto* n = s.as<Store>();
      access(n->buffer, n->indices);
      out_ += " = ";
      expr(n->value);
      if (n->predicate.defined()) {
        out_ += " if ";
        expr(n->predicate);
      }
      break;
    }
    case StmtKind::kIf:
      conditional(s.as<If>());
      break;
    case StmtKind::kBlock:
      break;
    case StmtKind::kAllocate: {
      const auto* n = s.as<Allocate>();
      out_ += "allocate ";
      declare(n->buffer);
      out_ += ' ';
      out_ += kScopes[static_cast<size_t>(n->buffer->scope)];
      body(n->body);
      break;
    }
    case StmtKind::kBarrier:
      out_ += "barrier";
      break;
    case StmtKind::kPrefetch: {
      out_ += "prefetch ";
      access(s.as<Prefetch>()->buffer, s.as<Prefetch>()->indices);
      break;
    }
    case StmtKind::kCombine: {
      const auto* n = s.as<Combine>();
      out_ += fmt::format("combine {} by {} of {} threads",
                          name_of(n->buffer.get(), n->buffer.name()), to_string(n->op), n->threads);
      break;
    }
  }
  out_ += '\n';
}

void Printer::function(const Function& f) {
  out_ += fmt::format("func {}(", f.name);
  for (size_t i = 0; i < f.params.size(); ++i) {
    out_ += i == f.num_inputs ? ") -> (" : i == 0 ? "" : ", ";
    declare(f.params[i]);
  }
  out_ += ')';
  body(f.body);
  out_ += '\n';
}

}  // namespace

std::string to_string(const Expr& e) {
  Printer p;
  p.expr(e);
  return p.take();
}

std::string to_string(const Stmt& s) {
  Printer p;
  p.stmt(s);
  return p.take();
}

std::string to_string(const Function& f) {
  Printer p;
  p.function(f);
  return p.take();
}

}  // namespace tenon::ir
