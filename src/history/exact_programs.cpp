// SPDX-License-Identifier: Apache-2.0
#include "history/exact_programs.h"

#include "history/transplant.h"
#include "search/space/spaces.h"
#include "search/space/structures.h"

namespace tenon::history {
namespace {

// Where the best of a task has no choices, it is the one that the rules write, and the table has those behind it.
constexpr double kBest = 1.0005;

}  // namespace

ExactPrograms::ExactPrograms(const std::vector<KnownTask>& table) {
  for (const KnownTask& t : table) {
    const bool best = !t.programs.empty() && t.programs[0].relative < kBest;
    if (!best) continue;
    best_.emplace(t.key, t.programs[0].recipe);
    alike_.emplace(to_text(t.likeness), t.programs[0].recipe);
  }
}

std::optional<schedule::Trace> ExactPrograms::find(const task::Task& t) const {
  auto it = best_.find(t.key);
  if (it == best_.end()) {
    it = alike_.find(to_text(likeness_of(t)));
    if (it == alike_.end()) return std::nullopt;
  }
  // Templates alone are a space that is made in a moment.
  const bool by_template = it->second.structure == search::kTemplateStructure;
  const auto space = search::make_space(by_template ? "template" : "joint", t);
  if (space == nullptr) return std::nullopt;
  auto p = fitted(*space, it->second);
  return p ? std::optional(std::move(p->trace)) : std::nullopt;
}

}  // namespace tenon::history
