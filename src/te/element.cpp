// SPDX-License-Identifier: Apache-2.0
#include "te/element.h"

#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/check.h"

namespace tenon::te {
namespace {

using arith::Interval;
using Box = std::vector<Interval>;  // per dimension, inside of the tensor

Box first_element(const Tensor& t) { return Box(t.rank(), Interval{0, 0}); }

double elements_of(const Box& box) {
  double n = 1;
  for (const Interval& i : box) n *= static_cast<double>(i.hi - i.lo + 1);
  return n;
}

// What each tensor is needed for: boxes that contain every element that is read.
class Needed {
 public:
  Needed(const ComputeDag& dag, size_t output, std::span<const int64_t> index) {
    Box wanted;
    for (const int64_t i : index) wanted.push_back({i, i});
    boxes_.emplace(dag.outputs[output].get(), std::move(wanted));
    for (auto op = dag.ops.rbegin(); op != dag.ops.rend(); ++op) {
      if (const Box* box = find((*op)->output)) add_reads(**op, Box(*box));
    }
  }

  const Box* find(const Tensor& t) const {
    const auto it = boxes_.find(t.get());
    return it == boxes_.end() ? nullptr : &it->second;
  }
  double work() const { return work_; }

 private:
  void add_reads(const ComputeOp& op, const Box& box) {
    arith::Ranges ranges;
    double terms = elements_of(box);
    for (size_t d = 0; d < box.size(); ++d) ranges.bind(op.axes[d].var, box[d]);
    for (const Axis& a : op.reduce_axes) {
      ranges.bind(a.var, {0, a.extent - 1});
      terms *= static_cast<double>(a.extent);
    }
    work_ += terms;
    ir::visit_loads(op.body, [&](const ir::Load& load) { add_read(load, ranges); });
  }

  // An index that lies outside of its tensor is behind a condition that does not hold.
  void add_read(const ir::Load& load, const arith::Ranges& ranges) {
    Box box;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const Interval i = arith::interval_of(load.indices[d], ranges);
      const Interval inside{std::max<int64_t>(i.lo, 0), std::min(i.hi, load.buffer.shape()[d] - 1)};
      if (inside.lo > inside.hi) return;
      box.push_back(inside);
    }
    const auto [it, first] = boxes_.emplace(load.buffer.get(), box);
    if (first) return;
    for (size_t d = 0; d < box.size(); ++d) it->second[d] = arith::unite(it->second[d], box[d]);
  }

  std::unordered_map<const ir::BufferNode*, Box> boxes_;
  double work_ = 0;
};

ir::Array cut_out(const ir::Array& from, const Box& box) {
  std::vector<int64_t> shape;
  for (const Interval& i : box) shape.push_back(i.hi - i.lo + 1);
  ir::Array out(from.dtype(), shape);
  std::vector<int64_t> at(box.size(), 0);
  for (int64_t n = 0; n < out.elements(); ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < box.size(); ++d) {
      offset = offset * from.shape()[d] + box[d].lo + at[d];
    }
    out.set(n, from.get(offset));
    for (size_t d = box.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return out;
}

// The dag that computes the boxes alone.
class Cutter {
 public:
  explicit Cutter(const Needed& needed) : needed_(needed) {}

  void add_input(const Input& in) { out_.inputs.push_back({cut(in.tensor), in.constant}); }
  void add_op(const ComputeOp& op) {
    const Box* box = needed_.find(op.output);
    if (box == nullptr) return;
    ComputeOp made;
    ir::VarMap vars;
    for (size_t d = 0; d < op.axes.size(); ++d) {
      const Interval i = (*box)[d];
      made.axes.push_back({ir::Var(op.axes[d].var.name()), i.hi - i.lo + 1});
      vars.emplace(op.axes[d].var.node(), ir::Expr(made.axes.back().var) + ir::Expr(i.lo));
    }
    made.reduce_axes = op.reduce_axes;
    made.combiner = op.combiner;
    made.body = ir::rewrite_loads(ir::substitute(op.body, vars),
                                  [&](const ir::Load& load) { return moved(load); });
    made.output = cut(op.output);
    out_.ops.push_back(std::make_shared<const ComputeOp>(std::move(made)));
  }
  ComputeDag result(const Tensor& output) {
    out_.outputs = {tensors_.at(output.get())};
    return std::move(out_);
  }

 private:
  Tensor cut(const Tensor& t) {
    std::vector<int64_t> shape;
    for (const Interval& i : box_of(t)) shape.push_back(i.hi - i.lo + 1);
    return tensors_.emplace(t.get(), Tensor::make(t.name(), t.dtype(), shape)).first->second;
  }
  // What no element reads has one element, since a tensor without any cannot be.
  Box box_of(const Tensor& t) const {
    const Box* box = needed_.find(t);
    return box != nullptr ? *box : first_element(t);
  }
  ir::Expr moved(const ir::Load& load) {
    const Box* box = needed_.find(load.buffer);
    if (box == nullptr) return ir::zero_of(load.dtype);  // nobody looks at it
    std::vector<ir::Expr> indices;
    for (size_t d = 0; d < box->size(); ++d) {
      indices.push_back(load.indices[d] - ir::Expr((*box)[d].lo));
    }
    return ir::load(tensors_.at(load.buffer.get()), indices, load.predicate);
  }

  const Needed& needed_;
  std::unordered_map<const ir::BufferNode*, Tensor> tensors_;
  ComputeDag out_;
};

}  // namespace

std::optional<double> evaluate_element(const ComputeDag& dag, const std::vector<ir::Array>& inputs,
                                       size_t output, std::span<const int64_t> index,
                                       double most_work) {
  TENON_CHECK(inputs.size() == dag.inputs.size() && output < dag.outputs.size());
  const Needed needed(dag, output, index);
  if (needed.work() > most_work) return std::nullopt;
  Cutter cutter(needed);
  std::vector<ir::Array> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    cutter.add_input(dag.inputs[i]);
    const Box* box = needed.find(dag.inputs[i].tensor);
    parts.push_back(
        cut_out(inputs[i], box != nullptr ? *box : first_element(dag.inputs[i].tensor)));
  }
  for (const OpRef& op : dag.ops) cutter.add_op(*op);
  return evaluate(cutter.result(dag.outputs[output]), parts)[0].get_double(0);
}

}  // namespace tenon::te
