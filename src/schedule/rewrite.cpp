// SPDX-License-Identifier: Apache-2.0
#include "schedule/rewrite.h"

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::schedule {

void rewrite_reads(State& s, StageId stage, const ir::Buffer& buffer, const ReadRewriter& fn) {
  const te::OpRef op = s.stage(stage).op;
  if (op == nullptr || s.stage(stage).place == Place::kInlined) return;
  const ir::Expr body = ir::rewrite(op->body, [&](const ir::Expr& e) {
    const auto* l = e.as<ir::Load>();
    return l != nullptr && l->buffer.same_as(buffer) ? fn(*l, *op) : e;
  });
  if (body.same_as(op->body)) return;
  auto changed = std::make_shared<te::ComputeOp>(*op);
  changed->body = body;
  s.edit(stage).op = std::move(changed);
}

void rewrite_all_reads(State& s, const ir::Buffer& buffer, const ReadRewriter& fn) {
  for (const StageId id : s.order()) rewrite_reads(s, id, buffer, fn);
}

te::OpRef with_output(const te::ComputeOp& op, const ir::Buffer& output) {
  auto changed = std::make_shared<te::ComputeOp>(op);
  changed->output = output;
  return changed;
}

te::OpRef copy_op(const ir::Buffer& in, const ir::Buffer& out, const std::vector<te::Axis>& like) {
  auto op = std::make_shared<te::ComputeOp>();
  op->output = out;
  std::vector<ir::Expr> indices;
  for (size_t d = 0; d < in.rank(); ++d) {
    const std::string name = d < like.size() ? like[d].var.name() : "d" + std::to_string(d);
    op->axes.push_back({ir::Var(name), in.shape()[d]});
    indices.push_back(op->axes.back().var);
  }
  op->body = ir::load(in, indices);
  return op;
}

}  // namespace tenon::schedule
