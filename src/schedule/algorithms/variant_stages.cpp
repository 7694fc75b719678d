// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/variant_stages.h"

#include <cmath>

#include "ir/build.h"

namespace tenon::schedule {
namespace {

ir::Expr combination(const std::vector<double>& row, const std::function<ir::Expr(size_t)>& term) {
  ir::Expr sum;
  for (const bool negative : {false, true}) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] == 0 || (row[i] < 0) != negative) continue;
      ir::Expr t = term(i);
      if (std::abs(row[i]) != 1) t = t * ir::make_float(ir::kF32, std::abs(row[i]));
      sum = !sum.defined() ? t : negative ? sum - t : sum + t;
    }
  }
  return sum;
}

}  // namespace

std::optional<Operands> find_operands(const te::ComputeOp& op) {
  const auto* product = op.body.as<ir::Binary>();
  if (op.combiner != ir::BinaryOp::kAdd || product == nullptr ||
      product->op != ir::BinaryOp::kMul || op.output.dtype() != ir::kF32)
    return std::nullopt;
  const Operands both{product->a.as<ir::Load>(), product->b.as<ir::Load>()};
  return both.x != nullptr && both.w != nullptr ? std::optional(both) : std::nullopt;
}

bool is_constant(const State& s, const ir::Load& read) {
  const StageId id = s.owner(read.buffer);
  return id >= 0 && s.stage(id).constant;
}

ir::Expr Shape::add(const std::string& name, int64_t extent) {
  axes.push_back({ir::Var(name), extent});
  return axes.back().var;
}

ir::Expr number(int64_t v) { return ir::make_int(ir::kI64, v); }

ir::Expr choose_row(const Matrix& rows, const ir::Expr& which,
                    const std::function<ir::Expr(size_t)>& term) {
  ir::Expr e = combination(rows.back(), term);
  for (size_t r = rows.size() - 1; r-- > 0;) {
    e = ir::select(ir::eq(which, number(static_cast<int64_t>(r))), combination(rows[r], term), e);
  }
  return e;
}

ir::Buffer add_stage(State& s, StageId stage, const char* part, Shape shape, ir::Expr body,
                     std::vector<te::Axis> reduce) {
  Stage st;
  st.name = s.fresh_name(s.stage(stage).name + "." + part);
  auto op = std::make_shared<te::ComputeOp>();
  std::vector<int64_t> extents;
  for (const te::Axis& a : shape.axes) extents.push_back(a.extent);
  op->axes = std::move(shape.axes);
  op->reduce_axes = std::move(reduce);
  if (!op->reduce_axes.empty()) op->combiner = ir::BinaryOp::kAdd;
  op->body = std::move(body);
  op->output = ir::Buffer::make(st.name, op->body.dtype(), extents);
  st.op = op;
  st.buffer = op->output;
  st.layout = layout::Layout(st.buffer.shape());
  reset_loops(st);
  const ir::Buffer buffer = st.buffer;
  s.insert(std::move(st), stage, true);
  return buffer;
}

ir::Buffer turn_weights(State& s, const ir::Buffer& w, WeightTransform transform) {
  Stage& st = s.edit(s.owner(w));
  st.transform = std::make_shared<const WeightTransform>(std::move(transform));
  st.buffer = ir::Buffer::make(st.name, st.transform->dtype(st.buffer.dtype()),
                               st.transform->shape(st.buffer.shape()));
  st.layout = layout::Layout(st.buffer.shape());
  return st.buffer;
}

void read_result(State& s, StageId stage, ir::Expr body, Algorithm algorithm) {
  Stage& st = s.edit(stage);
  auto op = std::make_shared<te::ComputeOp>(*st.op);
  op->body = std::move(body);
  op->reduce_axes.clear();
  op->combiner.reset();
  st.op = op;
  st.error_factor *= row_of(algorithm).error_factor;
  reset_loops(st);
}

}  // namespace tenon::schedule
