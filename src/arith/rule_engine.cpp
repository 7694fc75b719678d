// SPDX-License-Identifier: Apache-2.0
// Finds the rules for an expression by its operator, matches and replaces.
#include <cmath>
#include <optional>
#include <vector>

#include "arith/linear.h"
#include "arith/rule_text.h"
#include "arith/rules.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

constexpr int kFirstBool = 4;
constexpr int kFirstConstant = 7;
// Products of two constants of a rule stay far inside 64 bits.
constexpr int64_t kLargestConstant = int64_t{1} << 31;

// ---- building ----------------------------------------------------------------------------------

class Instance {
 public:
  Instance(const RulePool& pool, const RuleBindings& bindings) : pool_(pool), bindings_(bindings) {}

  Expr build(int id, ir::DType like) const {
    const RuleNode& n = pool_[static_cast<size_t>(id)];
    switch (n.kind) {
      case RuleNode::kLetter:
        return bindings_[static_cast<size_t>(n.value)];
      case RuleNode::kNumber:
        return ir::make_const(like, static_cast<double>(n.value));
      case RuleNode::kTruth:
        return ir::make_int(ir::kBool.with_lanes(like.lanes), n.value);
      case RuleNode::kNot:
        return ir::logical_not(build(n.a, like));
      case RuleNode::kSelect: {
        auto [t, f] = two(n.b, n.c, like);
        return ir::select(build(n.a, ir::kBool.with_lanes(like.lanes)), std::move(t), std::move(f));
      }
      case RuleNode::kBinary:
        break;
    }
    auto [a, b] = two(n.a, n.b, like);
    return ir::make_binary(n.op, std::move(a), std::move(b));
  }

 private:
  // A literal takes the type of what stands beside it.
  std::pair<Expr, Expr> two(int a, int b, ir::DType like) const {
    const RuleNode::Kind ka = pool_[static_cast<size_t>(a)].kind;
    if (ka == RuleNode::kNumber || ka == RuleNode::kTruth) {
      Expr right = build(b, like);
      return {build(a, right.dtype()), right};
    }
    Expr left = build(a, like);
    return {left, build(b, left.dtype())};
  }

  const RulePool& pool_;
  const RuleBindings& bindings_;
};

// ---- matching ----------------------------------------------------------------------------------

bool in_domain(RuleDomain domain, ir::DType t) {
  switch (domain) {
    case RuleDomain::kAny:
      return true;
    case RuleDomain::kInt:
      return t.is_int();
    case RuleDomain::kIndex:
      return t.scalar() == ir::kI64;
    case RuleDomain::kFloat:
      return t.is_float();
  }
  return false;
}

bool is_number(const Expr& e, int64_t v) {
  if (const auto* f = e.as<ir::FloatImm>()) {
    return f->value == static_cast<double>(v) && !(v == 0 && std::signbit(f->value));
  }
  if (const auto* b = e.as<ir::Broadcast>()) {
    return is_number(b->value, v);
  }
  return ir::is_const(e, v);
}

struct Match {
  const RulePool& pool;
  RuleDomain domain;
  std::array<const Expr*, kRuleLetters> bound{};

  bool letter(const Expr& e, size_t which) {
    if (bound[which] != nullptr) {
      return same_atom(*bound[which], e);
    }
    if (which >= kFirstConstant) {
      const auto v = ir::const_int(e);
      if (!v || *v > kLargestConstant || *v < -kLargestConstant || !in_domain(domain, e.dtype())) {
        return false;
      }
    } else if (which >= kFirstBool ? !e.dtype().is_bool() : !in_domain(domain, e.dtype())) {
      return false;
    }
    bound[which] = &e;
    return true;
  }

  bool match(const Expr& e, int id) {
    const RuleNode& n = pool[static_cast<size_t>(id)];
    switch (n.kind) {
      case RuleNode::kLetter:
        return letter(e, static_cast<size_t>(n.value));
      case RuleNode::kNumber:
        return is_number(e, n.value);
      case RuleNode::kTruth:
        return e.dtype().is_bool() && ir::is_const(e, n.value);
      case RuleNode::kNot: {
        const auto* u = e.as<ir::Unary>();
        return u != nullptr && u->op == ir::UnaryOp::kNot && match(u->a, n.a);
      }
      case RuleNode::kSelect: {
        const auto* s = e.as<ir::Select>();
        return s != nullptr && match(s->condition, n.a) && match(s->on_true, n.b) &&
               match(s->on_false, n.c);
      }
      case RuleNode::kBinary: {
        const auto* b = e.as<ir::Binary>();
        return b != nullptr && b->op == n.op && match(b->a, n.a) && match(b->b, n.b);
      }
    }
    return false;
  }
};

// ---- the parsed table --------------------------------------------------------------------------

bool commutes(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kMin ||
         op == BinaryOp::kMax || op == BinaryOp::kEq || op == BinaryOp::kNe;
}

struct ParsedRule {
  int pattern;
  int replacement;
  int condition;  // -1: always
  RuleDomain domain;
  // Keys of the root's first two operands, so that most rules are passed over without a match.
  int a, b;
};

constexpr int kBinaryKeys = static_cast<int>(BinaryOp::kMaximum) + 1;
constexpr int kSelectKey = kBinaryKeys;
constexpr int kNotKey = kBinaryKeys + 1;
constexpr int kOtherKey = kBinaryKeys + 2;
constexpr int kAnyKey = kBinaryKeys + 3;

