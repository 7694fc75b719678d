// SPDX-License-Identifier: Apache-2.0
// The sizes that a ComputeDag may have. Inside them no offset or byte count overflows int64_t.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::te {

inline constexpr size_t kMaxRank = 12;
inline constexpr size_t kMaxOps = 1000;
inline constexpr size_t kMaxInputs = 10000;
inline constexpr int64_t kMaxExtent = int64_t{1} << 31;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;  // exclusive

// Empty if `shape` is allowed, otherwise what is wrong: "extent 0 of dimension 1 is not in 1..2^31".
std::string shape_error(const std::vector<int64_t>& shape);

}  // namespace tenon::te
