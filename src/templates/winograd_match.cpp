// SPDX-License-Identifier: Apache-2.0
#include "templates/winograd_match.h"

#include <algorithm>

#include "schedule/algorithms/phases.h"
#include "schedule/algorithms/winograd.h"
#include "schedule/primitives/variant.h"
#include "templates/algorithm_choice.h"

namespace tenon::templates {

using schedule::Algorithm;

namespace {

// The convolution itself or, of a dilated one, the one that `variant phases` makes of it.
bool find_inner(const schedule::State& initial, WinogradConv& c) {
  schedule::State s = initial;
  schedule::StageId id = initial.find(c.chain.anchor->name());
  const te::ComputeOp& op = *c.chain.anchor;
  if (const auto dilated = schedule::find_dilated(op); dilated && op.axes.size() > 2) {
    const schedule::Variant split{{id}, Algorithm::kPhases};
    if (!split.check(s)) return false;
    split.apply(s);
    c.phases = dilated->phases;
    id = s.find(op.name() + ".u");
  }
  c.inner = s.stage(id).op;
  for (const int64_t stride : {1, 2}) {
    const Algorithm any = stride == 2 ? Algorithm::kPolyphase2 : Algorithm::kWinograd2;
    const schedule::Variant step{{id}, any};
    if (!step.check(s)) continue;
    const auto taps = schedule::find_taps(*c.inner, stride);
    c.stride = stride;
    c.dims = taps->dims;
    c.others = taps->others;
    return true;
  }
  return false;
}

struct Work {
  double channels = 1;  // pairs of input and output channels, with the taps of the other dimensions
  double outside = 1;   // positions of the other dimensions, and images
  std::vector<int64_t> extents;
};

Work work_of(const WinogradConv& c) {
  const te::ComputeOp& op = *c.inner;
  Work w;
  w.channels = static_cast<double>(op.axes[1].extent * op.reduce_axes[0].extent);
  w.outside = static_cast<double>(op.axes[0].extent);
  for (size_t d = 0; d < c.others; ++d) {
    w.outside *= static_cast<double>(op.axes[2 + d].extent);
    w.channels *= static_cast<double>(op.reduce_axes[1 + d].extent);
  }
  for (size_t d = 2 + c.others; d < op.axes.size(); ++d) w.extents.push_back(op.axes[d].extent);
  return w;
}

// Of the convolution as it stands: the phases of a dilated one do not fill their images.
double direct_cost(const WinogradConv& c, const target::Cpu& t) {
  const te::ComputeOp& op = *c.chain.anchor;
  double weights = static_cast<double>(op.axes[1].extent), positions = 1;
  for (const te::Axis& a : op.reduce_axes) weights *= static_cast<double>(a.extent);
  for (size_t d = 0; d < op.axes.size(); ++d)
    positions *= d == 1 ? 1 : static_cast<double>(op.axes[d].extent);
  return overlapped(2 * positions * weights * c.taps_used, 4 * weights, t);
}

double winograd_cost(const WinogradConv& c, Algorithm a, const target::Cpu& t) {
  constexpr double kRate = 0.9;    // of the products, against the direct kernel's
  constexpr double kBytes = 12.0;  // moved for one transformed element of a tile
  const Work w = work_of(c);
  const schedule::AlgorithmRow& row = schedule::row_of(a);
  double points = 1, tiles = w.outside;
  for (const int64_t e : w.extents) {
    points *= static_cast<double>(schedule::points_of(row));
    tiles *= static_cast<double>(arith::ceil_div(e, row.tile));
  }
  const te::ComputeOp& op = *c.inner;
  const auto both = static_cast<double>(op.axes[1].extent + op.reduce_axes[0].extent);
  return overlapped(2 * points * tiles * w.channels / kRate, 4 * points * w.channels, t) +
         t.rates.flops_per_cached_byte * kBytes * points * tiles * both / t.cores;
}

}  // namespace

std::optional<WinogradConv> match_winograd(const schedule::State& initial) {
  const te::ComputeDag& dag = initial.dag();
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  WinogradConv c;
  c.chain = *chain;
  const te::ComputeOp& op = *c.chain.anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || !find_inner(initial, c)) return std::nullopt;
  const auto padding = find_padding(dag, parts->x.tensor);
  c.x = padding ? padding->source : parts->x.tensor;
  c.w = parts->w.tensor;
  if (dag.producer(c.x) != nullptr) return std::nullopt;
  if (padding) c.taps_used = used_taps(op, parts->x, *padding, 0, op.axes.size() - 2);
  c.like_output = stored_like_output(dag, c.chain);
  return c;
}

std::optional<Algorithm> choose_winograd(const WinogradConv& c, const Request& request,
                                         const target::Cpu& t) {
  constexpr double kWorthIt = 0.9;
  return choose_algorithm(request, direct_share(request, t) * direct_cost(c, t), kWorthIt,
                          [&](Algorithm a) -> std::optional<double> {
                            if (!schedule::is_winograd(a) || schedule::row_of(a).stride != c.stride)
                              return std::nullopt;
                            return winograd_cost(c, a, t);
                          });
}

}  // namespace tenon::templates
