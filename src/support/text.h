// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace tenon {

// 25557032 => "25,557,032"
std::string grouped(int64_t n);
// Microseconds or milliseconds or seconds, by size: "12.3 us", "4.711 ms", "1.20 s".
std::string time_text(double seconds);
// As a clock shows it: "0:07", "12:03", "2:00:59"; less than ten seconds with a tenth: "0:03.2".
std::string duration_text(double seconds);
// "640 B", "12.3 KiB", "1.2 GiB"
std::string bytes_text(double bytes);

}  // namespace tenon
