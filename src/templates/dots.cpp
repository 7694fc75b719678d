// SPDX-License-Identifier: Apache-2.0
// Products of matrices with few columns, too few for a vector of them: vectors run along the sum,
// each result is combined across lanes once. The tile is a few rows times all columns, and what one
// step of the sum reads of either is used for all of the other.
#include <algorithm>

#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/matmul_match.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kMostRows = 8;    // of a tile
constexpr int64_t kLeastSteps = 4;  // vectors of a sum, so that combining lanes does not count

// Both operands lie along the sum, or the second one can be laid so.
bool fits(const Matmul& m, const target::Cpu& t) {
  const te::ComputeOp& op = *m.chain.anchor;
  const int64_t bytes = op.output.dtype().bytes(), v = t.lanes(bytes);
  const int64_t columns = op.axes.back().extent, k = op.reduce_axes[0].extent;
  const size_t sum = op.axes.size();
  if (m.rows || v < 2 || k < kLeastSteps * v || m.x.strides[sum] != 1) return false;
  if (2 * columns * bytes > t.datapath_bytes) return false;
  const bool plain = std::all_of(m.w.indices.begin(), m.w.indices.end(), [&](const ir::Expr& i) {
    return plain_axis(i, op).has_value() || ir::const_int(i).has_value();
  });
  return plain && m.x.tensor.dtype() == op.output.dtype() &&
         m.w.tensor.dtype() == op.output.dtype();
}

class Writer {
 public:
  Writer(const Matmul& m, Builder& b, const Request& request)
      : b_(b),
        request_(request),
        m_(m),
        t_(b.target().cpu()),
        op_(*m.chain.anchor),
        rank_(op_.axes.size()),
        out_(b.stage(m.chain.final->name())),
        sum_(b.stage(op_.name())),
        v_(t_.lanes(op_.output.dtype().bytes())) {}

  void run() {
    for (const te::ComputeOp* p : m_.chain.inlined) {
      if (p != &op_) b_.compute_inline(b_.stage(p->name()));
    }
    store_fixed_inputs(b_, request_);
    const Loop lanes = b_.split<2>(b_.axis(sum_, rank_), {v_})[1];
    factored_ = b_.rfactor(lanes, static_cast<int64_t>(rank_));
    lay_along_sum();
    tile_output();
    b_.vectorize(b_.axis(sum_, rank_));
    tile_sum();
  }

 private:
  // w -> other dims.., column, k
  void lay_along_sum() {
    if (m_.w.strides[rank_] == 1 || b_.refused()) return;
    StageRef w = b_.stage(m_.w.tensor.name());
    if (!m_.constant) w = b_.cache_read(w, {factored_}, ir::Scope::kGlobal);
    std::vector<int64_t> order;
    for (const size_t d : m_.other_dims) order.push_back(static_cast<int64_t>(d));
    order.push_back(static_cast<int64_t>(m_.j_dim));
    order.push_back(static_cast<int64_t>(m_.k_dim));
    b_.layout_reorder(w, order);
    if (!m_.constant) loop_over_storage(b_, w);
  }

  Value ask_row_parts() {
    const int64_t rows = op_.axes[m_.row].extent, columns = op_.axes.back().extent;
    const int64_t limit = rows_in_first_cache(m_.row_stride_bytes, t_);
    int64_t most = std::min(kMostRows, (t_.vector_registers - 1) / (columns + 1));
    if (limit > 0) most = std::min(most, limit / 2);  // the columns are there too
    const int64_t rule = arith::ceil_div(rows, std::min(rows, most));
    return b_.ask({HoleKind::kParts, out_.id, 0}, "in", parts_in_registers(rows, columns, rule, t_),
                  rule);
  }

  void tile_output() {
    std::vector<Loop> outer;
    for (size_t d = 0; d + 1 < rank_; ++d) {
      if (d != m_.row) outer.push_back(b_.axis(out_, d));
    }
    const Value parts = ask_row_parts();
    const auto [rows, row] = b_.parts(b_.axis(out_, m_.row), parts);
    const Loop column = b_.axis(out_, rank_ - 1);
    outer.push_back(rows);
    std::vector<Loop> order = outer;
    order.insert(order.end(), {row, column});
    b_.reorder(order);
    if (sum_ != out_) {
      b_.compute_at(sum_, rows);
      b_.unroll(b_.axis(sum_, m_.row));
      b_.unroll(b_.axis(sum_, rank_ - 1));
    }
    b_.unroll(row);
    b_.unroll(column);
    b_.compute_at(factored_, rows);
    int64_t work = op_.reduce_axes[0].extent;
    for (const te::Axis& a : op_.axes) work *= a.extent;
    outer.pop_back();
    deal_out_rows(outer, rows, parts, work / v_);
  }

  // Attached stages stay at the loop over tiles.
  void deal_out_rows(const std::vector<Loop>& outer, Loop rows, int64_t parts, int64_t work) {
    int64_t pieces = 1;
    for (const Loop& l : outer) pieces *= b_.extent(l);
    if (outer.empty() || balance(pieces, t_.cores) < 0.9) {
      if (parts > 1 && work >= t_.parallel_vectors && t_.cores > 1) b_.parallel(rows);
      return;
    }
    deal_out(b_, outer, work);
  }

  // axes.. lanes | k
  void tile_sum() {
    const Loop row = b_.axis(factored_, m_.row), column = b_.axis(factored_, rank_ - 1);
    const Loop lanes = b_.axis(factored_, rank_), k = b_.axis(factored_, rank_ + 1);
    b_.reorder({k, row, column, lanes});
    b_.unroll(row);
    b_.unroll(column);
    b_.vectorize(lanes);
  }

  Builder& b_;
  const Request& request_;
  const Matmul& m_;
  const target::Cpu& t_;
  const te::ComputeOp& op_;
  size_t rank_;
  StageRef out_, sum_, factored_;
  int64_t v_;  // lanes
};

}  // namespace

std::optional<Written> write_dots(Builder& b, const Request& request) {
  const auto m = find_matmul(b.dag(), b.target().cpu());
  if (!m || !fits(*m, b.target().cpu()) || !may_be_plain(request, m->chain.final->output))
    return std::nullopt;
  Writer(*m, b, request).run();
  return Written{};
}

}  // namespace tenon::templates
