// SPDX-License-Identifier: Apache-2.0
// What the templates of direct convolutions share: recognising one, of any spatial rank, in groups
// or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "templates/anchor.h"

namespace tenon::templates {

struct Conv {
  Chain chain;
  te::Tensor x, w;
  te::Access window;                      // of the padded input
  const te::ComputeOp* scaled = nullptr;  // computes w from constant weights, element by element
  te::Tensor weights;                     // these; w itself where nothing is computed
  std::optional<Padding> padding;
  size_t rank = 0;         // spatial dimensions
  int64_t group = 0;       // output channels in a group; 0: all are in one
  bool pointwise = false;  // kernel 1, stride 1, no padding: positions are one dimension
  std::vector<std::string> like_output;
};

//   n k spatial.. = sum over c kernel.. of x[n, c, spatial*stride + kernel*dilation] *
//                                          w[k, c, kernel..]
// `scaled`: w may be computed from constant weights of its shape.
std::optional<Conv> match_conv(const te::ComputeDag& dag, bool scaled = false);

}  // namespace tenon::templates
