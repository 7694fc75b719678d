// SPDX-License-Identifier: Apache-2.0
// Reads cores and caches from Linux's /sys and /proc. Every function takes the folder to read from, so
// that tests can show it other machines; a file that is missing means "not known", never an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace tenon::target {

// "0-2,8" => {0, 1, 2, 8}; empty if malformed.
std::vector<int> parse_cpu_list(std::string_view text);

// How many physical cores the logical processors `cpus` belong to; two hyperthreads are one core.
// `folder` is /sys/devices/system/cpu.
int count_cores(const std::filesystem::path& folder, const std::vector<int>& cpus);

struct Caches {
  std::optional<int64_t> l1d_bytes, l2_bytes, l3_bytes, line_bytes;
};
// What processor `cpu` sees. `folder` is /sys/devices/system/cpu.
Caches read_caches(const std::filesystem::path& folder, int cpu);

}  // namespace tenon::target
