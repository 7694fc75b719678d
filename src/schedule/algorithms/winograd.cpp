// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/winograd.h"

#include <algorithm>

#include "arith/linear.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::schedule {
namespace {

using ir::Expr;
using te::Axis;

// Taps side by side, and nothing else.
bool slides(const Expr& index, const Axis& at, const Axis& tap, int64_t stride) {
  const arith::Linear l = arith::to_linear(index);
  return tap.extent == kWinogradTaps && l.terms.size() == 2 && l.constant == 0 &&
         l.coefficient(at.var.node()) == stride && l.coefficient(tap.var.node()) == 1;
}

class Winograd {
 public:
  Winograd(State& s, StageId stage, Algorithm algorithm)
      : s_(s),
        id_(stage),
        op_(s.stage(stage).op),
        c_(*find_taps(*op_, row_of(algorithm).stride)),
        m_(winograd_matrices(algorithm)),
        tile_(row_of(algorithm).tile),
        step_(tile_ * row_of(algorithm).stride),
        points_(points_of(row_of(algorithm))),
        algorithm_(algorithm) {
    for (size_t d = 2 + c_.others; d < op_->axes.size(); ++d) {
      tiles_.push_back((op_->axes[d].extent + tile_ - 1) / tile_);
    }
  }

  void run() {
    std::vector<size_t> taps;
    for (size_t d = 2 + c_.others; d < op_->axes.size(); ++d) taps.push_back(d);
    const ir::Buffer w = turn_weights(s_, c_.w->buffer, WeightTransform(algorithm_, taps));
    const ir::Buffer v = transform_input();
    const ir::Buffer m = multiply(v, w);
    read_tiles(transform_output(m));
  }

 private:
  int64_t all_tiles() const {
    constexpr int64_t kTogether = 4;  // numbers that threads of GPUs move at once
    const int64_t tiles = c_.dims == 2 ? tiles_[0] * tiles_[1] : tiles_[0];
    return s_.target().is_cpu() ? tiles : arith::ceil_div(tiles, kTogether) * kTogether;
  }
  // Tiles beyond the last one, which nothing reads.
  bool has_spare_tiles() const {
    return all_tiles() > (c_.dims == 2 ? tiles_[0] * tiles_[1] : tiles_[0]);
  }

  ir::Buffer add(const char* part, Shape shape, Expr body, std::vector<Axis> reduce = {}) {
    return add_stage(s_, id_, part, std::move(shape), std::move(body), std::move(reduce));
  }

  // x at tile t, point by point; zero beyond the end, where the last tile reaches.
  Expr read_input(const std::vector<Expr>& outer, const Expr& t,
                  const std::vector<Expr>& points) const {
    std::vector<Expr> at = outer;
    Expr inside;
    for (size_t d = 0; d < c_.dims; ++d) {
      Expr tile = t;
      if (c_.dims == 2) {
        tile = d == 0 ? ir::floor_div(t, number(tiles_[1])) : ir::floor_mod(t, number(tiles_[1]));
      }
      at.push_back(tile * number(step_) + points[d]);
      const int64_t extent = c_.x->buffer.shape()[at.size() - 1];
      const bool spare = d == 0 && has_spare_tiles();
      if (!spare && (tiles_[d] - 1) * step_ + points_ <= extent) continue;
      const Expr ok = ir::lt(at.back(), number(extent));
      inside = inside.defined() ? ir::logical_and(inside, ok) : ok;
    }
    Expr value = ir::load(c_.x->buffer, at);
    return inside.defined() ? ir::select(inside, value, ir::zero_of(ir::kF32)) : value;
  }

  // n, c and the positions o of the input.
  std::vector<Expr> input_axes(Shape& shape) const {
    const auto& x = c_.x->buffer.shape();
    std::vector<Expr> out = {shape.add(op_->axes[0].var.name(), x[0]),
                             shape.add(op_->reduce_axes[0].var.name(), x[1])};
    for (size_t d = 0; d < c_.others; ++d) {
      out.push_back(shape.add(op_->axes[2 + d].var.name(), x[2 + d]));
    }
    return out;
  }

