// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/inside.h"

#include "onnx/ops/emit.h"

namespace tenon::onnx {

void require_inside(const graph::Data& indices, const graph::Shape& extents,
                    std::string_view what) {
  if (!indices) return;
  const auto width = static_cast<int64_t>(extents.size());
  for (int64_t i = 0; i < indices->elements(); ++i) {
    const int64_t extent = extents[static_cast<size_t>(i % width)];
    const ir::DType t = indices->dtype();
    const int64_t at = indices->get(i).i;
    // The largest unsigned numbers are negative as signed ones.
    const bool huge = !t.is_signed() && at < 0;
    if (huge || at < -extent || at >= extent) {
      refuse("{} {} is outside of {} places", what,
             huge ? std::to_string(static_cast<uint64_t>(at)) : std::to_string(at), extent);
    }
  }
}

void require_inside(const graph::Data& indices, int64_t extent, std::string_view what) {
  require_inside(indices, graph::Shape{extent}, what);
}

}  // namespace tenon::onnx
