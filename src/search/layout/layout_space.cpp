// SPDX-License-Identifier: Apache-2.0
#include "search/layout/layout_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/layout/layout_from_cuts.h"
#include "search/sketch/factors.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

using layout::Layout;

constexpr int64_t kLeastLanes = 4;  // of a vector that is worth it

enum Halo : int64_t { kWhole = 0, kTiles = 1, kTilesWithHalo = 2 };

// ---- choices ------------------------------------------------------------------------------------

int64_t rounded_up(int64_t n, int64_t tile) { return arith::ceil_div(n, tile) * tile; }

// Divisors; for an extent that has none between a few elements and all, near halves and quarters
// too.
std::vector<int64_t> position_choices(int64_t extent) {
  std::vector<int64_t> out = divisors(extent);
  const bool middle =
      std::any_of(out.begin(), out.end(), [&](int64_t d) { return d >= 4 && d < extent; });
  if (extent >= 8 && !middle) {
    for (const int64_t parts : {4, 2}) {
      const int64_t tile = arith::ceil_div(extent, parts);
      if (4 * rounded_up(extent, tile) <= 5 * extent) out.push_back(tile);
    }
  }
  return out;
}

// One, all, whole vectors that divide, and the lanes of full and of narrower vectors.
std::vector<int64_t> lane_choices(int64_t extent, int64_t lanes) {
  std::vector<int64_t> out;
  const int64_t least = std::min(lanes, kLeastLanes);
  for (const int64_t d : divisors(extent)) {
    const bool vectors = d % least == 0 && d <= 16 * lanes;
    if (d == 1 || d == extent || vectors || extent <= 2 * lanes) out.push_back(d);
  }
  for (int64_t v = lanes; v >= least && v > 1; v /= 2) {
    if (rounded_up(extent, v) < 2 * extent) out.push_back(v);
  }
  return out;
}

