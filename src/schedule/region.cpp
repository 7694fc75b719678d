// SPDX-License-Identifier: Apache-2.0
#include "schedule/region.h"

#include <algorithm>
#include <optional>

#include "arith/linear.h"
#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "schedule/inner_loops.h"
#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

bool is_outer_only(const ir::Expr& e, const VarSet& inner) { return !uses_any(e, inner); }

// A variable occurs in two atoms, so that simplification might join them: (f // 3)*3 + f % 3.
bool may_join(const arith::Linear& form) {
  const auto is_variable = [](const auto& term) {
    return term.first.template as<ir::VarNode>() != nullptr;
  };
  for (const auto& a : form.terms) {
    if (is_variable(a)) continue;
    for (const auto& b : form.terms) {
      if (&a == &b) continue;
      bool shared = false;
      ir::visit(a.first, [&](const ir::Expr& e) {
        const auto* v = e.as<ir::VarNode>();
        shared = shared || (v != nullptr && ir::uses_var(b.first, v));
      });
      if (shared) return true;
    }
  }
  return false;
}

// An index by which a stage is read along one of its axes, as a form over the loops of the reader.
struct AxisRange {
  size_t axis;
  ir::Expr index;
  arith::Linear form;
};

class RegionBuilder {
 public:
  RegionBuilder(const State& s, Bounds& b, StageId stage)
      : s_(s), b_(b), st_(s.stage(stage)), inner_(inner_loops(s, b, st_)) {}

  Result<Region> run() {
    const auto readers = s_.readers(st_.id);
    for (const StageId r : readers) {
      const Stage& reader = s_.stage(r);
      values_ = values_of(reader);
      take_axes(reader);
      Result<void> result;
      ir::visit_loads(reader.op->body, [&](const ir::Load& l) {
        if (l.buffer.same_as(st_.buffer) && result) result = add_read(l, reader);
      });
      if (!result) return result.illegal();
    }
    if (!is_read_) {
      // Simplification took the last read away: an element stands for the stage.
      region_.axes.resize(st_.op->axes.size());
      return std::move(region_);
    }
    if (!computes_whole_box(s_, st_)) clip();
    // Another reader does not keep to the guards of the one that is split.
    if (readers.size() == 1) add_shorts(s_.stage(readers[0]));
    return std::move(region_);
  }

 private:
  Illegal inexact() const {
    return {.code = IllegalCode::kInexactRegion,
            .stage = st_.id,
            .loop = st_.at_loop,
            .other = st_.at_stage};
  }

  // Values of the loops of a reader over outer variables and over inner loops as whole as they are: a loop with all
  // its parts inside stands for itself, so that its tail adds nothing to the box.
  std::vector<ir::Expr> values_of(const Stage& reader) {
    const StageBounds& rb = b_.stages[static_cast<size_t>(reader.id)];
    std::vector<ir::Expr> values(reader.loops.size());
    for (const LoopId l : reader.leaves) {
      values[static_cast<size_t>(l)] = rb.vars[static_cast<size_t>(l)];
    }
    const auto is_inner = [&](LoopId l) {
      const auto* v = values[static_cast<size_t>(l)].as<ir::VarNode>();
      return v != nullptr && inner_.contains(v);
    };
    const auto stand_for_itself = [&](LoopId l) {
      const ir::Var v{std::string()};  // never seen outside
      b_.ranges.bind(v, {0, rb.extents[static_cast<size_t>(l)] - 1});
      inner_.insert(v.node());
      values[static_cast<size_t>(l)] = v;
    };
    for (auto r = reader.relations.rbegin(); r != reader.relations.rend(); ++r) {
      if (r->kind == RelationKind::kFuse) {
        if (is_inner(r->one)) std::for_each(r->many.begin(), r->many.end(), stand_for_itself);
      } else if (std::all_of(r->many.begin(), r->many.end(), is_inner)) {
        stand_for_itself(r->one);
      }
    }
    complete_values(reader, rb, b_.ranges, values);
    return values;
  }

