// SPDX-License-Identifier: Apache-2.0
#include "schedule/rewrite.h"

#include "arith/simplify.h"
#include "ir/build.h"

namespace tenon::schedule {

void rewrite_reads(State& s, StageId stage, const ir::Buffer& buffer,
                   FunctionRef<ir::Expr(const ir::Load& read)> fn) {
  const te::OpRef op = s.stage(stage).op;
  const ir::Expr body = ir::rewrite_loads(
      op->body, [&](const ir::Load& l) { return l.buffer.same_as(buffer) ? fn(l) : ir::Expr(&l); });
  if (!body.same_as(op->body)) s.edit(stage).op = with_body(*op, body);
}

namespace {

class AxisReplacer : public ir::Mutator {
 public:
  AxisReplacer(const ir::VarMap& map, const arith::Ranges& ranges) : map_(map), ranges_(ranges) {}
  ir::Expr mutate(const ir::Expr& e) override {
    if (e.dtype() != ir::kI64 && e.dtype() != ir::kBool) return descend(e);
    const ir::Expr x = ir::substitute(e, map_);
    return x.same_as(e) ? e : arith::simplify(x, ranges_);
  }

 private:
  const ir::VarMap& map_;
  const arith::Ranges& ranges_;
};

}  // namespace

ir::Expr replace_axes(const ir::Expr& e, const ir::VarMap& map, const arith::Ranges& ranges) {
  return AxisReplacer(map, ranges).mutate(e);
}

std::vector<ir::Expr> variables(const std::vector<te::Axis>& axes) {
  std::vector<ir::Expr> out;
  for (const te::Axis& a : axes) out.push_back(a.var);
  return out;
}

te::OpRef with_body(const te::ComputeOp& op, const ir::Expr& body) {
  auto changed = std::make_shared<te::ComputeOp>(op);
  changed->body = body;
  return changed;
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
