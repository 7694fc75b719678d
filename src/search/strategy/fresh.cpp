// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/fresh.h"

namespace tenon::search {
namespace {

constexpr int kDraws = 64;
constexpr int kMostCounted = 4096;  // for one program: a large space is not gone through

// The first value of every hole that is open.
void fill_up(const space::Space& s, space::Partial& p) {
  while (const auto hole = s.next(p)) p.made.push_back({hole->id, hole->domain.at(0)});
}

}  // namespace

void FreshPrograms::begin_with(std::vector<space::Program> programs) {
  for (space::Program& p : programs) seeds_.push_back(std::move(p));
}

std::optional<space::Program> FreshPrograms::next_seed() {
  while (next_seed_ < seeds_.size()) {
    const space::Program& p = seeds_[next_seed_++];
    if (take(p)) return p;
  }
  return std::nullopt;
}

std::optional<space::Program> FreshPrograms::draw(Rng& rng) {
  for (int i = 0; i < kDraws; ++i) {
    auto p = space_.sample(rng);
    if (p && take(*p)) return std::move(p.value());
  }
  return next_in_order();
}

std::optional<space::Program> FreshPrograms::next_in_order() {
  for (int i = 0; i < kMostCounted && count_up(); ++i) {
    auto p = space_.build(at_);
    if (p && take(*p)) return std::move(p.value());
  }
  return std::nullopt;
}

bool FreshPrograms::count_up() {
  if (ended_) return false;
  if (!started_) {
    started_ = true;
    fill_up(space_, at_);
    return true;
  }
  while (!at_.made.empty()) {
    const int64_t value = at_.made.back().value;
    at_.made.pop_back();
    const auto hole = space_.next(at_);
    for (size_t i = 0; i < hole->domain.size(); ++i) {
      if (hole->domain.at(i) <= value) continue;
      at_.made.push_back({hole->id, hole->domain.at(i)});
      fill_up(space_, at_);
      return true;
    }
  }
  ended_ = true;
  return false;
}

std::vector<space::Program> one_by_one(size_t n,
                                       FunctionRef<std::optional<space::Program>()> next) {
  std::vector<space::Program> out;
  while (out.size() < n) {
    auto p = next();
    if (!p) break;
    out.push_back(std::move(*p));
  }
  return out;
}

Result<space::Program> whole_again(const space::Space& space, const space::Program& p) {
  return space.adopt(p.trace, p.choices);
}

}  // namespace tenon::search
