// SPDX-License-Identifier: Apache-2.0
#include "compile/size_grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tenon::compile {
namespace {

// Sets the places of the next combination; false after the last.
bool next(const Dims& dims, std::vector<size_t>& at) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++at[d] < dims[d].compiled.size()) return true;
    at[d] = 0;
  }
  return false;
}

std::vector<int64_t> sizes_at(const Dims& dims, const std::vector<size_t>& at) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < dims.size(); ++d) sizes.push_back(dims[d].compiled[at[d]]);
  return sizes;
}

}  // namespace

size_t count_of(const Dims& dims) {
  size_t count = 1;
  for (const artifact::Dim& d : dims) {
    count = std::min(count, size_t{1} << 32) * d.compiled.size();
  }
  return count;
}

bool holds_for_all(const Dims& dims,
                   const std::function<bool(const std::vector<int64_t>& sizes)>& fn) {
  std::vector<size_t> at(dims.size(), 0);
  do {
    if (!fn(sizes_at(dims, at))) return false;
  } while (next(dims, at));
  return true;
}

std::vector<std::vector<int64_t>> combinations(const Dims& dims) {
  std::vector<std::vector<int64_t>> all;
  holds_for_all(dims, [&](const std::vector<int64_t>& sizes) {
    all.push_back(sizes);
    return true;
  });
  return all;
}

std::string text_of(const Dims& dims) {
  std::vector<std::string> parts;
  for (const artifact::Dim& d : dims) {
    parts.push_back(fmt::format("{} of {}", d.values.size(), d.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace tenon::compile
