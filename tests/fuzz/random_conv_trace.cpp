// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fuzz/random_conv.h"
#include "fuzz/trace_layouts.h"
#include "schedule/algorithms/algorithms.h"
#include "templates/template.h"

namespace tenon::fuzz {
namespace {

using namespace schedule;  // NOLINT(google-build-using-namespace): layout primitives and stages

// Those that fit few convolutions are taken wherever they fit.
void take_variant(TraceDrawer& d, Counts& counts) {
  const StageRef c{d.state().find("C")};
  std::vector<Step> rare, common;
  for (const AlgorithmRow& row : algorithms()) {
    const Step v = Variant{c, row.algorithm};
    const bool fits_most = row.algorithm == Algorithm::kIm2col ||
                           row.algorithm == Algorithm::kBfloat16 ||
                           row.algorithm == Algorithm::kGemm;
    if (schedule::check(v, d.state())) (fits_most ? common : rare).push_back(v);
  }
  if (rare.empty() && common.empty()) return;
  const bool often = !rare.empty() && d.rng.chance(0.95);
  const Step step = d.rng.pick(often || common.empty() ? rare : common);
  Count& count = counts[row_of(std::get<Variant>(step).algorithm).name];
  ++count.proposed;
  count.accepted += d.take(step) ? 1 : 0;
}

// One to four steps on one stage; what a layout or the target forbids is left out.
void store(TraceDrawer& d, StageRef s) {
  for (int64_t n = d.rng.between(1, 4); n > 0 && !d.done(); --n) {
    switch (d.rng.between(0, 8)) {
      case 0:
        d.take(draw_layout_split(d, s));
        break;
      case 1:
        d.take(draw_layout_reorder(d, s));
        break;
      case 2:
        d.take(draw_layout_fuse(d, s));
        break;
      case 3:
        d.take(draw_layout_pad(d, s));
        break;
      case 4:
        d.take(draw_layout_unfold(d, s));
        break;
      case 5:
        d.take(draw_layout_store_at(d, s));
        break;
      case 6:
        pad_for_reader(d, s);
        break;
      case 7:
        unfold_for_reader(d, s);
        break;
      default:
        block_dim(d, s);
        break;
    }
  }
}

Drawn from_template(const State& initial, Rng& rng, Counts& counts) {
  templates::Request request;
  request.borders = rng.chance(0.5);
  if (rng.chance(0.5)) request.accuracy = templates::Accuracy::kFast;
  if (rng.chance(0.7))
    request.algorithm = rng.between(0, static_cast<int64_t>(schedule::algorithms().size()));
  Trace trace = templates::choose(initial, request).trace;
  ++counts["from templates"].proposed;
  ++counts["from templates"].accepted;
  State s = *replay(initial, trace);
  return {std::move(trace), std::move(s), ""};
}

}  // namespace

Drawn random_conv_trace(const State& initial, Rng& rng, Counts& counts) {
  if (rng.chance(0.12)) return from_template(initial, rng, counts);
  TraceOptions options;
  options.max_steps = 40;
  TraceDrawer d(initial, rng, options, &counts);
  if (rng.chance(0.6)) take_variant(d, counts);
  const std::vector<StageId> order = d.state().order();
  for (const StageId id : order) {
    if (rng.chance(0.6)) store(d, {id});
  }
  ++counts["stored otherwise"].proposed;
  const bool relaid = std::any_of(order.begin(), order.end(), [&](StageId id) {
    return !d.state().stage(id).layout.is_identity();
  });
  counts["stored otherwise"].accepted += relaid ? 1 : 0;
  for (int64_t n = rng.chance(0.5) ? 0 : rng.between(1, 3); n > 0 && !d.done(); --n)
    pick_weighted(loop_structures(), rng).build(d);
  return d.finish();
}

}  // namespace tenon::fuzz