  // What the axes of a reader stand for, as linear forms.
  void take_axes(const Stage& reader) {
    const StageBounds& rb = b_.stages[static_cast<size_t>(reader.id)];
    const size_t rank = reader.op->axes.size();
    axes_.clear();
    first_range_ = ranges_.size();
    const auto add = [&](const te::Axis& a, arith::Linear form) {
      std::erase_if(form.terms, [&](const auto& term) {
        const auto* v = term.first.template as<ir::VarNode>();
        const arith::Interval r = v == nullptr ? arith::Interval{} : b_.ranges.of(v);
        if (r.is_point()) form.constant += term.second * r.lo;
        return r.is_point();
      });
      axes_.push_back({a.var.node(), std::move(form)});
    };
    for (size_t d = 0; d < rank; ++d) {
      const arith::Linear value = arith::to_linear(values_[d]);
      const ir::Expr& min = rb.axes[d].min;
      add(reader.op->axes[d], ir::is_const(min, 0) ? value : arith::to_linear(min) + value);
    }
    for (size_t d = 0; d < reader.op->reduce_axes.size(); ++d) {
      add(reader.op->reduce_axes[d], arith::to_linear(values_[rank + d]));
    }
  }

  // An index over the reader's axes as a form over its loops.
  arith::Linear form_of(const ir::Expr& index, const Stage& reader) {
    if (auto sum = sum_of_axes(index); sum && !may_join(*sum)) return std::move(*sum);
    const ir::VarMap map = axis_values(reader, b_.stages[static_cast<size_t>(reader.id)], values_);
    return arith::to_linear(arith::simplify(ir::substitute(index, map), b_.ranges));
  }

  std::optional<arith::Linear> sum_of_axes(const ir::Expr& index) const {
    const arith::Linear over_axes = arith::to_linear(index);
    arith::Linear out;
    out.constant = over_axes.constant;
    for (const auto& [atom, k] : over_axes.terms) {
      const auto at = std::find_if(axes_.begin(), axes_.end(),
                                   [&](const AxisForm& a) { return a.axis == atom.get(); });
      if (at == axes_.end() || !arith::add_scaled(out, at->form, k)) return std::nullopt;
    }
    return out;
  }

  // Reads of a written-out transform differ along an axis or two: the others share their indices, which are looked at
  // once. What an axis is read by is added to the box along it alone.
  Result<void> add_read(const ir::Load& read, const Stage& reader) {
    region_.axes.resize(read.indices.size());
    is_read_ = true;
    for (size_t d = 0; d < read.indices.size(); ++d) {
      if (is_known(d, read.indices[d])) continue;
      if (auto added = add_range(d, read.indices[d], reader); !added) return added;
    }
    return {};
  }

  bool is_known(size_t d, const ir::Expr& index) const {
    return std::any_of(ranges_.begin() + static_cast<std::ptrdiff_t>(first_range_), ranges_.end(),
                       [&](const AxisRange& r) { return r.axis == d && r.index.same_as(index); });
  }

  Result<void> add_range(size_t d, const ir::Expr& index, const Stage& reader) {
    arith::Linear form = form_of(index, reader);
    const auto bounds = relax(form, st_.op->axes[d].extent);
    if (!bounds) return bounds.illegal();
    const bool first = std::none_of(ranges_.begin(), ranges_.end(),
                                    [&](const AxisRange& r) { return r.axis == d; });
    ranges_.push_back({d, index, std::move(form)});
    if (!first) return unite(d, *bounds);
    region_.axes[d] = *bounds;
    return {};
  }

  // The interval that a linear form covers when inner loops run: its minimum stays symbolic in outer ones.
  Result<AxisBounds> relax(const arith::Linear& form, int64_t whole) const {
    arith::Linear fixed;
    fixed.constant = form.constant;
    int64_t width = 0;
    for (const auto& [atom, k] : form.terms) {
      if (is_outer_only(atom, inner_) && !atom.loads()) {
        fixed.terms.emplace_back(atom, k);
        continue;
      }
      if (atom.loads()) return AxisBounds{ir::Expr(0), whole};  // data-dependent: all of it
      if (atom.as<ir::VarNode>() == nullptr && mixes(atom)) return inexact();
      const arith::Interval r = arith::interval_of(atom, b_.ranges);
      if (!r.bounded()) return inexact();
      fixed.constant += k > 0 ? k * r.lo : k * r.hi;
      width += (k > 0 ? k : -k) * (r.hi - r.lo);
    }
    return AxisBounds{arith::to_expr(fixed), width + 1};
  }