std::vector<int64_t> choices_of(const Tile& t, const target::Target& target) {
  const bool positions = t.kind == TileKind::kSpatial || t.kind == TileKind::kRow;
  std::vector<int64_t> out =
      positions ? position_choices(t.extent) : lane_choices(t.extent, target.cpu().lanes(t.bytes));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

// ---- the space ----------------------------------------------------------------------------------

Result<Layout> LayoutSpace::layout_of(const Edge& e, const Point& p) const {
  const int64_t halo = e.sliding && halo_ ? p[*halo_] : kWhole;
  std::vector<Cut> cuts;
  for (const EdgeDim& d : e.dims) {
    const int64_t extent = e.shape[d.dim];
    Cut c{d.dim, 1, extent, extent};
    if (d.tile == EdgeDim::kOutside) {
      c = {d.dim, extent, 1, 1};
    } else if (d.tile >= 0) {
      const LayoutFactor& f = factors_[static_cast<size_t>(d.tile)];
      int64_t tile = p[static_cast<size_t>(d.tile)];
      if (d.stride > 0) tile = halo == kWhole || tile >= f.extent ? extent : tile * d.stride;
      tile = std::min(tile, extent);
      c = {d.dim, arith::ceil_div(extent, tile), tile, tile};
      if (halo == kTilesWithHalo && e.direct && tile < extent && d.window > d.stride) {
        c.inner = tile - d.stride + d.window;
        c.outer = arith::ceil_div(extent - c.inner, tile) + 1;
      }
    }
    cuts.push_back(c);
  }
  return layout_from_cuts(e.shape, cuts);
}

Result<LayoutSpace::Edges> LayoutSpace::edges(const Point& p) const {
  if (p.size() != factors_.size()) return Illegal{.code = IllegalCode::kBadLayout};
  for (size_t f = 0; f < p.size(); ++f) {
    const auto& choices = factors_[f].choices;
    if (!std::binary_search(choices.begin(), choices.end(), p[f])) {
      return Illegal{.code = IllegalCode::kBadFactor, .value = p[f], .limit = factors_[f].extent};
    }
  }
  Edges out = others_;
  for (const Edge& e : free_) {
    auto l = layout_of(e, p);
    if (!l) return l.illegal();
    const auto spelled = spelled_.find(e.tensor);
    if (spelled != spelled_.end()) {
      const auto same = spelled->second.find(layout::to_string(*l));
      if (same != spelled->second.end()) l = same->second;
    }
    out.insert_or_assign(e.tensor, std::move(l.value()));
  }
  return out;
}

std::string LayoutSpace::text(const Point& p) const {
  std::string out;
  for (size_t f = 0; f < factors_.size() && f < p.size(); ++f)
    out += fmt::format("{}{}={}", f == 0 ? "" : " ", factors_[f].name, p[f]);
  return out;
}

// ---- making it ----------------------------------------------------------------------------------

class LayoutSpaceMaker {
 public:
  LayoutSpaceMaker(const te::ComputeDag& dag, const target::Target& t,
                   const std::map<std::string, Layout>& fixed)
      : dag_(dag), target_(t), fixed_(fixed) {}

  std::optional<LayoutSpace> run() {
    const auto roles = find_roles(dag_);
    if (!roles) return std::nullopt;
    for (const Edge& e : roles->edges) {
      if (!fixed_.contains(e.tensor)) s_.free_.push_back(e);
    }
    add_others();
    add_factors(*roles);
    if (s_.factors_.empty()) return std::nullopt;
    describe(*roles);
    add_seeds();
    return std::move(s_);
  }

 private:
  using Point = LayoutSpace::Point;

  void add_others() {
    const auto add = [&](const te::Tensor& t) {
      const auto it = fixed_.find(t.name());
      const bool is_free = std::any_of(s_.free_.begin(), s_.free_.end(),
                                       [&](const Edge& e) { return e.tensor == t.name(); });
      if (!is_free)
        s_.others_.emplace(t.name(), it == fixed_.end() ? Layout(t.shape()) : it->second);
    };
    for (const te::Input& in : dag_.inputs) {
      if (!in.constant) add(in.tensor);
    }
    for (const te::Tensor& t : dag_.outputs) add(t);
  }

  // Those of the tiles that some free edge is cut by; then how the positions of an image are
  // stored.
  void add_factors(const Roles& roles) {
    std::vector<int> factor_of(roles.tiles.size(), EdgeDim::kOutside);
    for (size_t t = 0; t < roles.tiles.size(); ++t) {
      const auto cuts = [&](const EdgeDim& d) { return d.tile == static_cast<int>(t); };
      const bool used = std::any_of(s_.free_.begin(), s_.free_.end(), [&](const Edge& e) {
        return std::any_of(e.dims.begin(), e.dims.end(), cuts);
      });
      if (!used) continue;
      factor_of[t] = static_cast<int>(s_.factors_.size());
      const Tile& tile = roles.tiles[t];
      s_.factors_.push_back({tile.name, tile.extent, choices_of(tile, target_), tile.kind});
    }
    bool slides = false;
    bool duplicates = false;
    for (Edge& e : s_.free_) {
      for (EdgeDim& d : e.dims) {
        if (d.tile >= 0) d.tile = factor_of[static_cast<size_t>(d.tile)];
      }
      slides = slides || e.sliding;
      duplicates = duplicates || (has_halo(e) && e.direct);
    }
    if (!slides) return;
    s_.halo_ = s_.factors_.size();
    std::vector<int64_t> choices{kWhole, kTiles};
    if (duplicates) choices.push_back(kTilesWithHalo);
    s_.factors_.push_back({"x_t", choices.back(), choices, TileKind::kHalo});
  }

  static bool has_halo(const Edge& e) {
    return e.sliding && std::any_of(e.dims.begin(), e.dims.end(), [](const EdgeDim& d) {
             return d.tile >= 0 && d.stride > 0 && d.window > d.stride;
           });
  }

  void describe(const Roles& roles) {
    const auto log = [](int64_t n) {
      return std::log2(static_cast<double>(std::max<int64_t>(n, 1)));
    };
    s_.context_ = roles.context;
    s_.context_.push_back(static_cast<double>(target_.cpu().vector_bytes) / 64);
    for (const int64_t bytes :
         {target_.cpu().l1d_bytes, target_.cpu().l2_bytes, target_.cpu().l3_bytes})
      s_.context_.push_back(log(bytes) / 16);
    s_.context_.push_back(log(target_.cpu().cores) / 4);
  }

  // ---- seeds ------------------------------------------------------------------------------------

  // Positions not cut, channels (columns and terms of a matrix product) by `block`; 0: by all.
  Point blocked(int64_t block) const {
    Point p;
    for (const LayoutFactor& f : s_.factors_) {
      const bool positions = f.kind == TileKind::kSpatial || f.kind == TileKind::kRow;
      int64_t value = positions || block == 0 ? f.extent : block;
      if (f.kind == TileKind::kHalo) value = kWhole;
      // What cannot be cut so is cut by the largest choice below.
      const auto next = std::upper_bound(f.choices.begin(), f.choices.end(), value);
      p.push_back(*std::prev(next));
    }
    return p;
  }

  void add_seeds() {
    if (auto wished = find_wish()) add_seed(*wished);
    add_seed(blocked(1));
    add_seed(blocked(0));
    int64_t widest = 1;
    for (const Edge& e : s_.free_) widest = std::max(widest, lanes_of(e.tensor));
    for (int64_t v = widest; v >= kLeastLanes; v /= 2) add_seed(blocked(v));
  }

  int64_t lanes_of(const std::string& name) const {
    for (const te::Input& in : dag_.inputs) {
      if (in.tensor.name() == name) return target_.cpu().lanes(in.tensor.dtype().bytes());
    }
    for (const te::Tensor& t : dag_.outputs) {
      if (t.name() == name) return target_.cpu().lanes(t.dtype().bytes());
    }
    return 1;
  }

  void add_seed(const Point& p) {
    const auto edges = s_.edges(p);
    if (edges && std::find(known_.begin(), known_.end(), *edges) == known_.end()) {
      known_.push_back(*edges);
      s_.seeds_.push_back(p);
    }
  }

  // The point that stores edges as templates do by themselves, factor by factor; edges are then
  // spelled as templates spell them. A layout that no point has is left out.
  std::optional<Point> find_wish() {
    templates::Request given{fixed_, false};
    for (const auto& [name, l] : s_.others_) given.fixed.insert_or_assign(name, l);
    const auto dag = std::make_shared<const te::ComputeDag>(dag_);
    const auto wish = templates::choose(
        schedule::State(dag, std::make_shared<const target::Target>(target_)), given);
    Point p = blocked(0);
    for (const Edge& e : s_.free_) {
      if (!fit(e, wish.edges.at(e.tensor), p)) return std::nullopt;
    }
    for (const Edge& e : s_.free_) {
      const Layout& wanted = wish.edges.at(e.tensor);
      const auto ours = s_.layout_of(e, p);
      if (!ours || !layout::same_storage(*ours, wanted)) return std::nullopt;
      s_.spelled_[e.tensor].emplace(layout::to_string(*ours), wanted);
    }
    return p;
  }

  // Changes the factors of `e` in p so that it is stored like `wanted`.
  bool fit(const Edge& e, const Layout& wanted, Point& p) const {
    const auto same = [&](const Point& q) {
      const auto l = s_.layout_of(e, q);
      return l && layout::same_storage(*l, wanted);
    };
    if (same(p)) return true;
    for (const EdgeDim& d : e.dims) {
      if (d.tile < 0 || d.stride > 0) continue;
      const auto f = static_cast<size_t>(d.tile);
      if (s_.factors_[f].kind == TileKind::kSpatial) continue;
      for (const int64_t value : s_.factors_[f].choices) {
        Point q = p;
        q[f] = value;
        if (!same(q)) continue;
        p = q;
        return true;
      }
    }
    return false;
  }

  const te::ComputeDag& dag_;
  const target::Target& target_;
  const std::map<std::string, Layout>& fixed_;
  LayoutSpace s_;
  std::vector<LayoutSpace::Edges> known_;  // of the seeds
};

std::optional<LayoutSpace> make_layout_space(const te::ComputeDag& dag, const target::Target& t,
                                             const std::map<std::string, Layout>& fixed) {
  if (!t.is_cpu()) return std::nullopt;
  return LayoutSpaceMaker(dag, t, fixed).run();
}

}  // namespace tenon::search
