// SPDX-License-Identifier: Apache-2.0
// A model as a graph: values (tensors of known shape and type) and nodes that compute values from values.
// A node means what its te definition says (see define.h); the few kinds that rewrites must recognise have
// structs of their own, everything else is Compute and carries its definition.
//
//   x: f32[1,3,224,224], w: f32[64,3,7,7] = constant
//   y = Conv(x, w) stride 2 pad 3
//   z = Compute(y): relu
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "graph/flow.h"
#include "ir/interp.h"
#include "te/dag.h"
#include "te/ops.h"

namespace tenon::graph {

using ValueId = int32_t;
using NodeId = int32_t;
using Shape = std::vector<int64_t>;
using Data = std::shared_ptr<const ir::Array>;

struct Value {
  std::string name;  // as in the model; unique
  ir::DType dtype;
  Shape shape;  // an extent may be 0
  Data data;    // known at compile time, a weight for example; null otherwise

  bool constant() const { return data != nullptr; }
  int64_t elements() const;
  int64_t bytes() const { return elements() * dtype.bytes(); }
};

// x: N C spatial.., w: K C/groups kernel..
struct Conv {
  te::ConvParams params;
};
// x: N C spatial.., w: C K/groups kernel..
struct ConvTranspose {
  te::ConvParams params;
  std::vector<int64_t> output_pad;
};
// Leading dimensions broadcast as numpy does; both of rank 2 or more.
struct MatMul {
  bool trans_a = false, trans_b = false;
};
struct Transpose {
  std::vector<int64_t> perm;
};
// The same elements in row-major order under another shape: costs nothing when stored row-major.
struct Reshape {
  Shape shape;
};
// x, scale and perhaps a zero point, which broadcast to x: numbers as small integers (te/quantize.h).
struct Quantize {
  ir::DType to;
  ir::DType precision;  // of the division
};
struct Dequantize {
  ir::DType to;
};
// Whatever the dag says: its inputs are the node's inputs in order, its outputs the node's outputs.
struct Compute {
  std::shared_ptr<const te::ComputeDag> dag;
};

using Op =
    std::variant<Conv, ConvTranspose, MatMul, Transpose, Reshape, Quantize, Dequantize, Compute>;

struct Node {
  Op op;
  std::vector<ValueId> inputs, outputs;
  std::string label;  // what it is, in a word: "conv", "relu", "softmax"; names the kernel
  std::vector<std::string> nodes;  // names of the model's nodes that it stands for
  int32_t segment = 0;  // where the graph has a flow: the part of it that this belongs to
};

// Nodes stand in an order where each reads only inputs, constants and outputs of earlier nodes. Ids are
// positions; passes that drop nodes or values renumber (see compact).
class Graph {
 public:
  std::vector<ValueId> inputs, outputs;   // an output may be an input or a constant
  std::vector<std::string> output_names;  // as the caller knows them, one per output
  std::vector<Node> nodes;
  std::vector<Value> values;
  Flow flow;  // branches and loops; empty: the nodes in their order

  Value& value(ValueId v) { return values[static_cast<size_t>(v)]; }
  const Value& value(ValueId v) const { return values[static_cast<size_t>(v)]; }
  ValueId add_value(Value v);                       // makes its name unique
  void rename(ValueId v, const std::string& name);  // made unique too
  void add_output(ValueId v, const std::string& name);
  std::vector<bool> output_flags() const;  // per value: whether it is an output

  // The node that computes each value (-1: none), and the nodes that read each (each node once).
  std::vector<NodeId> producers() const;
  std::vector<std::vector<NodeId>> readers() const;

  // Per value: whose memory it is, looking through reshapes; itself unless one made it.
  std::vector<ValueId> views() const;
  // Drops nodes, values and instructions that no output needs (graph inputs stay), sorts the nodes, renumbers.
  void compact();
  // Takes back what was added behind these counts, and only that.
  void shrink(size_t node_count, size_t value_count, size_t flow_count);
  // Throws InternalError: order, arity, shapes and types against the definitions.
  void verify() const;

 private:
  std::string unique(const std::string& name);
  std::unordered_map<std::string, int> names_;  // given out, with the last number appended
};

// Dequantises 8-bit numbers, more than one: perhaps weights of a sum of integers.
bool makes_real(const Graph& g, const Node& n);

// One line per node: "%12 relu_3: f32[1,64,56,56] = relu(%11) <Relu_3>".
std::string to_string(const Graph& g);

}  // namespace tenon::graph