  // n, k and the positions o of the output.
  std::vector<Expr> output_axes(Shape& shape) const {
    std::vector<Expr> out;
    for (size_t d = 0; d < 2 + c_.others; ++d) {
      out.push_back(shape.add(op_->axes[d].var.name(), op_->axes[d].extent));
    }
    return out;
  }

  // What tiles read, side by side. Only threads of GPUs have registers for all of a tile; elsewhere
  // tiles are read where they are.
  ir::Buffer gather_tiles() {
    if (s_.target().is_cpu()) return {};
    Shape shape;
    const auto outer = input_axes(shape);
    const Expr t = shape.add("wt", all_tiles());
    std::vector<Expr> points;
    if (c_.dims == 2) points.push_back(shape.add("wr", points_));
    points.push_back(shape.add("ws", points_));
    return add("d", shape, read_input(outer, t, points));
  }

  ir::Buffer transform_input() {
    const ir::Buffer gathered = gather_tiles();
    const auto read = [&](const std::vector<Expr>& outer, const Expr& t,
                          const std::vector<Expr>& points) {
      if (!gathered.defined()) return read_input(outer, t, points);
      std::vector<Expr> at = outer;
      at.push_back(t);
      at.insert(at.end(), points.begin(), points.end());
      return ir::load(gathered, at);
    };
    ir::Buffer rows;
    if (c_.dims == 2) {
      Shape shape;
      const auto outer = input_axes(shape);
      const Expr t = shape.add("wt", all_tiles());
      const Expr a = shape.add("wa", points_);
      const Expr column = shape.add("ws", points_);
      rows = add("v1", shape, choose_row(m_.b, a, [&](size_t r) {
                   return read(outer, t, {number(static_cast<int64_t>(r)), column});
                 }));
    }
    Shape shape;
    const Expr a = shape.add("wa", points_);
    const Expr b = c_.dims == 2 ? shape.add("wb", points_) : a;
    const auto outer = input_axes(shape);
    const Expr t = shape.add("wt", all_tiles());
    return add("v", shape, choose_row(m_.b, b, [&](size_t r) {
                 const Expr point = number(static_cast<int64_t>(r));
                 if (c_.dims == 1) return read(outer, t, {point});
                 std::vector<Expr> at = outer;
                 at.insert(at.end(), {t, a, point});
                 return ir::load(rows, at);
               }));
  }

  ir::Buffer multiply(const ir::Buffer& v, const ir::Buffer& w) {
    Shape shape;
    std::vector<Expr> points;
    points.push_back(shape.add("wa", points_));
    if (c_.dims == 2) points.push_back(shape.add("wb", points_));
    const auto outer = output_axes(shape);
    const Expr t = shape.add("wt", all_tiles());
    std::vector<Axis> reduce;
    ir::VarMap map;
    for (size_t d = 0; d <= c_.others; ++d) {
      const Axis& r = op_->reduce_axes[d];
      reduce.push_back({ir::Var(r.var.name()), r.extent});
      map[r.var.node()] = reduce.back().var;
    }
    for (size_t d = 0; d < outer.size(); ++d) map[op_->axes[d].var.node()] = outer[d];
    std::vector<Expr> in = points, weights = points;
    in.insert(in.end(), {outer[0], reduce[0].var});
    weights.insert(weights.end(), {outer[1], reduce[0].var});
    for (size_t d = 0; d < c_.others; ++d) {
      in.push_back(ir::substitute(c_.x->indices[2 + d], map));
      weights.emplace_back(reduce[1 + d].var);
    }
    in.push_back(t);
    return add("m", shape, ir::load(v, in) * ir::load(w, weights), reduce);
  }

