// SPDX-License-Identifier: Apache-2.0
#include "compile/items.h"

#include <cstring>
#include <map>
#include <optional>

#include "arith/interval.h"
#include "arith/simplify.h"
#include "compile/numbers.h"
#include "graph/define.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "support/check.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::ValueId;

// Where the items of a tensor lie: along an axis with only extents of 1 in front, `rows` of it each.
struct Items {
  size_t axis = 0;
  int64_t rows = 1;
};
using Found = std::optional<Items>;  // none: the same for all items

// The items of a tensor whose shape is `one` for one item; nothing if it is not that of `items` of them.
Found items_of(const Shape& one, const Shape& many, int64_t items) {
  if (one.size() != many.size()) return std::nullopt;
  Found found;
  for (size_t a = 0; a < one.size(); ++a) {
    if (one[a] == many[a]) {
      if (!found && one[a] != 1) return std::nullopt;
    } else if (!found && many[a] == one[a] * items) {
      found = Items{a, one[a]};
    } else {
      return std::nullopt;
    }
  }
  return found;
}

// Follows the items through one definition.
class Definition {
 public:
  Definition(const te::ComputeDag& one, const te::ComputeDag& many, int64_t items,
             const std::vector<Found>& inputs)
      : one_(one), many_(many), items_(items) {
    for (size_t i = 0; i < inputs.size(); ++i) tensors_[many.inputs[i].tensor.get()] = inputs[i];
    for (const te::Input& in : one.inputs) free_one_.push_back(in.tensor.get());
    for (const te::Input& in : many.inputs) free_many_.push_back(in.tensor.get());
  }

  // Tells what was found about each output; nothing if it could not be shown.
  std::optional<std::vector<Found>> run() {
    if (one_.ops.size() != many_.ops.size() || one_.outputs.size() != many_.outputs.size()) {
      return std::nullopt;
    }
    for (size_t i = 0; i < many_.ops.size(); ++i) {
      if (!follow(*one_.ops[i], *many_.ops[i])) return std::nullopt;
    }
    std::vector<Found> out;
    for (const te::Tensor& t : many_.outputs) out.push_back(tensors_.at(t.get()));
    return out;
  }

 private:
  bool follow(const te::ComputeOp& one, const te::ComputeOp& many) {
    const Found out = items_of(one.output.shape(), many.output.shape(), items_);
    const bool shared = one.output.shape() == many.output.shape();
    if (!out && !shared) return false;
    const bool right = same_work(one, many, out) && (out ? shows(many, *out) : reads_none(many));
    tensors_[many.output.get()] = out;
    free_one_.push_back(one.output.get());
    free_many_.push_back(many.output.get());
    return right;
  }

  // The same expression for the first item of many as for the one.
  bool same_work(const te::ComputeOp& one, const te::ComputeOp& many, const Found& out) const {
    if (one.combiner != many.combiner || one.axes.size() != many.axes.size() ||
        one.reduce_axes.size() != many.reduce_axes.size()) {
      return false;
    }
    std::vector<const void*> free_one = free_one_, free_many = free_many_;
    ir::VarMap zero_one, zero_many;
    const auto add = [&](const te::Axis& a, const te::Axis& b, bool first_item) {
      free_one.push_back(a.var.get());
      free_many.push_back(b.var.get());
      if (a.extent != 1) return;
      zero_one.emplace(a.var.node(), ir::Expr(0));
      if (b.extent == 1 || first_item) zero_many.emplace(b.var.node(), ir::Expr(0));
    };
    for (size_t i = 0; i < one.axes.size(); ++i) {
      add(one.axes[i], many.axes[i], out && i == out->axis);
    }
    for (size_t i = 0; i < one.reduce_axes.size(); ++i) {
      if (one.reduce_axes[i].extent != many.reduce_axes[i].extent) return false;
      add(one.reduce_axes[i], many.reduce_axes[i], false);
    }
    const Numbered a = take_numbers(arith::simplify(ir::substitute(one.body, zero_one)), free_one);
    const Numbered b =
        take_numbers(arith::simplify(ir::substitute(many.body, zero_many)), free_many);
    return a.form == b.form && a.numbers == b.numbers;
  }

  const Found& items_in(const ir::Load& load) const { return tensors_.at(load.buffer.get()); }

  bool reads_none(const te::ComputeOp& op) const {
    bool none = true;
    ir::visit_loads(op.body, [&](const ir::Load& l) { none = none && !items_in(l); });
    return none;
  }

  // Every read of items is of the item that is written, and nothing else looks at which one that is.
  bool shows(const te::ComputeOp& op, const Items& out) const {
    const ir::Var item = op.axes[out.axis].var;
    bool right = true;
    const ir::Var hidden("item");
    const ir::Expr rest = ir::rewrite_loads(op.body, [&](const ir::Load& l) {
      std::vector<ir::Expr> indices = l.indices;
      if (const Found& in = items_in(l)) {
        right = right && same_item(op, indices[in->axis], *in, item, out);
        indices[in->axis] = ir::Expr(0);
      }
      return ir::load(l.buffer, indices, l.predicate);
    });
    const ir::Expr without = ir::rewrite(rest, [&](const ir::Expr& e) {
      return is_row_of_item(e, item, out.rows) ? ir::Expr(hidden) : e;
    });
    return right && !ir::uses_var(without, item.node());
  }

