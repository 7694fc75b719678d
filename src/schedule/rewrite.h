// SPDX-License-Identifier: Apache-2.0
// How primitives that change the dag do it: ops are immutable, so a changed op replaces the old one.
#pragma once

#include <functional>

#include "schedule/state.h"

namespace tenon::schedule {

using ReadRewriter = std::function<ir::Expr(const ir::Load& read, const te::ComputeOp& reader)>;

// Replaces each read of `buffer` in the op of `stage`. Loops are kept.
void rewrite_reads(State& s, StageId stage, const ir::Buffer& buffer, const ReadRewriter& fn);
// The same for every stage that computes something; inlined ones are gone.
void rewrite_all_reads(State& s, const ir::Buffer& buffer, const ReadRewriter& fn);

// Gives `op` another output buffer.
te::OpRef with_output(const te::ComputeOp& op, const ir::Buffer& output);
// out[axes] = in[axes]: same shape, fresh axes named like `like`'s.
te::OpRef copy_op(const ir::Buffer& in, const ir::Buffer& out, const std::vector<te::Axis>& like);

}  // namespace tenon::schedule