  ir::Buffer transform_output(const ir::Buffer& m) {
    ir::Buffer rows;
    if (c_.dims == 2) {
      Shape shape;
      const auto outer = output_axes(shape);
      const Expr t = shape.add("wt", all_tiles());
      const Expr i = shape.add("wi", tile_);
      const Expr b = shape.add("wb", points_);
      rows = add("y1", shape, choose_row(m_.a, i, [&](size_t a) {
                   std::vector<Expr> at = {number(static_cast<int64_t>(a)), b};
                   at.insert(at.end(), outer.begin(), outer.end());
                   at.push_back(t);
                   return ir::load(m, at);
                 }));
    }
    Shape shape;
    const auto outer = output_axes(shape);
    const Expr t = shape.add("wt", all_tiles());
    const Expr i = shape.add("wi", tile_);
    const Expr j = c_.dims == 2 ? shape.add("wj", tile_) : i;
    return add("y", shape, choose_row(m_.a, j, [&](size_t p) {
                 const Expr point = number(static_cast<int64_t>(p));
                 std::vector<Expr> at;
                 if (c_.dims == 1) at.push_back(point);
                 at.insert(at.end(), outer.begin(), outer.end());
                 at.push_back(t);
                 if (c_.dims == 1) return ir::load(m, at);
                 at.insert(at.end(), {i, point});
                 return ir::load(rows, at);
               }));
  }

  void read_tiles(const ir::Buffer& y) {
    std::vector<Expr> at;
    for (size_t d = 0; d < 2 + c_.others; ++d) at.emplace_back(op_->axes[d].var);
    Expr t;
    std::vector<Expr> inside;
    for (size_t d = 0; d < c_.dims; ++d) {
      const Expr p = op_->axes[2 + c_.others + d].var;
      const Expr tile = ir::floor_div(p, number(tile_));
      t = t.defined() ? t * number(tiles_[d]) + tile : tile;
      inside.push_back(ir::floor_mod(p, number(tile_)));
    }
    at.push_back(t);
    at.insert(at.end(), inside.begin(), inside.end());
    read_result(s_, id_, ir::load(y, at), algorithm_);
  }

  State& s_;
  StageId id_;
  te::OpRef op_;  // as it was
  TapsForm c_;
  const WinogradMatrices& m_;
  int64_t tile_, step_, points_;  // step: of the input from tile to tile
  Algorithm algorithm_;
  std::vector<int64_t> tiles_;  // per dimension p
};

}  // namespace

std::optional<TapsForm> find_taps(const te::ComputeOp& op, int64_t stride) {
  const auto both = find_operands(op);
  const size_t n = op.axes.size();
  if (!both || n < 3 || op.reduce_axes.size() != n - 1) return std::nullopt;
  TapsForm c{*both};
  if (c.w->indices.size() != n || !c.w->indices[0].same_as(op.axes[1].var)) std::swap(c.x, c.w);
  if (c.x->indices.size() != n || c.w->indices.size() != n) return std::nullopt;
  if (!c.w->indices[0].same_as(op.axes[1].var) || !c.x->indices[0].same_as(op.axes[0].var))
    return std::nullopt;
  for (size_t d = 1; d < n; ++d) {
    if (!c.w->indices[d].same_as(op.reduce_axes[d - 1].var)) return std::nullopt;
  }
  if (!c.x->indices[1].same_as(op.reduce_axes[0].var)) return std::nullopt;
  while (c.dims < 2 && c.dims < n - 2) {
    const size_t d = n - 1 - c.dims;
    if (!slides(c.x->indices[d], op.axes[d], op.reduce_axes[d - 1], stride)) break;
    ++c.dims;
  }
  c.others = n - 2 - c.dims;
  return c.dims > 0 ? std::optional(c) : std::nullopt;
}

double winograd_elements(const te::ComputeOp& op, const TapsForm& form, Algorithm algorithm) {
  const int64_t tile = row_of(algorithm).tile;
  const auto& x = form.x->buffer.shape();
  double in = static_cast<double>(x[0] * x[1]);
  double out = static_cast<double>(op.axes[0].extent * op.axes[1].extent);
  for (size_t d = 2; d < op.axes.size(); ++d) {
    const bool tiled = d >= 2 + form.others;
    const int64_t points = (op.axes[d].extent + tile - 1) / tile * points_of(row_of(algorithm));
    in *= static_cast<double>(tiled ? points : x[d]);
    out *= static_cast<double>(tiled ? points : op.axes[d].extent);
  }
  return std::max(in, out);
}

void compute_by_winograd(State& s, StageId stage, Algorithm algorithm) {
  Winograd(s, stage, algorithm).run();
}

}  // namespace tenon::schedule