int key_of(const Expr& e) {
  if (const auto* b = e.as<ir::Binary>()) {
    return static_cast<int>(b->op);
  }
  if (const auto* u = e.as<ir::Unary>()) {
    return u->op == ir::UnaryOp::kNot ? kNotKey : kOtherKey;
  }
  return e.kind() == ir::ExprKind::kSelect ? kSelectKey : kOtherKey;
}

int key_of(const RuleNode& n) {
  switch (n.kind) {
    case RuleNode::kBinary:
      return static_cast<int>(n.op);
    case RuleNode::kNot:
      return kNotKey;
    case RuleNode::kSelect:
      return kSelectKey;
    default:
      return kAnyKey;
  }
}

// The keys of the first two operands; kAnyKey where there is none.
std::pair<int, int> operand_keys(const Expr& e) {
  if (const auto* b = e.as<ir::Binary>()) {
    return {key_of(b->a), key_of(b->b)};
  }
  if (const auto* s = e.as<ir::Select>()) {
    return {key_of(s->condition), key_of(s->on_true)};
  }
  return {key_of(e.as<ir::Unary>()->a), kAnyKey};
}

class RuleSet {
 public:
  RuleSet() {
    for (const Rule& r : rules()) {
      const int replacement = parse_rule(r.replacement, pool_);
      const int condition = r.condition.empty() ? -1 : parse_rule(r.condition, pool_);
      for (const int pattern : orders(parse_rule(r.pattern, pool_))) {
        const RuleNode& root = node(pattern);
        by_root_[static_cast<size_t>(key_of(root))].push_back(
            {pattern, replacement, condition, r.domain, key_of(node(root.a)),
             root.b < 0 ? kAnyKey : key_of(node(root.b))});
      }
    }
  }

  const std::vector<ParsedRule>& rules_for(int key) const {
    return by_root_[static_cast<size_t>(key)];
  }

  const RulePool& pool() const { return pool_; }

 private:
  const RuleNode& node(int id) const { return pool_[static_cast<size_t>(id)]; }

  // The pattern with the operands of commutative operators both ways round.
  std::vector<int> orders(int id) {
    const RuleNode n = pool_[static_cast<size_t>(id)];
    if (n.kind == RuleNode::kLetter || n.kind == RuleNode::kNumber || n.kind == RuleNode::kTruth) {
      return {id};
    }
    std::vector<int> out;
    for (const int a : orders(n.a)) {
      for (const int b : n.b < 0 ? std::vector<int>{-1} : orders(n.b)) {
        for (const int c : n.c < 0 ? std::vector<int>{-1} : orders(n.c)) {
          out.push_back(add({n.kind, n.op, n.value, a, b, c}));
          if (n.kind == RuleNode::kBinary && commutes(n.op) && !twins(n.a, n.b)) {
            out.push_back(add({n.kind, n.op, n.value, b, a, c}));
          }
        }
      }
    }
    return out;
  }
  bool twins(int a, int b) const {
    const RuleNode& x = pool_[static_cast<size_t>(a)];
    const RuleNode& y = pool_[static_cast<size_t>(b)];
    return x.kind == RuleNode::kLetter && y.kind == RuleNode::kLetter && x.value == y.value;
  }
  int add(RuleNode n) {
    pool_.push_back(n);
    return static_cast<int>(pool_.size()) - 1;
  }

  RulePool pool_;
  std::array<std::vector<ParsedRule>, kOtherKey> by_root_;
};

const RuleSet& rule_set() {
  static const RuleSet set;
  return set;
}

Expr replace(const ParsedRule& rule, const Match& m, ir::DType like,
             FunctionRef<bool(const Expr&)> prove) {
  RuleBindings bindings;
  for (size_t i = 0; i < kRuleLetters; ++i) {
    if (m.bound[i] != nullptr) {
      bindings[i] = *m.bound[i];
    }
  }
  const Instance instance(m.pool, bindings);
  if (rule.condition >= 0) {
    const Expr condition = instance.build(rule.condition, like);
    const auto known = ir::const_int(condition);
    if (known ? *known == 0 : !prove(condition)) {
      return Expr();
    }
  }
  return instance.build(rule.replacement, like);
}

}  // namespace

Expr apply_rules(const Expr& e, FunctionRef<bool(const Expr&)> prove) {
  const int key = key_of(e);
  if (key == kOtherKey) {
    return Expr();
  }
  const RuleSet& set = rule_set();
  const auto [a, b] = operand_keys(e);
  for (const ParsedRule& rule : set.rules_for(key)) {
    if ((rule.a != kAnyKey && rule.a != a) || (rule.b != kAnyKey && rule.b != b)) {
      continue;
    }
    Match m{set.pool(), rule.domain};
    if (m.match(e, rule.pattern)) {
      if (Expr r = replace(rule, m, e.dtype(), prove); r.defined()) {
        return r;
      }
    }
  }
  return Expr();
}

Expr instantiate(std::string_view text, const RuleBindings& bindings, ir::DType like) {
  RulePool pool;
  const int root = parse_rule(text, pool);
  return Instance(pool, bindings).build(root, like);
}

}  // namespace tenon::arith
