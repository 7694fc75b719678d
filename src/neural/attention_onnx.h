// SPDX-License-Identifier: Apache-2.0
// The network of cost/models/attention_network.h as an ONNX model of fixed shapes, for one output:
// so many sets at a time, padded to so many rows. Weights are inside.
//
//   inputs  x [batch * rows, columns]       sets one after the other, each with its padding behind it
//           present [batch, 1, 1, rows]     1 where there is a row
//   output  score [batch]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cost/models/attention_network.h"

namespace tenon::neural {

struct RowsForm {
  int64_t batch = 64;  // sets
  int64_t rows = 32;   // of a set, at most
};

std::string attention_onnx(const cost::AttentionNetwork& network, uint32_t output,
                           const RowsForm& form);

// What the inputs are for these sets, `batch` at most, in the order above.
std::vector<std::vector<float>> row_inputs(std::span<const cost::Row* const> sets, int64_t columns,
                                           const RowsForm& form);

}  // namespace tenon::neural
