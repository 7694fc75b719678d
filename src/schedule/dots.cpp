// SPDX-License-Identifier: Apache-2.0
#include "schedule/dots.h"

#include "support/check.h"

namespace tenon::schedule {

namespace {

constexpr DotRow kDots[] = {
    {Dot::kU8I8, "dot_u8i8", ir::kU8, ir::kI8, ir::kI32, 4},
    {Dot::kI8I8, "dot_i8i8", ir::kI8, ir::kI8, ir::kI32, 4},
    {Dot::kU8U8, "dot_u8u8", ir::kU8, ir::kU8, ir::kI32, 4},
    {Dot::kI16I16, "dot_i16i16", ir::kI16, ir::kI16, ir::kI32, 2},
    {Dot::kBf16Bf16, "dot_bf16bf16", ir::kBF16, ir::kBF16, ir::kF32, 2},
};

}  // namespace

std::span<const DotRow> dots() { return kDots; }

const DotRow& row_of(Dot d) {
  TENON_CHECK(static_cast<size_t>(d) < std::size(kDots)) << static_cast<int>(d);
  return kDots[static_cast<size_t>(d)];
}

}  // namespace tenon::schedule
