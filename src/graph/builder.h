// SPDX-License-Identifier: Apache-2.0
// How importers write a graph. Every function returns new values; what depends on constants alone and is
// cheap is computed at once, so that shape arithmetic inside a model folds away while it is read.
//
//   GraphBuilder b(graph);
//   b.begin("Conv_31");
//   ValueId y = b.add("conv", Conv{params}, {x, w});
//   ValueId z = b.compute("relu", {y}, [](te::Builder& t, std::span<const te::Tensor> in) {
//     return te::relu(t, "relu", in[0]); });
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/define.h"

namespace tenon::graph {

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& g) : graph_(g) {}
  Graph& graph() { return graph_; }

  // Nodes added from now on stand for this node of the model.
  void begin(const std::string& node_name) { node_ = node_name; }

  ValueId input(const std::string& name, ir::DType t, Shape shape);
  ValueId constant(ir::Array a, const std::string& name = "const");
  ValueId constant(Data a, const std::string& name = "const");
  // Of one element or of rank one, for scalars and shapes.
  ValueId scalar(ir::DType t, double v);
  ValueId ints(const std::vector<int64_t>& v);

  // One output. A result without elements becomes an empty constant.
  ValueId add(const std::string& label, Op op, const std::vector<ValueId>& inputs);
  // From te. The function must not keep its arguments; an input of a shape without elements, or an output
  // of one, cannot be expressed in te: check empty() first.
  using Define = std::function<te::Tensor(te::Builder&, std::span<const te::Tensor>)>;
  using DefineMany =
      std::function<std::vector<te::Tensor>(te::Builder&, std::span<const te::Tensor>)>;
  ValueId compute(const std::string& label, const std::vector<ValueId>& inputs, const Define& fn);
  std::vector<ValueId> compute_many(const std::string& label, const std::vector<ValueId>& inputs,
                                    const DefineMany& fn);

  // Broadcast element-wise: fn gets one expression per input, in its own type.
  using Element = std::function<ir::Expr(std::span<const ir::Expr>)>;
  ValueId elementwise(const std::string& label, const std::vector<ValueId>& inputs,
                      const Element& fn);
  ValueId cast(ValueId x, ir::DType to);  // x itself when nothing changes
  ValueId reshape(ValueId x, Shape shape);
  ValueId transpose(ValueId x, std::vector<int64_t> perm);
  ValueId empty(ir::DType t, Shape shape);  // a constant without elements

  // Branches and loops. Nodes that are added from now on are of a new segment, which runs here.
  void begin_segment();
  // Adds an instruction and says its number; begin_segment() follows where nodes are to run behind it.
  size_t flow(FlowOp op);
  // The instruction `op` goes to what is added next.
  void set_target(size_t op);
  size_t next_op() const { return graph_.flow.size(); }
  // How many rows the value has is known when the model runs only.
  bool is_counted(ValueId v) const { return counted_.contains(v); }
  // A value that instructions write.
  ValueId variable(const std::string& name, ir::DType t, Shape shape);

  // What was added since a mark can be taken back.
  struct Mark {
    size_t nodes = 0, values = 0, flow = 0;
    int32_t segment = 0, segments = 0;
  };
  Mark mark() const;
  void back_to(const Mark& m);

  const Value& value(ValueId v) const { return graph_.value(v); }
  const Shape& shape(ValueId v) const { return value(v).shape; }
  ir::DType dtype(ValueId v) const { return value(v).dtype; }
  const Data& data(ValueId v) const { return value(v).data; }  // null unless constant

 private:
  std::vector<ValueId> append_node(const std::string& label, Op op,
                                   const std::vector<ValueId>& inputs);
  Graph& graph_;
  std::string node_;
  double folded_ = 0;     // expressions evaluated so far
  int32_t segment_ = 0;   // of nodes that are added
  int32_t segments_ = 1;  // begun so far
  std::set<ValueId> counted_;
};

// Work, counted in te operations, up to which a builder folds at once by interpreting.
inline constexpr double kEagerFold = 200'000;
// The same for all nodes of a builder together, counted in expressions: a few seconds.
inline constexpr double kEagerFoldInAll = 50'000'000;
// Constants that folding makes may have at most this many bytes each.
inline constexpr int64_t kLargestFolded = int64_t{256} << 20;

}  // namespace tenon::graph
