// SPDX-License-Identifier: Apache-2.0
// Element-wise chains and data movement: everything inlined into the output, which takes the layout of the tensors that
// it is computed from element by element.
#include <algorithm>
#include <functional>
#include <numeric>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"

namespace tenon::templates {

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

// The read is at the op's own axes up to a shift, as in concatenation; or it moves positions of one channel, as
// resizing does.
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

// Any layout that all tensors share is as good as another; what is read of small ones does not matter.
bool is_flexible(const te::ComputeOp& op, const std::vector<te::Access>& accesses) {
  const auto elements = [](const te::Tensor& t) {
    return std::accumulate(t.shape().begin(), t.shape().end(), int64_t{1}, std::multiplies<>());
  };
  return std::all_of(accesses.begin(), accesses.end(), [&](const te::Access& a) {
    return keeps_channels(op, a) || elements(a.tensor) * 4 <= elements(op.output);
  });
}

// n c y x read at n y x c of the op, or n y x c at n c y x: axis `axis(d)` of the op is dimension d.
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

// In blocks of channels, whole vectors of them are moved where channels go to the end or come from there.
std::optional<layout::Layout> in_blocks(const te::Tensor& t, const target::Target& target) {
  const int64_t block = default_block(t.shape()[1], t.dtype().bytes(), target);
  if (block < 2 || t.shape()[1] % block != 0) return std::nullopt;
  return blocked(t.shape(), block);
}

// From blocks of channels to the plain order: vectors of channels are read, and tiles of them turned and stored.
//   n c y x  =>  n c.0 (y x).0 (y x).1 c.1, the last a vector, the one before it unrolled
bool unblock(PlanWriter& p, const te::ComputeOp& op, const te::Tensor& from) {
  const auto it = p.request().fixed.find(from.name());
  if (it == p.request().fixed.end() || op.axes.size() < 3 || from.dtype().bytes() != 4)
    return false;
  const int64_t block = block_of(it->second, 1).value_or(1);
  const int64_t channels = op.axes[1].extent;
  if (block < 4 || block > p.target().lanes(4) || channels % block != 0) return false;
  const std::string out = op.name(), n = op.axes[0].var.name(), c = op.axes[1].var.name();
  std::vector<std::string> spatial;
  std::string at;
  int64_t positions = 1;
  for (size_t d = 2; d < op.axes.size(); ++d) {
    spatial.push_back(op.axes[d].var.name());
    at += (at.empty() ? "" : "@") + spatial.back();
    positions *= op.axes[d].extent;
  }
  p.knobs()["v"] = block;
  p.knobs()["parts"] = arith::ceil_div(positions, 16);
  if (spatial.size() > 1) p.line("fuse {} [{}]", out, comma(spatial));
  p.line("split {} {} [$v]\nsplit {} {} [$parts] parts", out, c, out, at);
  p.line("reorder {} [{}, {}.0, {}.0, {}.1, {}.1]", out, n, c, at, at, c);
  p.line("unroll {} {}.1\nvectorize {} {}.1", out, at, out, c);
  deal_out(p, out, {{n, op.axes[0].extent}, {c + ".0", channels / block}},
           op.axes[0].extent * channels / block * positions);
  return true;
}

}  // namespace

std::optional<Plan> plan_elementwise(const schedule::State& initial, const Request& request) {
  const te::ComputeDag& dag = initial.dag();
  if (dag.outputs.size() != 1) return std::nullopt;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) return std::nullopt;
  }
  const std::string out = dag.outputs[0].name();
  PlanWriter p(initial, request);
  for (const te::OpRef& o : dag.ops) {
    if (o->name() != out) p.line("compute_inline {}", o->name());
  }
  if (p.refused()) return p.take();
  const te::ComputeOp op = p.now(out);
  const auto accesses = te::accesses(op);
  std::vector<std::string> alike;  // free tensors, best stored like the output
  std::optional<layout::Layout> asked;
  for (const te::Input& in : dag.inputs) {
    const auto it = request.fixed.find(in.tensor.name());
    const bool same = in_place(op, accesses, in.tensor);
    if (same && it == request.fixed.end()) alike.push_back(in.tensor.name());
    if (same && it != request.fixed.end() && !asked) asked = it->second;
  }
  if (const auto it = request.fixed.find(out); it != request.fixed.end()) asked = it->second;
  p.store_fixed_inputs();
  for (const te::Access& a : accesses) {
    if (!asked && from_channels_last(op, a)) asked = in_blocks(op.output, p.target());
    if (request.fixed.contains(a.tensor.name()) || !to_channels_last(op, a) ||
        dag.readers(a.tensor).size() > 1)
      continue;
    if (const auto blocks = in_blocks(a.tensor, p.target())) p.store(a.tensor.name(), *blocks);
  }
  if (asked) {
    p.store(out, *asked);
    for (const std::string& s : alike) p.store(s, *asked);
  }
  const bool copies = op.body.as<ir::Load>() != nullptr && dag.inputs.size() == 1 &&
                      in_place(op, accesses, dag.inputs[0].tensor);
  const bool to_plain = asked && layout::same_storage(*asked, layout::Layout(op.output.shape()));
  if (!copies || !to_plain || !unblock(p, op, dag.inputs[0].tensor)) loop_over_storage(p, out);
  if (is_flexible(op, accesses)) p.set_flexible();
  return p.take();
}

}  // namespace tenon::templates
