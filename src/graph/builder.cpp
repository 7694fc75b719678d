// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <algorithm>
#include <numeric>

#include "ir/visit.h"
#include "te/limits.h"

namespace tenon::graph {
namespace {

// What interpreting would walk through: points of all loops, and expressions at all points.
struct Work {
  double points = 0;
  double expressions = 0;
};
Work work_of(const te::ComputeDag& dag) {
  Work total;
  for (const te::OpRef& op : dag.ops) {
    double n = 1;
    for (const te::Axis& a : op->axes) n *= static_cast<double>(a.extent);
    for (const te::Axis& a : op->reduce_axes) n *= static_cast<double>(a.extent);
    total.points += n;
    ir::visit(op->body, [&](const ir::Expr&) { total.expressions += n; });
  }
  return total;
}

}  // namespace

ValueId GraphBuilder::input(const std::string& name, ir::DType t, Shape shape) {
  const ValueId v = graph_.add_value({name, t, std::move(shape), nullptr});
  graph_.inputs.push_back(v);
  return v;
}

ValueId GraphBuilder::constant(ir::Array a, const std::string& name) {
  return constant(std::make_shared<const ir::Array>(std::move(a)), name);
}

ValueId GraphBuilder::constant(Data a, const std::string& name) {
  return graph_.add_value({name, a->dtype(), a->shape(), a});
}

ValueId GraphBuilder::scalar(ir::DType t, double v) {
  ir::Array a(t, {});
  a.set_double(0, v);
  return constant(std::move(a));
}

ValueId GraphBuilder::ints(const std::vector<int64_t>& v) {
  ir::Array a(ir::kI64, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) a.set(static_cast<int64_t>(i), {v[i], 0});
  return constant(std::move(a));
}

ValueId GraphBuilder::empty(ir::DType t, Shape shape) {
  return constant(ir::Array(t, std::move(shape)), "empty");
}

// The first segment is there before there is a flow.
void GraphBuilder::begin_segment() {
  segment_ = segments_++;
  graph_.flow.push_back({.kind = FlowKind::kRun, .number = segment_});
}

size_t GraphBuilder::flow(FlowOp op) {
  if (graph_.flow.empty()) graph_.flow.push_back({.kind = FlowKind::kRun, .number = segment_});
  if (op.kind == FlowKind::kCount) counted_.insert(op.to);
  graph_.flow.push_back(op);
  return graph_.flow.size() - 1;
}

void GraphBuilder::set_target(size_t op) {
  graph_.flow[op].target = static_cast<int32_t>(graph_.flow.size());
}

ValueId GraphBuilder::variable(const std::string& name, ir::DType t, Shape shape) {
  return graph_.add_value({name, t, std::move(shape), nullptr});
}

GraphBuilder::Mark GraphBuilder::mark() const {
  return {graph_.nodes.size(), graph_.values.size(), graph_.flow.size(), segment_, segments_};
}

void GraphBuilder::back_to(const Mark& m) {
  graph_.shrink(m.nodes, m.values, m.flow);
  counted_.erase(counted_.lower_bound(static_cast<ValueId>(m.values)), counted_.end());
  segment_ = m.segment;
  segments_ = m.segments;
}

// Folds at once what is cheap; otherwise the node stays for the passes, which fold by compiled code.
std::vector<ValueId> GraphBuilder::append_node(const std::string& label, Op op,
                                               const std::vector<ValueId>& inputs) {
  const bool known = std::all_of(inputs.begin(), inputs.end(),
                                 [&](ValueId v) { return graph_.value(v).constant(); });
  Node node{std::move(op), inputs, {}, label, {}};
  node.segment = segment_;
  if (!node_.empty()) node.nodes.push_back(node_);
  std::vector<ValueId> out;
  if (known && !makes_real(graph_, node)) {
    const te::ComputeDag dag = define(graph_, node);
    Work work = work_of(dag);
    for (const ValueId v : inputs) {
      work.expressions += static_cast<double>(graph_.value(v).bytes()) / 64;  // they are copied
    }
    if (work.points <= kEagerFold && folded_ + work.expressions <= kEagerFoldInAll) {
      folded_ += work.expressions;
      std::vector<ir::Array> arrays;
      for (const ValueId v : inputs) arrays.push_back(*graph_.value(v).data);
      for (ir::Array& a : te::evaluate(dag, arrays)) out.push_back(constant(std::move(a), label));
      return out;
    }
  }
  for (ValueType& t : infer(graph_, node.op, inputs)) {
    out.push_back(graph_.add_value({label, t.dtype, std::move(t.shape), nullptr}));
  }
  node.outputs = out;
  graph_.nodes.push_back(std::move(node));
  return out;
}

ValueId GraphBuilder::add(const std::string& label, Op op, const std::vector<ValueId>& inputs) {
  return append_node(label, std::move(op), inputs).at(0);
}

std::vector<ValueId> GraphBuilder::compute_many(const std::string& label,
                                                const std::vector<ValueId>& inputs,
                                                const DefineMany& fn) {
  te::Builder b;
  std::vector<te::Tensor> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(b.input("x" + std::to_string(i), dtype(inputs[i]), shape(inputs[i])));
  }
  for (te::Tensor t : fn(b, in)) {
    const bool is_input =
        std::any_of(in.begin(), in.end(), [&](const te::Tensor& x) { return x.same_as(t); });
    if (is_input) {
      t = te::elementwise(b, label + ".copy", {t},
                          [](std::span<const ir::Expr> x) { return x[0]; });
    }
    b.output(t);
  }
  auto dag = std::make_shared<const te::ComputeDag>(b.finish(label));
  return append_node(label, Compute{dag}, inputs);
}

