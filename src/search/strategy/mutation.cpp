// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/mutation.h"

#include <algorithm>
#include <map>

#include "search/sketch/tiles.h"

namespace tenon::search {
namespace {

using space::Choice;
using space::Choices;
using space::HoleKind;

struct KindWeight {
  HoleKind kind;
  double weight;
};
// Sizes, unrolling, places and parallel loops as in Ansor; the others are ours. Of those that the program has.
constexpr KindWeight kWeights[] = {
    {HoleKind::kFactor, 0.85},   {HoleKind::kParts, 0.85},     {HoleKind::kUnroll, 0.04},
    {HoleKind::kLocation, 0.05}, {HoleKind::kParallel, 0.02},  {HoleKind::kLanes, 0.02},
    {HoleKind::kSwitch, 0.04},   {HoleKind::kStructure, 0.01}, {HoleKind::kAlgorithm, 0.01},
    {HoleKind::kLayout, 0.85},
};
constexpr double kWholeTile = 0.1, kAnySize = 0.2;  // shares of changed sizes

std::vector<size_t> of_kind(const Choices& c, HoleKind kind) {
  std::vector<size_t> out;
  for (size_t i = 0; i < c.size(); ++i) {
    if (c[i].hole.kind == kind) out.push_back(i);
  }
  return out;
}

// A decision of a kind that is drawn by weight.
size_t pick(const Choices& c, Rng& rng) {
  std::vector<std::pair<std::vector<size_t>, double>> there;
  double total = 0;
  for (const KindWeight& k : kWeights) {
    auto all = of_kind(c, k.kind);
    if (all.empty()) continue;
    there.emplace_back(std::move(all), k.weight);
    total += k.weight;
  }
  double draw = rng.unit() * total;
  for (const auto& [all, weight] : there) {
    draw -= weight;
    if (draw <= 0) return rng.pick(all);
  }
  return rng.pick(there.back().first);
}

// Sizes of other stages along the same axis that were equal stay equal.
void change_size(Choices& c, size_t at, int64_t value) {
  const int64_t before = c[at].value;
  for (Choice& other : c) {
    if (other.hole.kind == HoleKind::kFactor && other.hole.number == c[at].hole.number &&
        other.value == before) {
      other.value = value;
    }
  }
  c[at].value = value;
}

// Ansor's move of a divisor from one level of a split to another, the outermost included.
void move_divisor(Choices& c, size_t at, Rng& rng) {
  std::vector<size_t> levels;  // of the same split
  for (size_t i = 0; i < c.size(); ++i) {
    const bool same = c[i].hole.kind == HoleKind::kFactor && c[i].hole.stage == c[at].hole.stage &&
                      c[i].hole.number / kLevels == c[at].hole.number / kLevels;
    if (same) levels.push_back(i);
  }
  const bool out = c[at].value > 1 && rng.chance(0.5);
  const auto other = static_cast<size_t>(rng.between(0, std::ssize(levels)));
  const bool outermost = other == levels.size() || levels[other] == at;
  const size_t beside = outermost ? at : levels[other];
  const int64_t taken = out || outermost ? c[at].value : c[beside].value;
  const std::vector<int64_t> all = divisors(std::max<int64_t>(taken, 1));
  const int64_t d = all.size() > 1 ? all[static_cast<size_t>(rng.between(1, std::ssize(all) - 1))]
                                   : rng.between(2, 4);
  if (out) {
    if (!outermost) change_size(c, beside, c[beside].value * d);
    change_size(c, at, c[at].value / d);
  } else if (outermost) {
    change_size(c, at, c[at].value * d);
  } else if (c[beside].value % d == 0) {
    change_size(c, beside, c[beside].value / d);
    change_size(c, at, c[at].value * d);
  }
}

// Decisions that come from one parent: sizes along one axis, in all stages; numbers of parts one by one; else those of a
// stage.
std::pair<HoleKind, int32_t> group_of(const Choice& c) {
  switch (c.hole.kind) {
    case HoleKind::kFactor:
      return {HoleKind::kFactor, c.hole.number / kLevels};
    case HoleKind::kParts:
      return {HoleKind::kParts, c.hole.number};
    default:
      return {HoleKind::kSwitch, c.hole.stage};
  }
}

void change_factor(Choices& c, size_t at, Rng& rng) {
  const double draw = rng.unit();
  if (draw < kWholeTile) {
    const int32_t stage = c[at].hole.stage;
    std::erase_if(c, [&](const Choice& x) {
      return x.hole.kind == HoleKind::kFactor && x.hole.stage == stage;
    });
  } else if (draw < kAnySize) {
    change_size(c, at, rng.between(1, kMaxInnermost));
  } else {
    move_divisor(c, at, rng);
  }
}

// Follows choices but for one hole, which is moved. Holes that the program did not have go by `other`.
class OneMoved : public space::Decider {
 public:
  OneMoved(const Choices& choices, size_t which, bool far, space::Decider& other, Rng& rng)
      : follow_(choices, other), hole_(choices[which].hole), far_(far), rng_(rng) {}
  int64_t decide(const space::Hole& hole) override {
    const int64_t value = follow_.decide(hole);
    if (hole.id != hole_) return value;
    if (!far_) return hole.domain.neighbour(value, rng_);
    for (;;) {  // a hole has two values or more
      const int64_t any = hole.domain.draw(rng_);
      if (any != value) return any;
    }
  }

