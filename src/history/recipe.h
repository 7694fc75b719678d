// SPDX-License-Identifier: Apache-2.0
// A program as choices that another task can take: stages by what they are to the work, the structure by its name. A
// Translator of one task gives the recipe of its programs; a Translator of another gives choices that its space can
// follow, whose values become the nearest legal ones (space::Follow).
//
//   [["structure",-1,0,2],["factor",5,9,16]]  of  relu(conv(X))
//     => fuse2 factor@last+out.9=16           of anything like it
//       => [["structure",-1,0,3],["factor",4,9,16]]  of  conv(X)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/stage_roles.h"
#include "space/choice.h"
#include "task/task.h"

namespace tenon::history {

struct RecipeChoice {
  space::HoleKind kind = space::HoleKind::kSwitch;
  std::string role;  // of the stage
  int32_t number = 0;
  int64_t value = 0;
  bool operator==(const RecipeChoice&) const = default;
};

struct Recipe {
  int64_t algorithm = 0;  // as space::HoleKind::kAlgorithm counts
  std::string structure;  // search::structure_names
  std::vector<RecipeChoice> choices;
  bool operator==(const Recipe&) const = default;
};

// One line, words apart by spaces, and back; nothing for any other text.
std::string to_text(const Recipe& r);
std::optional<Recipe> parse_recipe(std::string_view text);

// Not to be used by two threads at once.
class Translator {
 public:
  explicit Translator(task::Task t) : task_(std::move(t)), roles_(*task_.dag) {}

  // Of a program of the task; nothing where the choices do not say what it is. Layouts of edges are left out.
  std::optional<Recipe> recipe(const space::Choices& choices) const;
  // The same decisions about this task; nothing where it has no such structure.
  std::optional<space::Choices> choices(const Recipe& r) const;

 private:
  const std::vector<std::string>& structures(int64_t algorithm) const;

  task::Task task_;
  StageRoles roles_;
  mutable std::map<int64_t, std::vector<std::string>> structures_;  // by algorithm; made when asked
};

}  // namespace tenon::history
