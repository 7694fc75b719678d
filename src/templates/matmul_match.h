// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication, batched or not, either operand transposed or read through an affine map.
#pragma once

#include <optional>
#include <vector>

#include "templates/anchor.h"
#include "templates/rows.h"
#include "templates/template.h"

namespace tenon::templates {

struct Matmul {
  Chain chain;
  std::optional<Rows> rows;  // that the first operand is computed by
  te::Access x, w;
  bool constant = false;           // w is known at compile time
  size_t j_dim = 0;                // of w
  std::vector<size_t> other_dims;  // of w: neither j nor k
  size_t k_dim = 0;
  size_t row = 0;                // axis of the output
  std::vector<size_t> shared;    // other axes that w does not depend on
  std::vector<size_t> batch;     // axes that it does
  int64_t row_stride_bytes = 0;  // of x, between rows of the tile
};

// axes: batch.., i, j; one reduction axis k; w has j and k, x has i and k.
std::optional<Matmul> find_matmul(const te::ComputeDag& dag, const target::Cpu& t);

// Whether each row of w is contiguous along the columns and stored as the model has it, so that whole
// vectors of it can be read where they lie.
bool lies_in_rows(const Matmul& m, const Request& request);

// Whether copying w into panels of so many columns beforehand costs less than it saves when each of
// so many tiles of rows reads all of it.
bool pays_to_pack(const Matmul& m, int64_t tiles, int64_t columns, const target::Cpu& t);

// Constant weights of the first operand's width, and groups along k that lie side by side in it.
bool has_groups(const Matmul& m, int64_t group);

}  // namespace tenon::templates
