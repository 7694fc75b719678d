// SPDX-License-Identifier: Apache-2.0
// How alike two tasks are, so that what is good for one is tried for the other: what kind of operator they are, and how
// far apart their sizes lie.
//
//   conv2.f32 columns=64 depth=64 kernel0=3 kernel1=3 y0=56 y1=56 ..
//   conv2.f32 columns=128 depth=128 kernel0=3 kernel1=3 y0=28 y1=28 ..     four doublings away
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "task/task.h"

namespace tenon::history {

struct Likeness {
  std::string kind;                      // of the reductions in their order
  std::map<std::string, int64_t> sizes;  // by role; what is not there is 1
  bool operator==(const Likeness&) const = default;
};

Likeness likeness_of(const task::Task& t);

// Doublings between the sizes, each weighed by how much it changes a good program; infinity between kinds.
double distance(const Likeness& a, const Likeness& b);

// One line, words apart by spaces, and back; nothing for any other text.
std::string to_text(const Likeness& l);
std::optional<Likeness> parse_likeness(std::string_view text);

}  // namespace tenon::history
