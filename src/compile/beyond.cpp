// SPDX-License-Identifier: Apache-2.0
#include "compile/beyond.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/build.h"

namespace tenon::compile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Known = std::optional<double>;
using Place = std::pair<const ir::BufferNode*, size_t>;

Known of_binary(ir::BinaryOp op, Known a, Known b) {
  const auto infinite = [](Known x) { return x && std::isinf(*x); };
  switch (op) {
    case ir::BinaryOp::kAdd:
      if (a && b) return *a + *b;
      // Plus a number; what is none comes of something within the size that is none.
      return infinite(a) ? a : infinite(b) ? b : std::nullopt;
    case ir::BinaryOp::kSub:
      if (a && b) return *a - *b;
      return infinite(a) ? a : infinite(b) ? Known(-*b) : std::nullopt;
    case ir::BinaryOp::kMul:
      return a && b ? Known(*a * *b) : std::nullopt;
    case ir::BinaryOp::kDiv:
      if (a && b) return *a / *b;
      return a && *a == 0 ? a : std::nullopt;
    default:
      return std::nullopt;
  }
}

// This finds out what tensors hold beyond the size along each of their axes, where that is known.
class Beyond {
 public:
  Beyond(const te::ComputeDag& dag, const std::vector<OpenAxis>& axes,
         const std::vector<const ir::VarNode*>& sums)
      : dag_(dag), sums_(sums) {
    for (const OpenAxis& a : axes) open_[{a.tensor, a.axis}] = true;
  }

  // Whether every sum gets nothing from beyond the size.
  bool adds_nothing(const std::vector<InputBeyond>& inputs) {
    values_.clear();
    for (const InputBeyond& i : inputs) {
      values_[{dag_.inputs[i.input].tensor.get(), i.axis}] = i.value;
    }
    for (const te::OpRef& op : dag_.ops) {
      for (const te::Axis& r : op->reduce_axes) {
        if (std::find(sums_.begin(), sums_.end(), r.var.node()) == sums_.end()) continue;
        if (!is_neutral(*op, of(op->body, r.var))) return false;
      }
      for (size_t a = 0; a < op->axes.size(); ++a) {
        const bool open = open_.contains({op->output.get(), a}) && !op->is_reduction();
        const Known v = open ? of(op->body, op->axes[a].var) : std::nullopt;
        if (v) values_[{op->output.get(), a}] = *v;
      }
    }
    return true;
  }

 private:
  static bool is_neutral(const te::ComputeOp& op, Known v) {
    if (!v) return false;
    if (op.combiner == ir::BinaryOp::kAdd) return *v == 0;
    if (!op.output.dtype().is_float()) return false;
    if (op.combiner == ir::BinaryOp::kMax || op.combiner == ir::BinaryOp::kMaximum) {
      return *v == -kInfinity;
    }
    const bool least = op.combiner == ir::BinaryOp::kMin || op.combiner == ir::BinaryOp::kMinimum;
    return least && *v == kInfinity;
  }

  // The value of an expression where `index` is beyond the size.
  Known of(const ir::Expr& e, const ir::Var& index) const {
    if (const auto* l = e.as<ir::Load>()) {
      for (size_t d = 0; d < l->indices.size(); ++d) {
        const auto it = values_.find({l->buffer.get(), d});
        if (it != values_.end() && l->indices[d].same_as(index)) return it->second;
      }
      return std::nullopt;
    }
    if (const auto* f = e.as<ir::FloatImm>()) return f->value;
    if (const auto* i = e.as<ir::IntImm>()) return static_cast<double>(i->value);
    if (const auto* c = e.as<ir::Cast>()) return of(c->value, index);
    if (const auto* b = e.as<ir::Binary>())
      return of_binary(b->op, of(b->a, index), of(b->b, index));
    if (const auto* c = e.as<ir::Call>(); c != nullptr && c->fn == ir::Intrinsic::kExp) {
      const Known x = of(c->args[0], index);
      return x ? Known(std::exp(*x)) : std::nullopt;
    }
    return std::nullopt;
  }

  const te::ComputeDag& dag_;
  const std::vector<const ir::VarNode*>& sums_;
  std::map<Place, bool> open_;
  std::map<Place, double> values_;
};

}  // namespace

std::optional<std::vector<InputBeyond>> values_beyond(const te::ComputeDag& dag,
                                                      const std::vector<OpenAxis>& axes,
                                                      const std::vector<const ir::VarNode*>& sums) {
  Beyond beyond(dag, axes, sums);
  for (const double value : {0.0, -kInfinity, kInfinity}) {
    std::vector<InputBeyond> inputs;
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      for (const OpenAxis& a : axes) {
        const bool can_be = dag.inputs[i].tensor.dtype().is_float() || value == 0;
        if (a.tensor == dag.inputs[i].tensor.get() && can_be) inputs.push_back({i, a.axis, value});
      }
    }
    if (!beyond.adds_nothing(inputs)) continue;
    for (size_t i = inputs.size(); i-- > 0;) {
      std::vector<InputBeyond> fewer = inputs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (beyond.adds_nothing(fewer)) inputs = std::move(fewer);
    }
    return inputs;
  }
  return std::nullopt;
}

}  // namespace tenon::compile
