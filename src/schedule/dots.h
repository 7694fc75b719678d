// SPDX-License-Identifier: Apache-2.0
// The intrinsics of `tensorize`: group-wise dot products, which add the products of a few neighbouring narrow
// numbers to one wide one.
//
//   dot_u8i8: sum[j] += i32(a[4*j])*i32(b[4*j]) + ... + i32(a[4*j + 3])*i32(b[4*j + 3])
#pragma once

#include <span>
#include <string_view>

#include "ir/dtype.h"

namespace tenon::schedule {

// Stored in traces: append only.
enum class Dot : uint8_t { kU8I8, kI8I8, kU8U8, kI16I16, kBf16Bf16 };

struct DotRow {
  Dot dot;
  std::string_view name;
  ir::DType a, b;  // in either order
  ir::DType sum;
  int64_t group;  // products added at once
};

std::span<const DotRow> dots();  // in the order of Dot
const DotRow& row_of(Dot d);

}  // namespace tenon::schedule
