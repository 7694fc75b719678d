// SPDX-License-Identifier: Apache-2.0
#include "search/space.h"

#include "search/spaces.h"
#include "support/check.h"

namespace tenon::search {
namespace {

constexpr SpaceRow kSpaces[] = {
    {"sketch", "structures by Ansor's rules, filled in at random", make_sketch_space},
    {"loops", "sketches that leave every tensor, weights too, as it lies: to compare with",
     make_loop_space},
    {"template", "the hand-written schedule that fits, with its knobs", make_template_space},
    {"joint", "both: the template's programs and those of the sketches", make_joint_space},
};

}  // namespace

std::span<const SpaceRow> spaces() { return kSpaces; }

std::unique_ptr<Space> make_space(const std::string& name, const task::Task& t) {
  std::string known;
  for (const SpaceRow& r : kSpaces) {
    if (r.name == name) return r.make(t);
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("there is no space '" + name + "'", "there are: " + known);
}

}  // namespace tenon::search