ValueId GraphBuilder::compute(const std::string& label, const std::vector<ValueId>& inputs,
                              const Define& fn) {
  return compute_many(
             label, inputs,
             [&](te::Builder& b, std::span<const te::Tensor> in) -> std::vector<te::Tensor> {
               return {fn(b, in)};
             })
      .at(0);
}

namespace {

Shape broadcast(const GraphBuilder& b, const std::vector<ValueId>& inputs) {
  Shape shape;
  for (const ValueId v : inputs) {
    const Shape& s = b.shape(v);
    if (s.size() > shape.size()) shape.insert(shape.begin(), s.size() - shape.size(), 1);
    for (size_t d = 0; d < s.size(); ++d) {
      int64_t& e = shape[shape.size() - s.size() + d];
      if (s[d] != 1) e = e == 1 || e == s[d] ? s[d] : -1;
      if (e < 0) throw UserError("shapes cannot be broadcast to each other");
    }
  }
  return shape;
}

}  // namespace

ValueId GraphBuilder::elementwise(const std::string& label, const std::vector<ValueId>& inputs,
                                  const Element& fn) {
  const Shape shape = broadcast(*this, inputs);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    std::vector<ir::Expr> zeros;
    for (const ValueId v : inputs) zeros.push_back(ir::zero_of(dtype(v)));
    return empty(fn(zeros).dtype(), shape);
  }
  return compute(label, inputs, [&](te::Builder& b, std::span<const te::Tensor> in) {
    return te::elementwise(b, label, {in.begin(), in.end()}, fn);
  });
}

ValueId GraphBuilder::cast(ValueId x, ir::DType to) {
  if (dtype(x) == to) return x;
  return elementwise("cast", {x},
                     [&](std::span<const ir::Expr> in) { return ir::cast(to, in[0]); });
}

ValueId GraphBuilder::reshape(ValueId x, Shape shape) {
  if (this->shape(x) == shape) return x;
  infer(graph_, Reshape{shape}, std::vector<ValueId>{x});  // throws when the sizes differ
  if (data(x)) return constant(reshaped(*data(x), shape), value(x).name);
  return add("reshape", Reshape{std::move(shape)}, {x});
}

ValueId GraphBuilder::transpose(ValueId x, std::vector<int64_t> perm) {
  std::vector<int64_t> same(perm.size());
  std::iota(same.begin(), same.end(), 0);
  if (perm == same) return x;
  if (value(x).elements() == 0) {
    Shape s;
    for (const int64_t p : perm) s.push_back(shape(x)[static_cast<size_t>(p)]);
    return empty(dtype(x), s);
  }
  return add("transpose", Transpose{std::move(perm)}, {x});
}

}  // namespace tenon::graph
