// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/variant.h"

#include "arith/interval.h"
#include "schedule/algorithms/bfloat16.h"
#include "schedule/algorithms/gemm.h"
#include "schedule/algorithms/im2col.h"
#include "schedule/algorithms/phases.h"
#include "schedule/algorithms/strassen.h"
#include "schedule/algorithms/winograd.h"
#include "schedule/rules.h"
#include "te/limits.h"

namespace tenon::schedule {
namespace {

bool untouched(const State& s, StageId id) {
  const Stage& st = s.stage(id);
  if (st.transform != nullptr || !st.layout.is_identity() || st.stored_in >= 0) return false;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s.stage(static_cast<StageId>(i)).stored_in == id) return false;
  }
  return true;
}

// Steps that only fill padding of an output have nothing to read; a new stage would read there all the same.
bool reads_inside(const te::ComputeOp& op, const ir::Load& read) {
  arith::Ranges ranges;
  for (const te::Axis& a : op.axes) ranges.bind(a.var, {0, a.extent - 1});
  for (const te::Axis& a : op.reduce_axes) ranges.bind(a.var, {0, a.extent - 1});
  for (size_t d = 0; d < read.indices.size(); ++d) {
    const arith::Interval i = arith::interval_of(read.indices[d], ranges);
    if (i.lo < 0 || i.hi >= read.buffer.shape()[d]) return false;
  }
  return true;
}

struct Found {
  Operands operands;
  double elements = 0;  // of the largest new tensor
};

// Nothing if the stage is not of the form that the algorithm computes.
std::optional<Found> find_form(const State& s, const te::ComputeOp& op, Algorithm algorithm) {
  if (is_winograd(algorithm)) {
    const auto taps = find_taps(op, row_of(algorithm).stride);
    if (!taps) return std::nullopt;
    return Found{*taps, winograd_elements(op, *taps, algorithm)};
  }
  if (algorithm == Algorithm::kIm2col) {
    const auto patches = find_patches(s, op);
    return patches ? std::optional(Found{*patches, patches->elements}) : std::nullopt;
  }
  if (algorithm == Algorithm::kPhases) {
    const auto dilated = find_dilated(op);
    return dilated ? std::optional(Found{*dilated, dilated->elements}) : std::nullopt;
  }
  if (algorithm == Algorithm::kBfloat16) {
    const auto both = find_narrowable(s, op);
    return both ? std::optional(Found{*both, 0}) : std::nullopt;
  }
  const auto product = find_product(s, op);
  if (!product) return std::nullopt;
  return Found{*product, strassen_elements(op, *product)};
}

}  // namespace

Result<void> Variant::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  const Stage& st = s[stage];
  if (st.loops_touched() || !st.layout.is_identity() || st.place != Place::kRoot)
    return Illegal{.code = IllegalCode::kLoopsTransformed, .stage = stage.id};
  TENON_TRY(check_hosts_nothing(s, stage));
  const Illegal no{.code = IllegalCode::kBadVariant,
                   .stage = stage.id,
                   .value = static_cast<int64_t>(algorithm)};
  if (algorithm == Algorithm::kGemm) {
    const auto g = find_gemm(s, *st.op);
    const bool inside =
        g && reads_inside(*st.op, *g->slow.read) && reads_inside(*st.op, *g->fast.read);
    return inside && gemm_elements(*g) < static_cast<double>(te::kMaxElements) ? Result<void>()
                                                                               : no;
  }
  const auto found = find_form(s, *st.op, algorithm);
  if (!found || found->elements >= static_cast<double>(te::kMaxElements)) return no;
  if (!reads_inside(*st.op, *found->operands.x)) return no;
  const StageId w = s.owner(found->operands.w->buffer);
  const StageId x = s.owner(found->operands.x->buffer);
  if (w < 0 || x < 0 || w == x || !s.stage(w).constant || !untouched(s, w)) return no;
  if (s.readers(w).size() != 1) return no;
  return {};
}

void Variant::apply(State& s) const {
  if (is_winograd(algorithm)) return compute_by_winograd(s, stage.id, algorithm);
  if (algorithm == Algorithm::kIm2col) return compute_by_im2col(s, stage.id);
  if (algorithm == Algorithm::kGemm) return compute_by_gemm(s, stage.id);
  if (algorithm == Algorithm::kPhases) return compute_by_phases(s, stage.id);
  if (algorithm == Algorithm::kBfloat16) return compute_in_bfloat16(s, stage.id);
  compute_by_strassen(s, stage.id);
}

}  // namespace tenon::schedule
