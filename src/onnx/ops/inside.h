// SPDX-License-Identifier: Apache-2.0
// Indices that are known when a model is compiled must lie inside of what they read or write.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace tenon::onnx {

// Unsupported where one of the indices is outside of -extent..extent-1; null data are not known, and what they say is
// clamped when the model runs. "position 512 is outside of a table of 512"
void require_inside(const graph::Data& indices, int64_t extent, std::string_view what);
// The same for tuples along the last dimension: element k of each is held against extents[k].
void require_inside(const graph::Data& indices, const graph::Shape& extents, std::string_view what);

}  // namespace tenon::onnx
