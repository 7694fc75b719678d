// SPDX-License-Identifier: Apache-2.0
#include "graph/group.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "graph/define.h"
#include "graph/literals.h"

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

class Writer {
 public:
  explicit Writer(const Graph& g) : g_(g) {}

  GroupDag run(const std::vector<NodeId>& nodes, const std::vector<ValueId>& outputs) {
    for (const NodeId n : nodes) add(g_.nodes[static_cast<size_t>(n)]);
    for (const ValueId v : outputs) b_.output(tensors_.at(v));
    te::ComputeDag dag = b_.dag();
    write_literals(dag, literals_);
    dag.name = dag.outputs.empty() ? "kernel" : dag.outputs[0].name();
    std::vector<ValueId> read;
    for (const size_t i : drop_unread(dag)) read.push_back(inputs_[i]);
    dag.validate();
    return {std::move(dag), std::move(read)};
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

  const Graph& g_;
  te::Builder b_;
  std::map<ValueId, te::Tensor> tensors_;
  Literals literals_;
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
