// SPDX-License-Identifier: Apache-2.0
// How primitives that change the dag do it: ops are immutable, so a changed op replaces the old one.
#pragma once

#include "ir/visit.h"
#include "schedule/state.h"
#include "support/function_ref.h"

namespace tenon::schedule {

// Replaces each read of `buffer` in the op of `stage`, one of State::readers. Loops are kept.
void rewrite_reads(State& s, StageId stage, const ir::Buffer& buffer,
                   FunctionRef<ir::Expr(const ir::Load& read)> fn);

// `e` with variables replaced. Index expressions and conditions that change are simplified, nothing else is touched.
ir::Expr replace_axes(const ir::Expr& e, const ir::VarMap& map, const arith::Ranges& ranges);
std::vector<ir::Expr> variables(const std::vector<te::Axis>& axes);

te::OpRef with_body(const te::ComputeOp& op, const ir::Expr& body);
// Gives `op` another output buffer.
te::OpRef with_output(const te::ComputeOp& op, const ir::Buffer& output);
// out[axes] = in[axes]: same shape, fresh axes named like `like`'s.
te::OpRef copy_op(const ir::Buffer& in, const ir::Buffer& out, const std::vector<te::Axis>& like);

}  // namespace tenon::schedule
