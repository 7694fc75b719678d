// SPDX-License-Identifier: Apache-2.0
// Indices that advance evenly, as those of a resized dimension do where the scale is a ratio of small
// numbers: a formula that the compiler sees through, unlike a table.
//
//   -1 0 0 1 1 2  ==  floor((i - 1) / 2)
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/ir.h"

namespace tenon::onnx {

// index[i] = floor((advance * i + shift) / period)
struct EvenSteps {
  int64_t period = 1, advance = 1, shift = 0;
};

// Nothing if the period would be so long that no few vectors hold one.
std::optional<EvenSteps> find_even_steps(std::span<const int64_t> index);

ir::Expr step_of(const EvenSteps& s, const ir::Expr& i);

}  // namespace tenon::onnx
