// SPDX-License-Identifier: Apache-2.0
// Whether a model of one size of a dimension serves smaller sizes too: tensors are padded, and what is beyond the size is
// never looked at by what is within.
//
//   relu(x), x w + b      each row for itself: rows of padding are computed and dropped
//   softmax(x) over rows  what is beyond the size is left out of the sum: a limit
//   x[size - 1], mean     no: another computation for every size
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tenon::compile {

// An input of a node that is to be `value` beyond the size along `axis`. A product is given the limit itself instead.
struct Limit {
  size_t node = 0;
  bool product = false;
  size_t input = 0, axis = 0;
  double value = 0;
  bool operator==(const Limit&) const = default;
};

struct Padding {
  std::vector<Limit> limits;
  std::vector<std::vector<bool>> outputs;  // by output and axis: whether it has the dimension
  bool operator==(const Padding&) const = default;
};

// `exact` and `padded` are the model at two sizes of a dimension, as imported; `inputs` says by input and axis what has
// it. Shown operator by operator on their definitions; nothing where that is not found.
std::optional<Padding> find_padding(const graph::Graph& exact, const graph::Graph& padded,
                                    int64_t size, int64_t padded_size,
                                    const std::vector<std::vector<bool>>& inputs);

struct LimitedDim {
  std::string name;
  std::vector<Limit> limits;
};

// Adds an input of one int64 for each dimension behind the others, its size, and limits by it.
void add_limits(graph::Graph& padded, const std::vector<LimitedDim>& dims);

}  // namespace tenon::compile
