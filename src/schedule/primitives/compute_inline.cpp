// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/compute_inline.h"

#include "ir/visit.h"
#include "schedule/rewrite.h"
#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

// A chain of x + x doubles with every stage inlined.
constexpr int64_t kMaxTerms = 10000;

int64_t count_terms(const ir::Expr& e) {
  int64_t n = 0;
  ir::visit(e, [&](const ir::Expr&) { ++n; });
  return n;
}

int64_t count_reads(const ir::Expr& e, const ir::Buffer& b) {
  int64_t n = 0;
  ir::visit_loads(e, [&](const ir::Load& l) { n += l.buffer.same_as(b) ? 1 : 0; });
  return n;
}

// The body of `reader` with `op` in place of its reads of `buffer`.
ir::Expr body_with(const te::ComputeOp& reader, const te::ComputeOp& op, const ir::Buffer& buffer) {
  const arith::Ranges ranges = reader.ranges();
  return ir::rewrite_loads(reader.body, [&](const ir::Load& read) {
    if (!read.buffer.same_as(buffer)) return ir::Expr(&read);
    ir::VarMap map;
    for (size_t d = 0; d < op.axes.size(); ++d) map[op.axes[d].var.node()] = read.indices[d];
    return replace_axes(op.body, map, ranges);
  });
}

}  // namespace

Result<void> ComputeInline::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  const Stage& st = s[stage];
  if (st.output) return Illegal{.code = IllegalCode::kIsOutput, .stage = stage.id};
  if (st.op->is_reduction()) return Illegal{.code = IllegalCode::kHasReduction, .stage = stage.id};
  TENON_TRY(check_hosts_nothing(s, stage));
  if (st.zero_padding) return Illegal{.code = IllegalCode::kZerosInlined, .stage = stage.id};
  const int64_t terms = count_terms(st.op->body);
  for (const StageId r : s.readers(stage.id)) {
    const ir::Expr& body = s.stage(r).op->body;
    const int64_t after = count_terms(body) + count_reads(body, st.buffer) * terms;
    if (after > kMaxTerms) {
      return Illegal{.code = IllegalCode::kInlineTooLarge,
                     .stage = stage.id,
                     .other = r,
                     .value = after,
                     .limit = kMaxTerms};
    }
  }
  return {};
}

void ComputeInline::apply(State& s) const {
  const te::OpRef op = s[stage].op;
  for (const StageId r : s.readers(stage.id)) {
    const te::OpRef reader = s.stage(r).op;
    const ir::Expr* known = s.inlined_bodies().find(*reader, *op);
    const ir::Expr body = known != nullptr ? *known : body_with(*reader, *op, s[stage].buffer);
    if (known == nullptr) s.inlined_bodies().add(*reader, op, body);
    s.edit(r).op = with_body(*reader, body);
  }
  Stage& st = s.edit(stage.id);
  st.place = Place::kInlined;
  st.at_stage = -1;
  st.at_loop = -1;
}

}  // namespace tenon::schedule
