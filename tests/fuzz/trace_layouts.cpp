// SPDX-License-Identifier: Apache-2.0
#include "fuzz/trace_layouts.h"

#include <algorithm>
#include <numeric>

#include "arith/linear.h"
#include "ir/visit.h"

namespace tenon::fuzz {

using namespace schedule;  // NOLINT(google-build-using-namespace): every layout primitive is named here

namespace {

int64_t any_dim(TraceDrawer& d, StageRef s) {
  const int64_t rank = static_cast<int64_t>(d.stage(s).buffer.rank());
  return rank == 0 ? 0 : d.rng.between(0, rank - 1);
}

int64_t size_of(TraceDrawer& d, StageRef s, int64_t dim) {
  return d.stage(s).buffer.rank() == 0 ? 1 : d.stage(s).buffer.shape()[static_cast<size_t>(dim)];
}

// The reads of `s` in its readers, with the ranges of their axes.
template <class Fn>
void each_read(TraceDrawer& d, StageRef s, Fn&& fn) {
  for (const StageId r : d.state().readers(s.id)) {
    const te::OpRef op = d.state().stage(r).op;
    ir::visit(op->body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l != nullptr && l->buffer.same_as(d.stage(s).buffer)) {
        fn(*l, *op);
      }
    });
  }
}

}  // namespace

Step draw_layout_split(TraceDrawer& d, StageRef s) {
  const int64_t dim = any_dim(d, s);
  const int64_t size = size_of(d, s, dim);
  const int64_t inner = d.factor(size);
  const int64_t outer = (size + inner - 1) / inner + (d.rng.chance(0.1) ? 1 : 0);
  if (d.rng.chance(0.2)) {
    const int64_t middle = d.factor(outer);
    return LayoutSplit{s, dim, {(outer + middle - 1) / middle, middle, inner}};
  }
  return LayoutSplit{s, dim, {outer, inner}};
}

Step draw_layout_reorder(TraceDrawer& d, StageRef s) {
  std::vector<int64_t> perm(d.stage(s).buffer.rank());
  std::iota(perm.begin(), perm.end(), 0);
  d.shuffle(perm);
  return LayoutReorder{s, perm};
}

Step draw_layout_fuse(TraceDrawer& d, StageRef s) {
  return LayoutFuse{s, any_dim(d, s), d.rng.chance(0.8) ? 2 : 3};
}

Step draw_layout_pad(TraceDrawer& d, StageRef s) {
  return LayoutPad{s, any_dim(d, s), d.rng.between(0, 3), d.rng.between(0, 3)};
}

// Mostly two dimensions of even sizes: few others can be swizzled.
Step draw_layout_swizzle(TraceDrawer& d, StageRef s) {
  LayoutSwizzle step{s, any_dim(d, s), any_dim(d, s), int64_t{1} << d.rng.between(1, 3)};
  const auto fits = [&] {
    return step.dim != step.by && size_of(d, s, step.dim) % step.count == 0 &&
           size_of(d, s, step.by) % step.count == 0;
  };
  for (int tries = 0; tries < 12 && !fits(); ++tries) {
    step = {s, any_dim(d, s), any_dim(d, s), int64_t{1} << d.rng.between(1, 3)};
  }
  return step;
}

Step draw_layout_unfold(TraceDrawer& d, StageRef s) {
  const int64_t dim = any_dim(d, s);
  const int64_t size = d.factor(size_of(d, s, dim));
  return LayoutUnfold{s, dim, size, d.rng.between(1, size)};
}

Step draw_layout_store_at(TraceDrawer& d, StageRef host) {
  const int64_t dim = any_dim(d, host);
  std::vector<int64_t> slab = d.stage(host).buffer.shape();
  if (!slab.empty()) {
    slab.erase(slab.begin() + dim);
  }
  for (size_t i = 0; i < d.state().size(); ++i) {
    const auto id = static_cast<StageId>(i);
    if (d.state().stage(id).is_input() && d.state().stage(id).buffer.shape() == slab) {
      return LayoutStoreAt{{id}, host, dim};
    }
  }
  return LayoutStoreAt{d.any_stage(), host, dim};
}

void block_dim(TraceDrawer& d, StageRef s) {
  const auto rank = static_cast<int64_t>(d.stage(s).buffer.rank());
  if (rank == 0) {
    return;
  }
  const int64_t dim = d.rng.between(0, rank - 1);
  const int64_t size = d.stage(s).buffer.shape()[static_cast<size_t>(dim)];
  const int64_t v = d.factor(size);
  if (!d.take(LayoutSplit{s, dim, {(size + v - 1) / v, v}})) {
    return;
  }
  std::vector<int64_t> perm;
  for (int64_t i = 0; i <= rank; ++i) {
    if (i != dim + 1) {
      perm.push_back(i);
    }
  }
  perm.push_back(dim + 1);
  d.take(LayoutReorder{s, perm});
}

void pad_for_reader(TraceDrawer& d, StageRef s) {
  for (size_t dim = 0; dim < d.stage(s).buffer.rank(); ++dim) {
    int64_t before = 0;
    int64_t after = 0;
    const int64_t size = d.stage(s).buffer.shape()[dim];
    each_read(d, s, [&](const ir::Load& l, const te::ComputeOp& op) {
      const arith::Interval at = arith::interval_of(l.indices[dim], op.ranges());
      if (at.bounded()) {
        before = std::max(before, -at.lo);
        after = std::max(after, at.hi - size + 1);
      }
    });
    if (before + after > 0 && before + after < 12) {
      d.take(LayoutPad{s, static_cast<int64_t>(dim), before, after});
    }
  }
}

void unfold_for_reader(TraceDrawer& d, StageRef s) {
  if (d.stage(s).buffer.rank() == 0) {
    return;
  }
  const int64_t dim = d.rng.between(0, static_cast<int64_t>(d.stage(s).buffer.rank()) - 1);
  int64_t stride = 0;
  int64_t window = 1;
  each_read(d, s, [&](const ir::Load& l, const te::ComputeOp& op) {
    const arith::Linear form = arith::to_linear(l.indices[static_cast<size_t>(dim)]);
    int64_t own = 1;
    for (const te::Axis& a : op.reduce_axes) {
      own += form.coefficient(a.var.node()) * (a.extent - 1);
    }
    for (const te::Axis& a : op.axes) {
      stride = std::gcd(stride, form.coefficient(a.var.node()));
    }
    window = std::max(window, own);
  });
  if (stride > 0 && window > 0) {
    const int64_t w = d.rng.between(1, 5);
    d.take(LayoutUnfold{s, dim, stride * (w - 1) + window, stride * w});
  }
}

}  // namespace tenon::fuzz
