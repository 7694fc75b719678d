// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/bfloat16.h"

#include "ir/build.h"

namespace tenon::schedule {

std::optional<Operands> find_narrowable(const State& s, const te::ComputeOp& op) {
  auto both = find_operands(op);
  if (!both) return std::nullopt;
  if (!is_constant(s, *both->w)) std::swap(both->x, both->w);
  return is_constant(s, *both->w) && !is_constant(s, *both->x) ? both : std::nullopt;
}

void compute_in_bfloat16(State& s, StageId stage) {
  const te::OpRef op = s.stage(stage).op;
  const Operands o = *find_narrowable(s, *op);
  const ir::Buffer w = turn_weights(s, o.w->buffer, WeightTransform(Algorithm::kBfloat16, {}));
  Shape shape;
  std::vector<ir::Expr> at;
  for (size_t d = 0; d < o.x->buffer.rank(); ++d)
    at.push_back(shape.add("h" + std::to_string(d), o.x->buffer.shape()[d]));
  const ir::Buffer h =
      add_stage(s, stage, "h", shape, ir::cast(ir::kBF16, ir::load(o.x->buffer, at)));
  const auto wide = [](const ir::Buffer& b, const ir::Load& as) {
    return ir::cast(ir::kF32, ir::load(b, as.indices));
  };
  Stage& st = s.edit(stage);
  auto now = std::make_shared<te::ComputeOp>(*op);
  now->body = wide(h, *o.x) * wide(w, *o.w);
  st.op = now;
  st.error_factor *= row_of(Algorithm::kBfloat16).error_factor;
}

}  // namespace tenon::schedule