  // item mod rows: the place inside of an item.
  static bool is_row_of_item(const ir::Expr& e, const ir::Var& item, int64_t rows) {
    const auto* n = e.as<ir::Binary>();
    if (n == nullptr || n->op != ir::BinaryOp::kFloorMod || !n->a.same_as(item)) return false;
    const auto by = ir::const_int(n->b);
    return by && *by > 0 && rows % *by == 0;
  }

  // in.rows * (item div out.rows) <= index < in.rows * (item div out.rows + 1)
  static bool same_item(const te::ComputeOp& op, const ir::Expr& index, const Items& in,
                        const ir::Var& item, const Items& out) {
    if (index.same_as(item)) return in.rows == out.rows;
    if (const auto* n = index.as<ir::Binary>();
        n != nullptr && n->op == ir::BinaryOp::kFloorDiv && n->a.same_as(item)) {
      const auto by = ir::const_int(n->b);
      return by && in.rows * *by == out.rows;
    }
    if (out.rows != 1) return false;
    const ir::Expr rest = arith::simplify(index - item * in.rows);
    const arith::Interval range = arith::interval_of(rest, op.ranges());
    return !ir::uses_var(rest, item.node()) && range.lo >= 0 && range.hi < in.rows;
  }

  const te::ComputeDag& one_;
  const te::ComputeDag& many_;
  int64_t items_;
  std::map<const ir::BufferNode*, Found> tensors_;
  std::vector<const void*> free_one_, free_many_;  // tensors so far, in the same order
};

bool same_bytes(const ir::Array& a, const ir::Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

// A constant that holds the same for each item.
bool repeats(const ir::Array& one, const ir::Array& many, int64_t items) {
  if (one.dtype() != many.dtype() || many.bytes() != one.bytes() * items) return false;
  const auto bytes = static_cast<size_t>(one.bytes());
  for (int64_t i = 0; i < items && bytes > 0; ++i) {
    if (std::memcmp(one.data(), many.data() + static_cast<int64_t>(bytes) * i, bytes) != 0) {
      return false;
    }
  }
  return true;
}

class Follower {
 public:
  Follower(const Graph& one, const Graph& many, int64_t items)
      : one_(one), many_(many), items_(items), found_(many.values.size()) {}

  bool run(const std::vector<bool>& has_items) {
    if (!one_.flow.empty() || !many_.flow.empty() || one_.nodes.size() != many_.nodes.size() ||
        one_.values.size() != many_.values.size() || one_.inputs != many_.inputs ||
        one_.outputs != many_.outputs) {
      return false;
    }
    for (size_t i = 0; i < many_.inputs.size(); ++i) {
      if (!set(many_.inputs[i], has_items[i])) return false;
    }
    for (size_t v = 0; v < many_.values.size(); ++v) {
      if (!constant(static_cast<ValueId>(v))) return false;
    }
    for (size_t n = 0; n < many_.nodes.size(); ++n) {
      if (!node(one_.nodes[n], many_.nodes[n])) return false;
    }
    for (const ValueId v : many_.outputs) {
      if (!found(v) || found(v)->axis != 0) return false;
    }
    return true;
  }

 private:
  Found& found(ValueId v) { return found_[static_cast<size_t>(v)]; }

  // From the shapes: with items, or the same.
  bool set(ValueId v, bool has_items) {
    const Shape &one = one_.value(v).shape, &many = many_.value(v).shape;
    found(v) = has_items ? items_of(one, many, items_) : std::nullopt;
    return has_items ? found(v).has_value() : one == many;
  }

  bool constant(ValueId v) {
    const graph::Value &one = one_.value(v), &many = many_.value(v);
    if (one.constant() != many.constant()) return false;
    if (!one.constant() || one.data == many.data) return true;
    if (one.shape == many.shape) return same_bytes(*one.data, *many.data);
    return set(v, true) && repeats(*one.data, *many.data, items_);
  }

  bool node(const Node& one, const Node& many) {
    if (one.inputs != many.inputs || one.outputs != many.outputs ||
        one.op.index() != many.op.index()) {
      return false;
    }
    std::vector<Found> inputs;
    bool any = false, empty = false;
    for (const ValueId v : many.inputs) {
      inputs.push_back(found(v));
      any = any || found(v).has_value();
      empty = empty || many_.value(v).elements() == 0;
    }
    if (empty) return false;
    if (std::holds_alternative<graph::Reshape>(many.op)) return set(many.outputs[0], any);
    const auto out =
        Definition(graph::define(one_, one), graph::define(many_, many), items_, inputs).run();
    for (size_t i = 0; out && i < many.outputs.size(); ++i) found(many.outputs[i]) = (*out)[i];
    return out.has_value();
  }

  const Graph& one_;
  const Graph& many_;
  int64_t items_;
  std::vector<Found> found_;  // by value
};

}  // namespace

bool items_are_apart(const Graph& one, const Graph& many, int64_t items,
                     const std::vector<bool>& has_items) {
  TENON_CHECK(items > 1);
  return Follower(one, many, items).run(has_items);
}

}  // namespace tenon::compile
