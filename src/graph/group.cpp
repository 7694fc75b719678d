// SPDX-License-Identifier: Apache-2.0
#include "graph/group.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "graph/define.h"
#include "ir/visit.h"

namespace tenon::graph {
namespace {

std::string identifier(const std::string& label) {
  std::string out;
  for (const char c : label) {
    out +=
        std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out = "op_" + out;
  return out;
}

ir::Expr literal(const ir::Array& a) {
  const ir::Scalar s = a.get(0);
  return a.dtype().is_float() ? ir::make_float(a.dtype(), s.f) : ir::make_int(a.dtype(), s.i);
}

class Writer {
 public:
  explicit Writer(const Graph& g) : g_(g) {}

  GroupDag run(const std::vector<NodeId>& nodes, const std::vector<ValueId>& outputs) {
    for (const NodeId n : nodes) add(g_.nodes[static_cast<size_t>(n)]);
    for (const ValueId v : outputs) b_.output(tensors_.at(v));
    te::ComputeDag dag = b_.dag();
    write_literals(dag);
    dag.name = dag.outputs.empty() ? "kernel" : dag.outputs[0].name();
    drop_unused(dag);
    dag.validate();
    return {std::move(dag), std::move(inputs_)};
  }

 private:
  void add(const Node& node) {
    std::vector<te::Tensor> in;
    for (const ValueId v : node.inputs) in.push_back(tensor(v));
    const auto out = append(b_, fresh(identifier(node.label)), node.op, in);
    for (size_t i = 0; i < out.size(); ++i) tensors_.emplace(node.outputs[i], out[i]);
  }

  te::Tensor tensor(ValueId v) {
    const auto it = tensors_.find(v);
    if (it != tensors_.end()) return it->second;
    const Value& value = g_.value(v);
    const te::Tensor t =
        value.constant() ? b_.constant("w" + std::to_string(constants_++), value.dtype, value.shape)
                         : b_.input("x" + std::to_string(activations_++), value.dtype, value.shape);
    if (value.constant() && value.elements() == 1) literals_.emplace(t.get(), literal(*value.data));
    inputs_.push_back(v);
    tensors_.emplace(v, t);
    return t;
  }

  // Op names with stages ("conv.pad") stay distinct because their prefixes are.
  std::string fresh(const std::string& base) {
    std::string name = base;
    for (int i = 2; !names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  void write_literals(te::ComputeDag& dag) const {
    if (literals_.empty()) return;
    for (te::OpRef& op : dag.ops) {
      const ir::Expr body = ir::rewrite(op->body, [&](const ir::Expr& e) -> ir::Expr {
        const auto* l = e.as<ir::Load>();
        if (l == nullptr) return e;
        const auto it = literals_.find(l->buffer.get());
        return it == literals_.end() ? e : it->second;
      });
      if (body.same_as(op->body)) continue;
      auto copy = std::make_shared<te::ComputeOp>(*op);
      copy->body = body;
      op = copy;
    }
  }

  // Inputs that became literals, or that no op reads.
  void drop_unused(te::ComputeDag& dag) {
    std::set<const ir::BufferNode*> read;
    for (const te::OpRef& op : dag.ops) {
      ir::visit(op->body, [&](const ir::Expr& e) {
        if (const auto* l = e.as<ir::Load>()) read.insert(l->buffer.get());
      });
    }
    std::vector<te::Input> kept;
    std::vector<ValueId> values;
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      if (!read.contains(dag.inputs[i].tensor.get())) continue;
      kept.push_back(dag.inputs[i]);
      values.push_back(inputs_[i]);
    }
    dag.inputs = std::move(kept);
    inputs_ = std::move(values);
  }

  const Graph& g_;
  te::Builder b_;
  std::map<ValueId, te::Tensor> tensors_;
  std::map<const ir::BufferNode*, ir::Expr> literals_;
  std::vector<ValueId> inputs_;
  std::set<std::string> names_;
  int activations_ = 0, constants_ = 0;
};

}  // namespace

GroupDag group_dag(const Graph& g, const std::vector<NodeId>& nodes,
                   const std::vector<ValueId>& outputs) {
  return Writer(g).run(nodes, outputs);
}

}  // namespace tenon::graph
