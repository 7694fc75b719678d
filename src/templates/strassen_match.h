// SPDX-License-Identifier: Apache-2.0
// Matrix products with constant weights that Strassen's algorithm may compute, and what it is
// estimated to save.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/algorithms/strassen.h"
#include "templates/anchor.h"
#include "templates/rows.h"

namespace tenon::templates {

struct Dense {
  Chain chain;
  std::optional<Rows> rows;  // that the first operand is computed by
  schedule::Product product;
  te::Tensor x, w;
  bool blocked = false;  // N C/v positions v; otherwise columns are the last dimension
  int64_t columns = 1, k = 1;
  int64_t outer = 1;  // products of matrices
  std::vector<std::string> like_output;
};

// Whatever `variant` takes and whose columns can be vectors.
std::optional<Dense> find_dense(const schedule::State& initial);

// The algorithm is asked for, or estimated to be faster than the direct one.
bool is_worth_it(const Dense& d, const Request& request, const target::Cpu& t);

// Lanes of a full vector.
int64_t lanes_of(const Dense& d, const target::Cpu& t);
// Whole vectors in each half, and edges that hold them side by side.
bool fits(const Dense& d, const Request& request, const target::Cpu& t);

// Rows of a block that divides a half of them: as many blocks for each core, and few of them, since
// each reads all weights, but not so few that its sums leave the cache.
int64_t rows_in_block(const Dense& d, const target::Cpu& t);
// By rule, cores share out such blocks where they are even and large enough, panels of columns
// otherwise.
bool shares_rows(const Dense& d, const target::Cpu& t, int64_t panels);

}  // namespace tenon::templates
