// SPDX-License-Identifier: Apache-2.0
// Programs of one template with other numbers than those of its rules, by the names of the holes.
//
//   write_with("pair", initial, {}, {{"at", 2}, {"rows", 4}})
#pragma once

#include <map>
#include <optional>
#include <string>

#include "templates/template.h"

namespace tenon::templates {

using Numbers = std::map<std::string, int64_t, std::less<>>;

// The nearest legal value where the name is given, the rule's elsewhere.
class ByName : public space::Decider {
 public:
  explicit ByName(const Numbers& given) : given_(given) {}
  int64_t decide(const space::Hole& hole) override {
    const auto it = given_.find(hole.name);
    const int64_t value = it == given_.end() ? hole.rule : hole.domain.nearest(it->second);
    taken_[std::string(hole.name)] = value;
    return value;
  }
  const Numbers& taken() const { return taken_; }

 private:
  const Numbers& given_;
  Numbers taken_;
};

struct NamedProgram {
  schedule::Trace trace;
  schedule::State state;
  Numbers numbers;  // of all holes that were asked about
};

// Nothing if the template does not take the dag, or if a step is refused.
inline std::optional<NamedProgram> write_with(std::string_view name, const schedule::State& initial,
                                              const Request& request, const Numbers& given) {
  for (const Template& t : templates(initial.target())) {
    if (t.name != name) continue;
    ByName decider(given);
    space::Builder b(initial, decider);
    if (!t.write(b, request) || b.refused()) return std::nullopt;
    return NamedProgram{b.take_trace(), b.take_state(), decider.taken()};
  }
  return std::nullopt;
}

}  // namespace tenon::templates
