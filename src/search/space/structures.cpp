// SPDX-License-Identifier: Apache-2.0
#include "search/space/structures.h"

#include <algorithm>

#include "search/sketch/sketch.h"

namespace tenon::search {
namespace {

// How many levels of the reader's tiles lie around the stage.
size_t level_of(const Sketch& s, const TiledStage& t) {
  for (const size_t o : t.host_splits) {
    if (o == kNone) continue;
    return std::get<schedule::Split>(s.trace[s.open[o].step]).factors.size();
  }
  return 0;
}

std::string name_of(const Sketch& s) {
  std::string name;
  const auto add = [&](const std::string& word) { name += (name.empty() ? "" : "+") + word; };
  for (const schedule::Step& step : s.trace) {
    const auto* r = std::get_if<schedule::Rfactor>(&step);
    if (r != nullptr) add(r->axis == 0 ? "rfactor-outer" : "rfactor-inner");
  }
  for (const TiledStage& t : s.tiled) {
    add(t.host < 0 ? "tile" : "fuse" + std::to_string(level_of(s, t)));
  }
  return name.empty() ? "plain" : name;
}

}  // namespace

std::vector<std::string> structure_names(const task::Task& t, int64_t algorithm) {
  std::vector<std::string> names{kTemplateStructure};
  for (const Sketch& s : make_sketches(t, {}, algorithm)) {
    const std::string name = name_of(s);
    std::string fresh = name;
    for (int i = 2; std::find(names.begin(), names.end(), fresh) != names.end(); ++i) {
      fresh = name + "#" + std::to_string(i);
    }
    names.push_back(std::move(fresh));
  }
  return names;
}

}  // namespace tenon::search
