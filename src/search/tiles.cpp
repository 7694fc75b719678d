// SPDX-License-Identifier: Apache-2.0
#include "search/tiles.h"

#include <algorithm>

#include "search/annotation.h"

namespace tenon::search {
namespace {

constexpr double kRegisterChance = 0.6;
constexpr double kInexactChance = 0.1;

// The last axis that is split, whose innermost part runs in lanes; kNone if there is none.
size_t lane_axis(const TiledStage& t) {
  for (size_t d = t.splits.size(); d-- > 0;) {
    if (t.splits[d] != kNone) return d;
  }
  return kNone;
}

int64_t element_bytes(const Sketch& s, const TiledStage& t) {
  return s.state.stage(t.stage).buffer.dtype().bytes();
}

int64_t registers_of(int64_t lanes, int64_t bytes, const target::Target& target) {
  return (lanes * bytes + target.vector_bytes - 1) / target.vector_bytes;
}

class RegisterTileDrawer {
 public:
  RegisterTileDrawer(const Sketch& s, const TiledStage& t, const target::Target& target,
                     std::vector<Factors>& factors, Rng& rng)
      : s_(s), t_(t), target_(target), factors_(factors), rng_(rng) {}

  void run() {
    const size_t last = lane_axis(t_);
    if (last == kNone) return;
    const int64_t bytes = element_bytes(s_, t_);
    const int64_t lanes = draw_lanes(extent(last), target_.lanes(bytes));
    set(last, lanes);
    const int64_t each = registers_of(lanes, bytes, target_);
    int64_t room = std::max<int64_t>(1, (target_.vector_registers - each - 1) / each);
    std::vector<size_t> axes;
    for (size_t d = 0; d < t_.splits.size(); ++d) {
      if (d != last && t_.splits[d] != kNone) axes.push_back(d);
    }
    while (!axes.empty()) {
      const auto i = static_cast<size_t>(rng_.between(0, static_cast<int64_t>(axes.size()) - 1));
      const int64_t size = draw_size(extent(axes[i]), room);
      set(axes[i], size);
      room /= size;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  int64_t extent(size_t axis) const { return s_.open[t_.host_splits[axis]].extent; }

  // Whole vectors if they divide, what divides best otherwise.
  int64_t draw_lanes(int64_t extent, int64_t width) {
    std::vector<int64_t> whole, rest;
    for (const int64_t d : divisors(extent)) {
      if (d > std::min(kMaxInnermost, 4 * width)) break;
      (d % width == 0 ? whole : rest).push_back(d);
    }
    if (!whole.empty() && rng_.chance(0.9)) return rng_.pick(whole);
    if (extent > width && rng_.chance(kInexactChance)) return width;
    const size_t better = rest.size() / 2;
    return rest[static_cast<size_t>(
        rng_.between(static_cast<int64_t>(better), static_cast<int64_t>(rest.size()) - 1))];
  }

  // Of two draws the larger: registers that stay empty hide no latency.
  int64_t draw_size(int64_t extent, int64_t room) {
    if (extent > room && room > 1 && rng_.chance(kInexactChance)) return rng_.between(2, room);
    std::vector<int64_t> fit = divisors(extent);
    std::erase_if(fit, [&](int64_t d) { return d > room; });
    return std::max(rng_.pick(fit), rng_.pick(fit));
  }

  void set(size_t axis, int64_t size) {
    Factors& host = factors_[t_.host_splits[axis]];
    const size_t levels = levels_of(t_.host_splits[axis]);
    const int64_t rest = std::max<int64_t>(1, extent(axis) / size);
    host = levels == 1 ? Factors{} : draw_factors(rest, levels - 1, rng_);
    host.push_back(size);
    Factors& own = factors_[t_.splits[axis]];
    own.assign(levels_of(t_.splits[axis]), 1);
    own.back() = size;
  }

  size_t levels_of(size_t open) const {
    return std::get<schedule::Split>(s_.trace[s_.open[open].step]).factors.size();
  }

  const Sketch& s_;
  const TiledStage& t_;
  const target::Target& target_;
  std::vector<Factors>& factors_;
  Rng& rng_;
};

}  // namespace

int64_t vector_factor(const Sketch& s, const TiledStage& t, const std::vector<Factors>& factors) {
  const size_t d = lane_axis(t);
  return d == kNone ? 1
                    : std::min(factors[t.splits[d]].back(), open_extent(s, t.splits[d], factors));
}

bool fits_registers(const Sketch& s, const TiledStage& t, const target::Target& target,
                    const std::vector<Factors>& factors) {
  if (t.host < 0 || t.cache_step == kNone) return false;
  int64_t elements = 1;
  for (const size_t o : t.host_splits) {
    if (o != kNone) elements *= factors[o].back();
    if (elements > int64_t{64} * target.vector_registers) return false;
  }
  const int64_t lanes = vector_factor(s, t, factors);
  const int64_t each = registers_of(lanes, element_bytes(s, t), target);
  return (elements + lanes - 1) / lanes * each + each + 1 <= target.vector_registers;
}

void draw_tiles(const Sketch& s, const target::Target& target, std::vector<Factors>& factors,
                Rng& rng) {
  factors.resize(s.open.size());
  for (const TiledStage& t : s.tiled) {
    bool open = t.host >= 0;
    for (const auto* list : {&t.host_splits, &t.splits}) {
      for (const size_t o : *list) open = open && (o == kNone || factors[o].empty());
    }
    if (open && rng.chance(kRegisterChance)) RegisterTileDrawer(s, t, target, factors, rng).run();
  }
  for (size_t o = 0; o < s.open.size(); ++o) {
    if (!factors[o].empty()) continue;
    const size_t n = std::get<schedule::Split>(s.trace[s.open[o].step]).factors.size();
    const int64_t extent = open_extent(s, o, factors);
    const bool inexact = s.open[o].parent == kNone && rng.chance(kInexactChance);
    factors[o] = inexact ? draw_inexact(extent, n, rng) : draw_factors(extent, n, rng);
  }
}

}  // namespace tenon::search
