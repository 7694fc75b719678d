// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/tiles.h"

#include <algorithm>

#include "search/sketch/find_step.h"

namespace tenon::search {
namespace {

using space::Domain;
using space::Value;

// Shares of blind draws that aim at a tile in the registers: of the lanes, and of the sizes after such lanes.
constexpr double kRegisterShare = 0.6, kStillShare = 0.85;
constexpr double kInexactShare = 0.1;
constexpr int64_t kReduceTile = 16;  // by rule

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

int64_t registers_of(int64_t lanes, int64_t bytes, const target::Cpu& target) {
  return (lanes * bytes + target.vector_bytes - 1) / target.vector_bytes;
}

void scale_to(std::vector<double>& w, double sum) {
  double total = 0;
  for (const double x : w) total += x;
  for (double& x : w) x *= total > 0 ? sum / total : 0;
}

// Whole vectors if they divide, what divides best otherwise.
std::vector<double> lane_weights(const Domain& d, int64_t extent, int64_t width) {
  std::vector<double> out(d.size(), 0), rest(d.size(), 0);
  const int64_t most = std::min(kMaxInnermost, 4 * width);
  for (size_t i = 0; i < d.size(); ++i) {
    const int64_t v = d.at(i);
    if (v > most) break;
    if (extent % v == 0)
      (v % width == 0 ? out : rest)[i] = v % width == 0 ? 1 : static_cast<double>(v);
    if (v == width && extent % v != 0 && extent > width) rest[i] = static_cast<double>(v);
  }
  scale_to(out, 0.9);
  scale_to(rest, std::any_of(out.begin(), out.end(), [](double x) { return x > 0; }) ? 0.1 : 1);
  for (size_t i = 0; i < out.size(); ++i) out[i] += rest[i];
  return out;
}

// Rather large ones: registers that stay empty hide no latency.
std::vector<double> size_weights(const Domain& d, int64_t extent, int64_t room) {
  std::vector<double> exact(d.size(), 0), inexact(d.size(), 0);
  double rank = 1;
  for (size_t i = 0; i < d.size() && d.at(i) <= room; ++i) {
    if (extent % d.at(i) == 0) {
      exact[i] = rank;
      rank += 2;
    } else {
      inexact[i] = 1;
    }
  }
  scale_to(exact, 1 - kInexactShare);
  scale_to(inexact, kInexactShare);
  for (size_t i = 0; i < exact.size(); ++i) exact[i] += inexact[i];
  return exact;
}

int64_t largest_divisor(int64_t extent, int64_t most, int64_t of = 1) {
  int64_t best = 1;
  for (const int64_t d : divisors(extent)) {
    if (d <= most && d % of == 0) best = d;
  }
  return best;
}

class TileChooser {
 public:
  TileChooser(space::Builder& b, const Sketch& s, const FactorDomains& domains)
      : b_(b), s_(s), domains_(domains) {
    out_.factors.resize(s.open.size());
    out_.values.resize(s.open.size());
    for (size_t o = 0; o < s.open.size(); ++o) {
      out_.factors[o].assign(split_of(o).factors.size(), 0);
      out_.values[o].assign(split_of(o).factors.size(), Value(0));
    }
  }

  Tiles run() {
    for (const TiledStage& t : s_.tiled) ask_register_tile(t);
    for (size_t o = 0; o < s_.open.size(); ++o) {
      for (size_t level = out_.factors[o].size(); level-- > 0;) {
        if (out_.factors[o][level] == 0) ask_level(o, level);
      }
    }
    return std::move(out_);
  }

 private:
  const schedule::Split& split_of(size_t open) const {
    return std::get<schedule::Split>(s_.trace[s_.open[open].step]);
  }

  int64_t extent_of(size_t open) const { return open_extent(s_, open, out_.factors); }

  void set(size_t open, size_t level, const Domain& domain, int64_t rule, space::Weights weights,
           std::string_view name) {
    const schedule::Split& split = split_of(open);
    const size_t inside = out_.factors[open].size() - 1 - level;
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      const auto* shown = find_step<schedule::Split>(trace, [&](const schedule::Split& s) {
        return s.stage == split.stage && s.loop == split.loop &&
               s.factors.size() == split.factors.size() && !s.parts;
      });
      if (shown == nullptr) return std::nullopt;
      return shown->factors[level];
    };
    const Value v = b_.ask(factor_hole(split.stage.id, split.loop.id, inside), name, domain, rule,
                           weights, read);
    out_.values[open][level] = v;
    out_.factors[open][level] = v;
  }

