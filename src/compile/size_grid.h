// SPDX-License-Identifier: Apache-2.0
// The combinations of sizes that a library is compiled for.
//
//   combinations({batch: 1 2, seq: 8 16})      {1, 8}, {1, 16}, {2, 8}, {2, 16}
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "artifact/program.h"

namespace tenon::compile {

using Dims = std::vector<artifact::Dim>;

// How many combinations there are; at most a little more than is allowed.
size_t count_of(const Dims& dims);

// Whether `fn` says so of every combination, the last dimension fastest; the first that it does not say so of ends it.
bool holds_for_all(const Dims& dims,
                   const std::function<bool(const std::vector<int64_t>& sizes)>& fn);
// All of them in that order: the largest is the last.
std::vector<std::vector<int64_t>> combinations(const Dims& dims);

// "8 of batch, 512 of seq"
std::string text_of(const Dims& dims);

}  // namespace tenon::compile
