// SPDX-License-Identifier: Apache-2.0
#include "history/transplant.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tenon::history {
namespace {

using space::HoleKind;

int64_t algorithm_of(const schedule::Trace& trace) {
  for (const schedule::Step& s : trace) {
    const auto* v = std::get_if<schedule::Variant>(&s);
    if (v == nullptr || v->algorithm == schedule::Algorithm::kGemm) continue;
    return 1 + static_cast<int64_t>(v->algorithm);
  }
  return 0;
}

std::optional<int64_t> structure_of(const space::Choices& choices) {
  for (const space::Choice& c : choices) {
    if (c.hole.kind == HoleKind::kStructure) return c.value;
  }
  return std::nullopt;
}

std::optional<space::Program> fitted_by(const Translator& translator, const space::Space& space,
                                        const Recipe& recipe) {
  const auto choices = translator.choices(recipe);
  if (!choices) return std::nullopt;
  space::ByRule rule;
  space::Follow follow(*choices, rule);
  auto p = space.write(follow);
  if (!p || algorithm_of(p->trace) != recipe.algorithm) return std::nullopt;
  const auto structure = structure_of(p->choices);
  if (structure && structure != structure_of(*choices)) return std::nullopt;
  return std::move(p.value());
}

class Transplanter {
 public:
  Transplanter(const space::Space& space, size_t most)
      : space_(space), most_(most), translator_(space.task()) {
    for (const space::Program& p : space.first()) seen_.insert(p.hash);
  }

  void take(const KnownTask& from, const KnownProgram& known) {
    if (full()) return;
    auto p = fitted_by(translator_, space_, known.recipe);
    if (p && seen_.insert(p->hash).second) {
      out_.push_back({*std::move(p), from.key, from.label});
    }
  }
  bool full() const { return out_.size() >= most_; }
  std::vector<Transplant> result() { return std::move(out_); }

 private:
  const space::Space& space_;
  const size_t most_;
  const Translator translator_;
  std::set<uint64_t> seen_;  // hashes
  std::vector<Transplant> out_;
};

}  // namespace

std::optional<space::Program> fitted(const space::Space& space, const Recipe& recipe) {
  return fitted_by(Translator(space.task()), space, recipe);
}

std::vector<Transplant> transplants(const space::Space& space,
                                    const std::vector<KnownTask>& nearest_first, size_t most) {
  Transplanter t(space, most);
  size_t longest = 0;
  for (const KnownTask& k : nearest_first) longest = std::max(longest, k.programs.size());
  for (size_t sum = 0; sum < nearest_first.size() + longest && !t.full(); ++sum) {
    for (size_t rank = 0; rank <= sum; ++rank) {
      const size_t task = sum - rank;
      if (task >= nearest_first.size() || rank >= nearest_first[task].programs.size()) continue;
      t.take(nearest_first[task], nearest_first[task].programs[rank]);
    }
  }
  return t.result();
}

}  // namespace tenon::history
