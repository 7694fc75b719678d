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

const char* word(PlanKind kind) {
  switch (kind) {
    case PlanKind::kTile:
      return "tile";
    case PlanKind::kShare:
      return "share";
    case PlanKind::kRows:
      return "rows";
    case PlanKind::kTransform:
      return "transform";
    case PlanKind::kInThread:
      return "in-thread";
  }
  return "";
}

bool is_gemm(const schedule::Step& step) {
  const auto* v = std::get_if<schedule::Variant>(&step);
  return v != nullptr && v->algorithm == schedule::Algorithm::kGemm;
}

std::string name_of(const Sketch& s) {
  std::string name;
  const auto add = [&](const std::string& word) { name += (name.empty() ? "" : "+") + word; };
  if (std::any_of(s.trace.begin(), s.trace.end(), is_gemm)) add("gemm");
  for (const Plan& p : s.plans) add(std::string(p.split ? "split-" : "") + word(p.kind));
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

std::vector<Sketch> sketches_of(const task::Task& t, int64_t algorithm,
                                std::span<const SketchRule> user) {
  constexpr int64_t kGemm = 1 + static_cast<int64_t>(schedule::Algorithm::kGemm);
  if (algorithm == kGemm) return {};
  std::vector<Sketch> all = make_sketches(t, user, algorithm);
  if (algorithm > 0 || t.target->is_cpu()) return all;
  for (Sketch& s : make_sketches(t, user, kGemm)) all.push_back(std::move(s));
  return all;
}

std::vector<std::string> structure_names(const task::Task& t, int64_t algorithm) {
  std::vector<std::string> names{kTemplateStructure};
  for (const Sketch& s : sketches_of(t, algorithm)) {
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
