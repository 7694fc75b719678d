// SPDX-License-Identifier: Apache-2.0
// Every operator family on small odd shapes.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "te/dag.h"

namespace tenon::templates {

// Programs are interpreted several times as slowly under a sanitizer, which looks at how we write and read memory and
// finds nothing more on a second machine: there each case is tried on one.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

struct Case {
  std::string family;  // template expected on the widest target; empty: any
  std::string name;
  std::function<te::ComputeDag()> make;
};

std::vector<Case> cases();

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

}  // namespace tenon::templates
