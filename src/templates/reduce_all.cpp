// SPDX-License-Identifier: Apache-2.0
// A reduction to few elements (norms, means over everything): the reduced range is cut into
// near-equal chunks for the cores, each chunk runs in u*v lanes, lanes are combined once per chunk
// and chunks once at the end.
#include <algorithm>

#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Loop;
using space::StageRef;

namespace {

// The axes of `stage` stand as the op has them: chunks are the first dimension of the partial
// results, lanes the last.
void sum_in_chunks(space::Builder& b, StageRef stage, const te::ComputeOp& op, int64_t v,
                   bool parallel) {
  const size_t rank = op.axes.size();
  std::vector<Loop> reduced;
  for (size_t d = 0; d < op.reduce_axes.size(); ++d) reduced.push_back(b.axis(stage, rank + d));
  const Loop k = b.fuse(reduced);
  const Loop chunks = b.parts(k, parallel ? b.target().cpu().cores : 1)[0];
  const StageRef by_chunk = b.rfactor(chunks, 0);
  const Loop in_lane = b.split<2>(b.axis(by_chunk, rank + 1), {std::min<int64_t>(64, 4 * v)})[1];
  const StageRef by_lane = b.rfactor(in_lane, static_cast<int64_t>(rank) + 1);
  b.vectorize(b.axis(by_chunk, rank + 1));
  const auto [unrolled, lanes] = b.split<2>(b.axis(by_lane, rank + 1), {v});
  b.reorder({b.axis(by_lane, rank + 2), unrolled, lanes});
  b.unroll(unrolled);
  b.vectorize(lanes);
  b.compute_at(by_lane, b.axis(by_chunk, rank));
  if (parallel) b.parallel(b.axis(by_chunk, 0));
}

}  // namespace

std::optional<Written> write_reduce_all(space::Builder& b, const Request& request) {
  const auto chain = find_chain(b.dag());
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  int64_t outputs = 1;
  for (const te::Axis& a : op.axes) outputs *= a.extent;
  int64_t length = 1;
  for (const te::Axis& a : op.reduce_axes) length *= a.extent;
  const int64_t v = b.target().cpu().lanes(op.output.dtype().bytes());
  if (v < 2 || outputs > 16 || length < 64 * v) return std::nullopt;
  if (!may_be_plain(request, b.dag().outputs[0])) return std::nullopt;
  for (const te::ComputeOp* i : chain->inlined) {
    if (i != &op) b.compute_inline(b.stage(i->name()));
  }
  store_fixed_inputs(b, request);
  sum_in_chunks(b, b.stage(op.name()), op, v, length >= 1 << 14);
  return Written{};
}

}  // namespace tenon::templates
