// SPDX-License-Identifier: Apache-2.0
// What a node computes, as tensor expressions; from this come shapes, types, folding, kernels, the reference.
#pragma once

#include <functional>
#include <span>

#include "graph/graph.h"

namespace tenon::graph {

// Appends the definition of `op` to `b`, applied to `inputs`, with names that begin with `name`.
std::vector<te::Tensor> append(te::Builder& b, const std::string& name, const Op& op,
                               std::span<const te::Tensor> inputs);

// The definition of one node on its own. Input i is named "x<i>" and constant where its value is.
te::ComputeDag define(const Graph& g, const Node& node);

// Shapes and types of the outputs; UserError if the inputs do not fit the op.
struct ValueType {
  ir::DType dtype;
  Shape shape;
};
std::vector<ValueType> infer(const Graph& g, const Op& op, std::span<const ValueId> inputs);

// The same bytes under another shape.
ir::Array reshaped(const ir::Array& a, const Shape& shape);

// Runs dags on arrays; what folding and the reference use. The default is te::evaluate.
using Evaluator =
    std::function<std::vector<ir::Array>(const te::ComputeDag&, const std::vector<ir::Array>&)>;
Evaluator interpreter();

// The value of every graph output, node by node; arrays are dropped after their last use.
// `watch` sees each value of each node when it is there.
using Watch = std::function<void(const Node&, size_t output, const ir::Array&)>;
std::vector<ir::Array> evaluate(const Graph& g, const std::vector<ir::Array>& inputs,
                                const Evaluator& run = interpreter(), const Watch& watch = {});

}  // namespace tenon::graph
