// SPDX-License-Identifier: Apache-2.0
#include "schedule/words.h"

#include <algorithm>
#include <array>

namespace tenon::schedule {

namespace {

constexpr std::array<std::string_view, 4> kScopes{"global", "shared", "local", "register"};
constexpr std::array<std::string_view, 8> kTags{"none",     "block_x",  "block_y",  "block_z",
                                                "thread_x", "thread_y", "thread_z", "vthread"};

template <class T, size_t N>
std::optional<T> find(const std::array<std::string_view, N>& words, std::string_view w) {
  const auto it = std::find(words.begin(), words.end(), w);
  if (it == words.end()) return std::nullopt;
  return static_cast<T>(it - words.begin());
}

}  // namespace

std::string_view word(ir::Scope s) { return kScopes[static_cast<size_t>(s)]; }
std::string_view word(ir::ThreadTag t) { return kTags[static_cast<size_t>(t)]; }
std::string_view word(Dot d) { return row_of(d).name; }
std::string_view word(Algorithm a) { return row_of(a).name; }
std::optional<ir::Scope> parse_scope(std::string_view w) { return find<ir::Scope>(kScopes, w); }
std::optional<ir::ThreadTag> parse_tag(std::string_view w) { return find<ir::ThreadTag>(kTags, w); }
std::optional<Dot> parse_dot(std::string_view w) {
  for (const DotRow& r : dots()) {
    if (r.name == w) return r.dot;
  }
  return std::nullopt;
}

std::optional<Algorithm> parse_algorithm(std::string_view w) {
  for (const AlgorithmRow& r : algorithms()) {
    if (r.name == w) return r.algorithm;
  }
  return std::nullopt;
}

}  // namespace tenon::schedule
