// SPDX-License-Identifier: Apache-2.0
// One time step of a recurrent layer as nodes of the graph. Each step reads the input projection of all
// steps and its own number from a constant, so that all steps of a layer have the same definition.
//
//   h1 = cell(xw, step 0, h0 * R^T, h0)
//   h2 = cell(xw, step 1, h1 * R^T, h1)        the same kernel, called again
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/builder.h"

namespace tenon::onnx {

// What the activations of ONNX's recurrent operators compute; names in any case, "Tanh".
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
  ir::Expr operator()(const ir::Expr& x) const;
};

// `count` activations for each direction, from the names and the parameters that they use up in order.
// Throws Unsupported for a name that is not known.
std::vector<Activation> activations(const std::vector<std::string>& names,
                                    const std::vector<double>& alpha,
                                    const std::vector<double>& beta);

// What all steps of one direction share.
struct Layer {
  int64_t steps = 1, batch = 1, hidden = 1;
  ir::DType dtype, sum;  // of states, and of arithmetic
  bool reverse = false;
  double clip = 0;  // 0: none
  std::vector<Activation> act;
  graph::ValueId xw = -1;    // steps x batch x gates*hidden: the input projection with its bias
  graph::ValueId lens = -1;  // batch: lengths of the sequences, i64; -1: all of full length
};

// Reads of one element [row, column] while the body of a step is written.
class StepReads {
 public:
  StepReads(const Layer& layer, std::span<const te::Tensor> in, std::span<const ir::Var> axes)
      : layer_(layer), in_(in), row_(axes[0]), column_(axes[1]) {}
  // Gate g of the input projection at this step's time.
  ir::Expr x(int64_t g) const;
  // Column of gate g of the k-th tensor given to step_node: batch x gates*hidden, or gates*hidden.
  ir::Expr at(size_t k, int64_t g = 0) const;
  ir::Expr clipped(const ir::Expr& v) const;
  // Whether this row's sequence is not over yet; undefined when there are no lengths.
  ir::Expr alive() const;

 private:
  const Layer& layer_;
  std::span<const te::Tensor> in_;
  ir::Expr row_, column_;
};

// A batch x hidden state from `reads` (given to StepReads::at by position) at step `step`. Rows whose
// sequence is over keep `reads[keep]`.
graph::ValueId step_node(graph::GraphBuilder& b, const std::string& label, const Layer& layer,
                         int64_t step, const std::vector<graph::ValueId>& reads, size_t keep,
                         const std::function<ir::Expr(const StepReads&)>& body);

}  // namespace tenon::onnx
