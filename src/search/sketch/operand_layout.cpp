// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/operand_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "te/access.h"

namespace tenon::search {
namespace {

using schedule::LoopId;
using schedule::Stage;
using schedule::StageId;
using schedule::State;

class OperandFinder {
 public:
  OperandFinder(const Sketch& s, const TiledStage& t, const State& state,
                const std::vector<Factors>& factors)
      : s_(s), t_(t), state_(state), factors_(factors), op_(*state.stage(t.stage).op) {
    number_loops();
    for (size_t d = 0; d < op_.axes.size(); ++d) {
      const bool hosted = !t.host_splits.empty() && t.host_splits[d] != kNone;
      parts_.push_back(
          parts_of(op_.axes[d].extent, hosted ? t.host_splits[d] : kNone, t.splits[d], d));
    }
    for (size_t d = 0; d < op_.reduce_axes.size(); ++d) {
      parts_.push_back(
          parts_of(op_.reduce_axes[d].extent, kNone, t.reduce_splits[d], op_.axes.size() + d));
    }
  }

  std::vector<Operand> run() const {
    std::vector<Operand> out;
    const auto reads = te::accesses(op_);
    for (const te::Access& a : reads) {
      const StageId owner = state_.owner(a.tensor);
      const auto same = [&](const te::Access& b) { return b.tensor.same_as(a.tensor); };
      if (owner < 0 || !state_.stage(owner).is_input() || !a.affine ||
          std::count_if(reads.begin(), reads.end(), same) != 1 ||
          state_.readers(owner).size() != 1) {
        continue;
      }
      if (auto o = operand(a, owner)) out.push_back(std::move(*o));
    }
    return out;
  }

 private:
  // The place of each loop in the nest: those of the host in their order, then the stage's own.
  void number_loops() {
    for (const schedule::Step& step : s_.trace) {
      const auto* r = std::get_if<schedule::Reorder>(&step);
      if (r == nullptr || (r->stage.id != t_.stage && r->stage.id != t_.host)) continue;
      auto& where = r->stage.id == t_.stage ? own_ : host_;
      const size_t base = r->stage.id == t_.stage ? 1000 : 0;
      where.assign(state_.stage(r->stage.id).loops.size(), 0);
      for (size_t i = 0; i < r->loops.size(); ++i)
        where[static_cast<size_t>(r->loops[i].id)] = base + i;
    }
  }

  const std::vector<LoopId>& split_parts(StageId stage, size_t axis) const {
    for (const schedule::Relation& r : state_.stage(stage).relations) {
      if (r.kind == schedule::RelationKind::kSplit && r.one == static_cast<LoopId>(axis))
        return r.many;
    }
    throw InternalError("an axis of a tiled stage is not split");
  }

  static size_t at(const std::vector<size_t>& where, LoopId l) {
    const auto i = static_cast<size_t>(l);
    return i < where.size() ? where[i] : 0;
  }

  using Parts = std::vector<Operand::Part>;

  Parts parts_of(int64_t extent, size_t host, size_t own, size_t axis) const {
    Parts out;
    int64_t tile = extent;
    if (host != kNone) {
      tile = factors_[host].back();
      add_parts(out, extent, factors_[host], split_parts(t_.host, axis), host_);
      out.pop_back();
    }
    if (own != kNone && is_exact(factors_[own], tile)) {
      add_parts(out, tile, factors_[own], split_parts(t_.stage, axis), own_);
    } else if (own != kNone && host == kNone) {
      add_parts(out, tile, factors_[own], split_parts(t_.stage, axis), own_);
    } else {
      const LoopId last =
          own == kNone ? static_cast<LoopId>(axis) : split_parts(t_.stage, axis).back();
      out.push_back({tile, at(own_, last)});
    }
    return out;
  }

  static void add_parts(Parts& out, int64_t extent, const Factors& f,
                        const std::vector<LoopId>& loops, const std::vector<size_t>& where) {
    int64_t inner = 1;
    for (const int64_t x : f) inner *= x;
    out.push_back({(extent + inner - 1) / inner, at(where, loops[0])});
    for (size_t i = 0; i < f.size(); ++i) out.push_back({f[i], at(where, loops[i + 1])});
  }

