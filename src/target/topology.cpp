// SPDX-License-Identifier: Apache-2.0
#include "target/topology.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <string>

namespace tenon::target {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<int64_t> to_number(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) {
    return std::nullopt;
  }
  return number;
}

// "1024K" => 1048576
std::optional<int64_t> to_bytes(std::string_view text) {
  int64_t unit = 1;
  if (text.ends_with('K')) {
    unit = 1 << 10;
  } else if (text.ends_with('M')) {
    unit = 1 << 20;
  }
  if (unit > 1) {
    text.remove_suffix(1);
  }
  const std::optional<int64_t> number = to_number(text);
  if (!number || *number <= 0) {
    return std::nullopt;
  }
  return *number * unit;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const size_t dash = range.find('-');
    const auto low = to_number(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : to_number(range.substr(dash + 1));
    if (!low || !high || *low < 0 || *high < *low || *high > 1 << 16) {
      return {};
    }
    for (int64_t cpu = *low; cpu <= *high; ++cpu) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

int count_cores(const fs::path& folder, const std::vector<int>& cpus) {
  std::set<int> cores;  // each named by its first hyperthread
  for (const int cpu : cpus) {
    const fs::path topology = folder / ("cpu" + std::to_string(cpu)) / "topology";
    const std::vector<int> siblings = parse_cpu_list(first_line(topology / "thread_siblings_list"));
    cores.insert(siblings.empty() ? cpu : siblings.front());
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

Caches read_caches(const fs::path& folder, int cpu) {
  Caches caches;
  const fs::path all = folder / ("cpu" + std::to_string(cpu)) / "cache";
  for (int i = 0; fs::exists(all / ("index" + std::to_string(i))); ++i) {
    const fs::path one = all / ("index" + std::to_string(i));
    const std::string level = first_line(one / "level");
    const std::optional<int64_t> bytes = to_bytes(first_line(one / "size"));
    if (first_line(one / "type") == "Instruction") {
      continue;
    }
    if (level == "1") {
      caches.l1d_bytes = bytes;
      caches.line_bytes = to_bytes(first_line(one / "coherency_line_size"));
    } else if (level == "2") {
      caches.l2_bytes = bytes;
    } else if (level == "3") {
      caches.l3_bytes = bytes;
    }
  }
  return caches;
}

}  // namespace tenon::target
