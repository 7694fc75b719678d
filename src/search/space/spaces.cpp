// SPDX-License-Identifier: Apache-2.0
#include "search/space/spaces.h"

#include "search/space/task_skeleton.h"
#include "support/check.h"

namespace tenon::search {
namespace {

std::unique_ptr<space::Space> with_parts(const task::Task& t, const Parts& parts) {
  auto skeleton = std::make_unique<TaskSkeleton>(t, parts);
  if (skeleton->empty()) return nullptr;
  return std::make_unique<space::Space>(t, std::move(skeleton));
}

std::unique_ptr<space::Space> make_sketches_alone(const task::Task& t) {
  return make_sketch_space(t, {});
}
std::unique_ptr<space::Space> make_loops(const task::Task& t) {
  return with_parts(
      t, {.templates = false, .algorithms = false, .operands_in_loop_order = false, .user = {}});
}
std::unique_ptr<space::Space> make_templates(const task::Task& t) {
  return with_parts(t, {.sketches = false, .user = {}});
}
std::unique_ptr<space::Space> make_joint(const task::Task& t) {
  return with_parts(t, {.user = {}});
}

constexpr SpaceRow kSpaces[] = {
    {"sketch", "programs derived from the definition by rules (Ansor)", make_sketches_alone},
    {"loops", "the same with every operand as it lies, by the definition", make_loops},
    {"template", "the templates of the core with other choices", make_templates},
    {"joint", "sketches and templates together", make_joint},
};

}  // namespace

std::span<const SpaceRow> spaces() { return kSpaces; }

std::unique_ptr<space::Space> make_space(const std::string& name, const task::Task& t) {
  std::string known;
  for (const SpaceRow& r : kSpaces) {
    if (r.name == name) return r.make(t);
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("there is no space '" + name + "'", "there are: " + known);
}

std::unique_ptr<space::Space> make_sketch_space(const task::Task& t,
                                                std::span<const SketchRule> user) {
  return with_parts(t, {.templates = false, .user = user});
}

}  // namespace tenon::search
