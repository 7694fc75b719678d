// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::tools {

// 25557032 => "25,557,032"
std::string grouped(int64_t n);
// Microseconds or milliseconds or seconds, by size: "12.3 us", "4.71 ms", "1.20 s".
std::string time_text(double seconds);
// "1x3x224x224"; a scalar is "scalar".
std::string shape_text(const std::vector<int64_t>& shape);
// "640 B", "12.3 KiB", "1.2 GiB"
std::string bytes_text(double bytes);

}  // namespace tenon::tools