  std::optional<Operand> operand(const te::Access& a, StageId owner) const {
    Operand o{owner, 1, {}};
    for (size_t d = 0; d < op_.axes.size(); ++d) {
      if (a.reused[d]) o.reuse *= op_.axes[d].extent;
    }
    for (size_t d = 0; d < a.map.size(); ++d) {
      auto parts = dim_parts(a.map[d], a.tensor.shape()[d]);
      if (!parts) return std::nullopt;
      o.dims.push_back(std::move(*parts));
    }
    return o;
  }

  // The index is k_0*16 + k_1 or the like: axes one inside the other, the innermost step 1.
  std::optional<Parts> dim_parts(const arith::Linear& index, int64_t extent) const {
    if (index.constant != 0) return std::nullopt;
    auto terms = index.terms;
    std::sort(terms.begin(), terms.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    int64_t stride = 1;
    Parts out;
    for (size_t i = 0; i < terms.size(); ++i) {
      const auto axis = axis_of(terms[i].first);
      if (!axis || terms[i].second != stride) return std::nullopt;
      const int64_t size = axis_extent(*axis);
      Parts parts = parts_[*axis];
      int64_t product = 1;
      for (const Operand::Part& p : parts) product *= p.extent;
      // Only the outermost axis may run through more than there is.
      if (i + 1 < terms.size() && product != size) parts = {{size, parts.back().position}};
      out.insert(out.begin(), parts.begin(), parts.end());
      stride *= size;
    }
    if (terms.empty()) out.push_back({extent, 0});
    std::erase_if(out, [](const Operand::Part& p) { return p.extent == 1; });
    if (out.empty()) out.push_back({1, 0});
    return stride >= extent || terms.empty() ? std::optional(out) : std::nullopt;
  }

  std::optional<size_t> axis_of(const ir::Expr& e) const {
    for (size_t d = 0; d < parts_.size(); ++d) {
      const te::Axis& a = d < op_.axes.size() ? op_.axes[d] : op_.reduce_axes[d - op_.axes.size()];
      if (e.same_as(a.var)) return d;
    }
    return std::nullopt;
  }
  int64_t axis_extent(size_t d) const {
    return d < op_.axes.size() ? op_.axes[d].extent : op_.reduce_axes[d - op_.axes.size()].extent;
  }

  const Sketch& s_;
  const TiledStage& t_;
  const State& state_;
  const std::vector<Factors>& factors_;
  const te::ComputeOp& op_;
  std::vector<size_t> host_, own_;  // by LoopId
  std::vector<Parts> parts_;        // by axis, reductions after
};

}  // namespace

std::vector<Operand> find_operands(const Sketch& s, const TiledStage& t, const State& state,
                                   const std::vector<Factors>& factors) {
  return OperandFinder(s, t, state, factors).run();
}

std::vector<schedule::Step> layout_steps(schedule::StageRef stage, const Operand& o) {
  std::vector<schedule::Step> steps;
  std::vector<size_t> positions;
  for (size_t d = o.dims.size(); d-- > 0;) {
    std::vector<int64_t> factors;
    for (const Operand::Part& p : o.dims[d]) factors.push_back(p.extent);
    if (factors.size() > 1) {
      steps.push_back(schedule::LayoutSplit{stage, static_cast<int64_t>(d), factors});
    }
  }
  for (const auto& dim : o.dims) {
    for (const Operand::Part& p : dim) positions.push_back(p.position);
  }
  std::vector<int64_t> perm(positions.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::sort(perm.begin(), perm.end(), [&](int64_t a, int64_t b) {
    const size_t x = positions[static_cast<size_t>(a)];
    const size_t y = positions[static_cast<size_t>(b)];
    return x != y ? x < y : a < b;
  });
  if (!std::is_sorted(perm.begin(), perm.end()))
    steps.push_back(schedule::LayoutReorder{stage, perm});
  return steps;
}

}  // namespace tenon::search