  bool mixes(const ir::Expr& atom) const {
    bool outer = false;
    ir::visit(atom, [&](const ir::Expr& e) {
      if (const auto* v = e.as<ir::VarNode>()) outer = outer || !inner_.contains(v);
    });
    return outer;
  }

  Result<void> unite(size_t d, const AxisBounds& more) {
    AxisBounds& a = region_.axes[d];
    const int64_t whole = st_.op->axes[d].extent;
    if (is_whole(a, whole)) return {};
    if (is_whole(more, whole)) {
      a = more;
      return {};
    }
    const arith::Linear diff = arith::to_linear(more.min) - arith::to_linear(a.min);
    if (!diff.terms.empty()) return inexact();
    const int64_t lo = std::min<int64_t>(0, diff.constant);
    const int64_t hi = std::max(a.extent, diff.constant + more.extent);
    if (lo < 0) a.min = arith::simplify(a.min + ir::Expr(lo), b_.ranges);
    a.extent = hi - lo;
    return {};
  }

  static bool is_whole(const AxisBounds& a, int64_t whole) {
    return ir::is_const(a.min, 0) && a.extent == whole;
  }

  void clip() {
    for (size_t d = 0; d < region_.axes.size(); ++d) {
      const int64_t whole = st_.op->axes[d].extent;
      if (region_.axes[d].extent >= whole) region_.axes[d] = {ir::Expr(0), whole};
    }
  }

  // A reader's near-equal split whose inner part runs inside the box and whose outer part is fixed.
  void add_shorts(const Stage& reader) {
    const StageBounds& rb = b_.stages[static_cast<size_t>(reader.id)];
    for (const Relation& r : reader.relations) {
      if (r.kind != RelationKind::kParts) continue;
      const int64_t n = rb.extents[static_cast<size_t>(r.many[0])];
      const int64_t rem = rb.extents[static_cast<size_t>(r.one)] % n;
      const auto* part = values_[static_cast<size_t>(r.many[1])].as<ir::VarNode>();
      const ir::Expr outer = rb.values[static_cast<size_t>(r.many[0])];
      if (rem == 0 || part == nullptr || !inner_.contains(part) || uses_any(outer, inner_)) {
        continue;
      }
      for (size_t d = 0; d < region_.axes.size(); ++d) {
        const auto k = common_coefficient(d, part);
        if (k > 0 && !is_whole(region_.axes[d], st_.op->axes[d].extent)) {
          region_.shorts.push_back({d, region_.axes[d].extent - k, ir::lt(outer, rem)});
        }
      }
    }
  }

  // The coefficient of `v` in dimension d if every read has the same; else 0.
  int64_t common_coefficient(size_t d, const ir::VarNode* v) const {
    std::optional<int64_t> common;
    for (const AxisRange& r : ranges_) {
      if (r.axis != d) continue;
      const int64_t k = r.form.coefficient(v);
      if (common.value_or(k) != k) return 0;
      common = k;
    }
    return common.value_or(0);
  }

  const State& s_;
  Bounds& b_;
  const Stage& st_;
  struct AxisForm {
    const ir::VarNode* axis;
    arith::Linear form;
  };

  VarSet inner_;                   // run through all their values for one box
  std::vector<ir::Expr> values_;   // of the reader looked at last
  std::vector<AxisForm> axes_;     // of that reader
  std::vector<AxisRange> ranges_;  // of all readers
  size_t first_range_ = 0;         // of the reader looked at last
  bool is_read_ = false;
  Region region_;
};

}  // namespace

Result<Region> required_region(const State& s, Bounds& b, StageId stage) {
  return RegionBuilder(s, b, stage).run();
}

}  // namespace tenon::schedule