  // The tile of the reader, lanes first; then how the stage itself cuts it.
  void ask_register_tile(const TiledStage& t) {
    const size_t last = lane_axis(t);
    if (t.host < 0 || last == kNone || t.host_splits[last] == kNone) return;
    const int64_t bytes = element_bytes(s_, t);
    const int64_t width = b_.target().cpu().lanes(bytes);
    const int64_t lanes = ask_lanes(t.host_splits[last], width);
    const int64_t each = registers_of(lanes, bytes, b_.target().cpu());
    int64_t room = std::max<int64_t>(1, (b_.target().cpu().vector_registers - each - 1) / each);
    const double share = lanes % width == 0 ? kStillShare : 1 - kRegisterShare;
    for (size_t d = 0; d < t.splits.size(); ++d) {
      if (d == last || t.host_splits[d] == kNone) continue;
      room = std::max<int64_t>(1, room / ask_size(t.host_splits[d], room, share));
    }
    for (const size_t o : t.splits) {
      if (o != kNone) ask_whole(o);
    }
  }

  int64_t ask_lanes(size_t open, int64_t width) {
    const int64_t extent = extent_of(open);
    const auto weights = [&](const Domain& d) {
      return mixed(lane_weights(d, extent, width),
                   innermost_weights(d, extent, out_.factors[open].size() - 1), kRegisterShare);
    };
    const int64_t whole = largest_divisor(extent, std::min(kMaxInnermost, 2 * width), width);
    const int64_t rule = whole > 1 ? whole : largest_divisor(extent, width);
    set(open, out_.factors[open].size() - 1, domains_.innermost(extent, true), rule, weights,
        "lanes");
    return out_.factors[open].back();
  }

  int64_t ask_size(size_t open, int64_t room, double share) {
    const int64_t extent = extent_of(open);
    const auto weights = [&](const Domain& d) {
      return mixed(size_weights(d, extent, room),
                   innermost_weights(d, extent, out_.factors[open].size() - 1), share);
    };
    set(open, out_.factors[open].size() - 1, domains_.innermost(extent, true),
        largest_divisor(extent, std::min(room, kMaxInnermost)), weights, "tile");
    return out_.factors[open].back();
  }

  // Mostly all of what the reader's tile leaves.
  void ask_whole(size_t open) {
    if (s_.open[open].parent == kNone) return;
    const int64_t extent = extent_of(open);
    const size_t last = out_.factors[open].size() - 1;
    const auto weights = [&](const Domain& d) {
      std::vector<double> whole(d.size(), 0);
      whole.back() = 1;
      return mixed(whole, innermost_weights(d, extent, last), kStillShare);
    };
    set(open, last, domains_.innermost(extent, false), extent, weights, "inner tile");
  }

  static std::vector<double> mixed(std::vector<double> a, std::vector<double> b, double share) {
    scale_to(a, share);
    scale_to(b, 1 - share);
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  void ask_level(size_t open, size_t level) {
    const int64_t extent = extent_of(open);
    int64_t inner = 1;
    for (size_t i = level + 1; i < out_.factors[open].size(); ++i) inner *= out_.factors[open][i];
    if (level + 1 == out_.factors[open].size()) {
      const auto weights = [&](const Domain& d) { return innermost_weights(d, extent, level); };
      const int64_t rule = largest_divisor(extent, s_.open[open].reduce ? kReduceTile : 1);
      return set(open, level, domains_.innermost(extent, s_.open[open].parent == kNone), rule,
                 weights, "innermost");
    }
    if (extent % inner != 0) {  // beside a size that does not divide all others are one
      out_.values[open][level] = Value(1);
      out_.factors[open][level] = 1;
      return;
    }
    const int64_t left = extent / inner;
    const auto weights = [&](const Domain& d) { return outer_weights(d, left, level); };
    set(open, level, domains_.all_divisors(left), 1, weights, "outer");
  }

  space::Builder& b_;
  const Sketch& s_;
  const FactorDomains& domains_;
  Tiles out_;
};

}  // namespace

Tiles ask_tiles(space::Builder& b, const Sketch& s, const FactorDomains& domains) {
  return TileChooser(b, s, domains).run();
}

int64_t open_extent(const Sketch& s, size_t open, const std::vector<Factors>& factors) {
  const OpenSplit& o = s.open[open];
  return o.parent == kNone ? o.extent : factors[o.parent].back();
}

int64_t vector_factor(const Sketch& s, const TiledStage& t, const std::vector<Factors>& factors) {
  const size_t d = lane_axis(t);
  return d == kNone ? 1
                    : std::min(factors[t.splits[d]].back(), open_extent(s, t.splits[d], factors));
}

bool fits_registers(const Sketch& s, const TiledStage& t, const target::Cpu& target,
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

}  // namespace tenon::search
