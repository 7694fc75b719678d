// SPDX-License-Identifier: Apache-2.0
// What may be tried for a task, as rows of one table: "sketch" (Ansor's rules and annotation, under every algorithm),
// "loops" (the same by the definition, without layouts of operands), "template" (the templates of the core), "joint"
// (sketches and templates).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "search/sketch/sketch.h"
#include "space/space.h"

namespace tenon::search {

struct SpaceRow {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<space::Space> (*make)(const task::Task& t);  // null: nothing to try for this task
};
std::span<const SpaceRow> spaces();
std::unique_ptr<space::Space> make_space(const std::string& name,
                                         const task::Task& t);  // throws UserError

// What the row "sketch" makes, with rules of a user's.
std::unique_ptr<space::Space> make_sketch_space(const task::Task& t,
                                                std::span<const SketchRule> user);

}  // namespace tenon::search