 private:
  space::Follow follow_;
  space::HoleId hole_;
  bool far_;
  Rng& rng_;
};

// Follows wishes that were made from the choices of a parent, and gives up once they lead to nothing but the parent: a
// wish that is not legal here became the parent's value, or a blind draw hit it.
class UnlikeParent : public space::Decider {
 public:
  UnlikeParent(const Choices& parent, const Choices& wishes, space::Decider& other)
      : parent_(parent), follow_(wishes, other) {
    for (size_t i = 0; i < parent.size(); ++i) {
      if (std::find(wishes.begin(), wishes.end(), parent[i]) == wishes.end()) changed_ = i + 1;
    }
  }
  int64_t decide(const space::Hole& hole) override {
    const int64_t value = follow_.decide(hole);
    alike_ = alike_ && asked_ < parent_.size() && parent_[asked_] == Choice{hole.id, value};
    ++asked_;
    return value;
  }
  bool gives_up() const override { return alike_ && asked_ >= changed_; }

 private:
  const Choices& parent_;
  space::Follow follow_;
  size_t changed_ = 0;  // choices of the parent up to the last that is wished otherwise
  size_t asked_ = 0;
  bool alike_ = true;  // all that was decided so far is what the parent has
};

Result<space::Program> one_moved(const space::Space& s, const space::Program& p, bool far,
                                 space::Decider& other, Rng& rng) {
  if (p.choices.empty()) return Illegal{.code = IllegalCode::kBadVariant};
  const auto which = static_cast<size_t>(rng.between(0, std::ssize(p.choices) - 1));
  OneMoved decider(p.choices, which, far, other, rng);
  return s.write(decider);
}

}  // namespace

Choices mutate(const Choices& c, Rng& rng) {
  Choices out = c;
  if (out.empty()) return out;
  const size_t at = pick(out, rng);
  switch (out[at].hole.kind) {
    case HoleKind::kFactor:
      change_factor(out, at, rng);
      break;
    case HoleKind::kParts:
      // Mostly a neighbour: what is good is rarely alone.
      if (rng.chance(0.5)) {
        out[at].value += rng.chance(0.5) ? 1 : -1;
        break;
      }
      [[fallthrough]];
    default:
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

std::optional<Choices> cross(const Choices& a, const Choices& b, Rng& rng) {
  const auto whole = [](const Choice& c) { return c.hole.stage < 0; };
  Choices of_a, of_b;
  std::copy_if(a.begin(), a.end(), std::back_inserter(of_a), whole);
  std::copy_if(b.begin(), b.end(), std::back_inserter(of_b), whole);
  if (of_a != of_b) return std::nullopt;
  std::map<std::pair<HoleKind, int32_t>, bool> from_b;
  Choices out = std::move(of_a);
  for (const auto* parent : {&a, &b}) {
    for (const Choice& c : *parent) {
      if (whole(c)) continue;
      const auto [it, fresh] = from_b.emplace(group_of(c), false);
      if (fresh) it->second = rng.chance(0.5);
      if (it->second == (parent == &b)) out.push_back(c);
    }
  }
  return out;
}

Result<space::Program> mutated(const space::Space& s, const space::Program& parent, Rng& rng) {
  const Choices wishes = mutate(parent.choices, rng);
  if (wishes == parent.choices) return Illegal{.code = IllegalCode::kBadFactor};
  space::Blindly blindly(rng);
  UnlikeParent unlike(parent.choices, wishes, blindly);
  auto out = s.write(unlike);
  if (out && out->hash == parent.hash) return Illegal{.code = IllegalCode::kBadFactor};
  return out;
}

Result<space::Program> crossed(const space::Space& s, const space::Program& a,
                               const space::Program& b, Rng& rng) {
  const auto wishes = cross(a.choices, b.choices, rng);
  if (!wishes) return Illegal{.code = IllegalCode::kBadVariant};
  space::Blindly blindly(rng);
  space::Follow follow(*wishes, blindly);
  return s.write(follow);
}

Result<space::Program> neighbour(const space::Space& s, const space::Program& p, Rng& rng) {
  space::ByRule rule;
  return one_moved(s, p, false, rule, rng);
}

Result<space::Program> jumped(const space::Space& s, const space::Program& p, Rng& rng) {
  space::Blindly blindly(rng);
  return one_moved(s, p, true, blindly, rng);
}

}  // namespace tenon::search
