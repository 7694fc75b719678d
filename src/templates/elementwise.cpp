// SPDX-License-Identifier: Apache-2.0
// Element-wise chains and data movement: everything inlined into the output, which takes the layout
// of the tensors that it is computed from element by element.
#include <algorithm>
#include <functional>
#include <numeric>

#include "ir/visit.h"
#include "te/access.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Builder;
using space::Loop;
using space::StageRef;

namespace {

// Every read of the tensor is at the op's own axes.
bool in_place(const te::ComputeOp& op, const std::vector<te::Access>& accesses,
              const te::Tensor& t) {
  bool found = false;
  for (const te::Access& a : accesses) {
    if (!a.tensor.same_as(t)) continue;
    found = true;
    if (a.indices.size() != op.axes.size() || t.shape() != op.output.shape()) return false;
    for (size_t d = 0; d < a.indices.size(); ++d) {
      if (!a.indices[d].same_as(op.axes[d].var) && op.axes[d].extent > 1) return false;
    }
  }
  return found;
}

// The read is at the op's own axes up to a shift, as in concatenation; or it moves positions of one
// channel, as resizing does.
bool keeps_channels(const te::ComputeOp& op, const te::Access& a) {
  if (a.indices.size() != op.axes.size()) return false;
  const auto own = [&](size_t d) {
    const arith::Linear l = arith::to_linear(a.indices[d]);
    return l.terms.empty() || (l.terms.size() == 1 && l.coefficient(op.axes[d].var.node()) == 1);
  };
  const auto depends = [&](size_t d, size_t axis) {
    return ir::uses_var(a.indices[d], op.axes[axis].var.node());
  };
  bool same = true;  // in every dimension
  for (size_t d = 0; d < op.axes.size(); ++d) same = same && own(d);
  if (same) return true;
  if (op.axes.size() < 3 || !own(0) || !own(1)) return false;
  for (size_t d = 2; d < op.axes.size(); ++d) {
    if (depends(d, 0) || depends(d, 1)) return false;
  }
  return true;
}

// Any layout that all tensors share is as good as another; what is read of small ones does not
// matter.
bool is_flexible(const te::ComputeOp& op, const std::vector<te::Access>& accesses) {
  const auto elements = [](const te::Tensor& t) {
    return std::accumulate(t.shape().begin(), t.shape().end(), int64_t{1}, std::multiplies<>());
  };
  return std::all_of(accesses.begin(), accesses.end(), [&](const te::Access& a) {
    return keeps_channels(op, a) || elements(a.tensor) * 4 <= elements(op.output);
  });
}

// n c y x read at n y x c of the op, or n y x c at n c y x: axis `axis(d)` of the op is dimension
// d.
bool turns(const te::ComputeOp& op, const te::Access& a,
           const std::function<size_t(size_t)>& axis) {
  const size_t rank = op.axes.size();
  if (rank < 4 || a.indices.size() != rank) return false;
  for (size_t d = 0; d < rank; ++d) {
    const te::Axis& at = op.axes[axis(d)];
    if (!a.indices[d].same_as(at.var) && !(at.extent == 1 && ir::is_const(a.indices[d], 0)))
      return false;
  }
  return true;
}
bool to_channels_last(const te::ComputeOp& op, const te::Access& a) {
  const size_t last = op.axes.size() - 1;
  return turns(op, a, [&](size_t d) { return d == 0 ? 0 : d == 1 ? last : d - 1; });
}
bool from_channels_last(const te::ComputeOp& op, const te::Access& a) {
  const size_t last = op.axes.size() - 1;
  return turns(op, a, [&](size_t d) { return d == 0 ? 0 : d == last ? 1 : d + 1; });
}

// In blocks of channels, whole vectors of them are moved where channels go to the end or come from
// there.
std::optional<layout::Layout> in_blocks(const te::Tensor& t, const target::Cpu& target) {
  const int64_t block = default_block(t.shape()[1], block_bytes(t.dtype()), target);
  if (block < 2 || t.shape()[1] % block != 0) return std::nullopt;
  return blocked(t.shape(), block);
}

// From blocks of channels to the plain order: vectors of channels are read, and tiles of them
// turned and stored.
//   n c y x  =>  n c.0 (y x).0 (y x).1 c.1, the last a vector, the one before it unrolled
bool unblock(Builder& b, const Request& request, const te::ComputeOp& op, const te::Tensor& from) {
  const auto it = request.fixed.find(from.name());
  if (it == request.fixed.end() || op.axes.size() < 3 || from.dtype().bytes() != 4) return false;
  const int64_t block = block_of(it->second, 1).value_or(1);
  const int64_t channels = op.axes[1].extent;
  if (block < 4 || block > b.target().cpu().lanes(4) || channels % block != 0) return false;
  const StageRef out = b.stage(op.name());
  std::vector<Loop> spatial;
  for (size_t d = 2; d < op.axes.size(); ++d) spatial.push_back(b.axis(out, d));
  const Loop n = b.axis(out, 0), at = b.fuse(spatial);
  const int64_t positions = b.extent(at);
  const auto [c, lanes] = b.split<2>(b.axis(out, 1), {block});
  const auto [tiles, turned] = b.parts(at, arith::ceil_div(positions, 16));
  b.reorder({n, c, tiles, turned, lanes});
  b.unroll(turned);
  b.vectorize(lanes);
  deal_out(b, {n, c}, op.axes[0].extent * channels / block * positions);
  return true;
}

// The layout asked for the output, or that of an input which is read in place.
std::optional<layout::Layout> find_asked(const Request& request, const te::ComputeDag& dag,
                                         const te::ComputeOp& op,
                                         const std::vector<te::Access>& accesses) {
  if (const auto it = request.fixed.find(op.name()); it != request.fixed.end()) return it->second;
  for (const te::Input& in : dag.inputs) {
    const auto it = request.fixed.find(in.tensor.name());
    if (it != request.fixed.end() && in_place(op, accesses, in.tensor)) return it->second;
  }
  return std::nullopt;
}

// Returns the layout that is asked for the output, or suits it; nothing if any does.
std::optional<layout::Layout> choose_edges(Builder& b, const Request& request,
                                           const te::ComputeOp& op,
                                           const std::vector<te::Access>& accesses) {
  const te::ComputeDag& dag = b.dag();
  auto asked = find_asked(request, dag, op, accesses);
  store_fixed_inputs(b, request);
  for (const te::Access& a : accesses) {
    if (!asked && from_channels_last(op, a)) asked = in_blocks(op.output, b.target().cpu());
    if (request.fixed.contains(a.tensor.name()) || !to_channels_last(op, a) ||
        dag.readers(a.tensor).size() > 1)
      continue;
    if (const auto blocks = in_blocks(a.tensor, b.target().cpu()))
      b.store(b.stage(a.tensor.name()), *blocks);
  }
  if (!asked) return asked;
  b.store(b.stage(op.name()), *asked);
  for (const te::Input& in : dag.inputs) {
    if (!request.fixed.contains(in.tensor.name()) && in_place(op, accesses, in.tensor))
      b.store(b.stage(in.tensor.name()), *asked);
  }
  return asked;
}

}  // namespace

std::optional<Written> write_elementwise(Builder& b, const Request& request) {
  const te::ComputeDag& dag = b.dag();
  if (dag.outputs.size() != 1) return std::nullopt;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) return std::nullopt;
  }
  const StageRef out = b.stage(dag.outputs[0].name());
  for (const te::OpRef& o : dag.ops) {
    if (b.stage(o->name()) != out) b.compute_inline(b.stage(o->name()));
  }
  if (b.refused()) return Written{};
  const te::ComputeOp op = b.now(out);
  const auto accesses = te::accesses(op);
  const auto asked = choose_edges(b, request, op, accesses);
  const bool copies = op.body.as<ir::Load>() != nullptr && dag.inputs.size() == 1 &&
                      in_place(op, accesses, dag.inputs[0].tensor);
  const bool to_plain = asked && layout::same_storage(*asked, layout::Layout(op.output.shape()));
  if (!copies || !to_plain || !unblock(b, request, op, dag.inputs[0].tensor))
    loop_over_storage(b, out);
  return Written{.flexible = is_flexible(op, accesses)};
}

}  // namespace tenon::templates
