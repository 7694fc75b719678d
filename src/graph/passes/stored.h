// SPDX-License-Identifier: Apache-2.0
// Weights and parameters of quantised operators, as the passes on them need them: without zero points, per channel.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace tenon::graph {

// The value of p for each place of dimension `axis` of a tensor of shape `of`, to which p broadcasts; nothing if it depends
// on another dimension.
std::optional<std::vector<double>> per_channel(const ir::Array& p, const Shape& of, size_t axis);

// w - zero for each channel, in i8; nothing if one of the differences needs more than 8 bits.
//   u8 128 129 0, zero 128   ->   i8 0 1 -128
std::optional<ir::Array> centred(const ir::Array& w, const std::vector<double>& zeros, size_t axis);

// The sums of all elements of each channel of an array in i8.
std::vector<int64_t> channel_sums(const ir::Array& w, size_t axis);

}  // namespace tenon::graph
