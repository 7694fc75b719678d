// SPDX-License-Identifier: Apache-2.0
#include "plan/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "schedule/algorithms/winograd.h"

namespace tenon::plan {
namespace {

using schedule::Algorithm;

bool is_sum_of_products(const te::ComputeOp& op) {
  const auto* product = op.body.as<ir::Binary>();
  return op.is_reduction() && op.combiner == ir::BinaryOp::kAdd && product != nullptr &&
         product->op == ir::BinaryOp::kMul && op.output.dtype() == ir::kF32;
}

std::span<const schedule::Step> until_last_variant(const schedule::Trace& trace) {
  size_t n = trace.size();
  while (n > 0 && !std::holds_alternative<schedule::Variant>(trace[n - 1])) --n;
  return {trace.data(), n};
}

// Products that are summed up to measure a kind: errors of deeper sums, which a model can ask for in a few bytes, grow with
// the root of the depth.
constexpr int64_t kDeepest = int64_t{1} << 18;

}  // namespace

std::optional<Errors::Kind> Errors::kind_of(const te::ComputeOp& op,
                                            std::optional<Algorithm> algorithm) {
  if (!is_sum_of_products(op)) return std::nullopt;
  Kind kind{algorithm, 0, 1};
  for (const te::Axis& a : op.reduce_axes) kind.depth *= a.extent;
  if (algorithm && schedule::row_of(*algorithm).error_factor == 1) kind.algorithm.reset();
  if (!algorithm || !schedule::is_winograd(*algorithm)) return kind;
  const auto taps = schedule::find_taps(op, schedule::row_of(*algorithm).stride);
  TENON_CHECK(taps.has_value()) << op.name() << " has no taps for Winograd's algorithm";
  kind.dims = taps->dims;
  for (size_t d = 0; d < kind.dims; ++d) kind.depth /= schedule::kWinogradTaps;
  return kind;
}

LayerError Errors::measured(const Kind& kind) {
  {
    const std::scoped_lock guard(lock_);
    if (const auto it = known_.find(kind); it != known_.end()) return it->second;
  }
  const int64_t depth = std::min(kind.depth, kDeepest);
  LayerError e;
  if (!kind.algorithm) {
    e = direct_error(depth);
  } else if (schedule::is_winograd(*kind.algorithm)) {
    e = winograd_error(*kind.algorithm, kind.dims, depth);
  } else if (*kind.algorithm == Algorithm::kBfloat16) {
    e = bfloat16_error(depth);
  } else {
    e = strassen_error(depth);
  }
  const double deeper = std::sqrt(static_cast<double>(kind.depth) / static_cast<double>(depth));
  e.relative *= deeper;
  e.direct *= deeper;
  const std::scoped_lock guard(lock_);
  return known_.emplace(kind, e).first->second;
}

std::optional<KernelError> Errors::of(const schedule::State& initial,
                                      const schedule::Trace& trace) {
  std::optional<KernelError> worst;
  const auto take = [&](const te::ComputeOp& op, std::optional<Algorithm> algorithm) {
    const auto kind = kind_of(op, algorithm);
    if (!kind) return;
    const LayerError e = measured(*kind);
    if (worst && worst->error.relative >= e.relative) return;
    worst = KernelError{algorithm ? schedule::row_of(*algorithm).name : "direct", algorithm, e};
  };
  // A stage that is computed by another algorithm is of that one's form when the step comes.
  std::set<schedule::StageId> done;
  schedule::State s = initial;
  for (const schedule::Step& step : until_last_variant(trace)) {
    if (const auto* v = std::get_if<schedule::Variant>(&step)) {
      take(*s[v->stage].op, v->algorithm);
      done.insert(v->stage.id);
    }
    schedule::apply(step, s);
  }
  for (const schedule::StageId id : initial.order()) {
    const schedule::Stage& st = initial.stage(id);
    if (!st.is_input() && !done.contains(id)) take(*st.op, std::nullopt);
  }
  return worst;
}

double most_in_layer(templates::Accuracy level, const LayerError& e) {
  switch (level) {
    case templates::Accuracy::kStrict:
      return 4 * e.direct;
    case templates::Accuracy::kDefault:
      return 1e-4;
    case templates::Accuracy::kFast:
      return 2e-2;
  }
  return 0;
}

bool allows(templates::Accuracy level, const LayerError& e) {
  return e.relative <= most_in_layer(level, e);
}

Verdict Errors::judge(templates::Accuracy level, const schedule::State& initial,
                      const schedule::Trace& trace) {
  Verdict v{of(initial, trace), 0, ""};
  if (!v.error) return v;
  v.allowed = most_in_layer(level, v.error->error);
  if (v.error->other && !allows(level, v.error->error)) {
    v.refused = fmt::format(
        "computed by {} it is off by {:.1e} of the largest value; --accuracy {} allows {:.1e}",
        v.error->algorithm, v.error->error.relative, to_string(level), v.allowed);
  }
  return v;
}

double most_in_network(templates::Accuracy level) {
  return level == templates::Accuracy::kFast ? std::numeric_limits<double>::infinity() : 1e-3;
}

std::string_view to_string(templates::Accuracy level) {
  switch (level) {
    case templates::Accuracy::kStrict:
      return "strict";
    case templates::Accuracy::kDefault:
      return "default";
    case templates::Accuracy::kFast:
      return "fast";
  }
  return "";
}

}  // namespace tenon::plan
