// SPDX-License-Identifier: Apache-2.0
// Every operator family on small odd shapes.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "support/sanitized.h"
#include "te/dag.h"

namespace tenon::templates {

struct Case {
  std::string family;  // template expected on the widest target; empty: any
  std::string name;
  std::function<te::ComputeDag()> make;
};

// Programs are interpreted several times as slowly under a sanitizer, which finds nothing more on a second machine:
// there (kSanitized) each case is tried on one.
std::vector<Case> cases();

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

}  // namespace tenon::templates
