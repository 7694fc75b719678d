// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "arith/linear.h"
#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/text.h"

namespace tenon::graph {
namespace {

struct Border {
  std::vector<int64_t> before, after;
};

// The border that the dag's one op adds if it is te::pad with zeros: it says the same as one that is made so.
std::optional<Border> border_of(const te::ComputeDag& dag) {
  if (dag.ops.size() != 1 || dag.inputs.size() != 1) return std::nullopt;
  const te::ComputeOp& op = *dag.ops[0];
  const auto* chosen = op.body.as<ir::Select>();
  const auto* load = chosen == nullptr ? nullptr : chosen->on_true.as<ir::Load>();
  if (load == nullptr || load->indices.size() != op.axes.size()) return std::nullopt;
  Border b;
  for (size_t d = 0; d < op.axes.size(); ++d) {
    const arith::Linear l = arith::to_linear(load->indices[d]);
    b.before.push_back(-l.constant);
    b.after.push_back(op.axes[d].extent + l.constant - load->buffer.shape()[d]);
    if (b.before.back() < 0 || b.after.back() < 0) return std::nullopt;
  }
  te::Builder made;
  const te::Tensor& x = dag.inputs[0].tensor;
  made.output(
      te::pad(made, op.name(), made.input(x.name(), x.dtype(), x.shape()), b.before, b.after));
  const bool same = te::to_text(made.finish(dag.name)) == te::to_text(dag);
  return same ? std::optional(b) : std::nullopt;
}

bool spatial_only(const Border& b) {
  return b.before.size() > 2 && b.before[0] + b.before[1] + b.after[0] + b.after[1] == 0;
}

void widen(te::ConvParams& p, const Border& b) {
  const size_t rank = b.before.size() - 2;
  p.pad_before.resize(rank, 0);
  p.pad_after.resize(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    p.pad_before[d] += b.before[2 + d];
    p.pad_after[d] += b.after[2 + d];
  }
}

bool is_conv_of(const Node& n, ValueId v) {
  const auto* conv = std::get_if<Conv>(&n.op);
  return conv != nullptr && conv->params.pad_value == 0 && n.inputs[0] == v && n.inputs[1] != v;
}

}  // namespace

void fold_padding(Graph& g, const PassContext&) {
  const auto readers = g.readers();
  const auto is_output = g.output_flags();
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node pad = g.nodes[i];
    const auto* compute = std::get_if<Compute>(&pad.op);
    if (compute == nullptr || pad.outputs.size() != 1) continue;
    const ValueId padded = pad.outputs[0];
    if (is_output[static_cast<size_t>(padded)]) continue;
    const auto& by = readers[static_cast<size_t>(padded)];
    const bool all = std::all_of(by.begin(), by.end(), [&](NodeId n) {
      return is_conv_of(g.nodes[static_cast<size_t>(n)], padded);
    });
    if (by.empty() || !all) continue;
    const auto border = border_of(*compute->dag);
    if (!border || !spatial_only(*border)) continue;
    for (const NodeId id : by) {
      Node& conv = g.nodes[static_cast<size_t>(id)];
      widen(std::get<Conv>(conv.op).params, *border);
      conv.inputs[0] = pad.inputs[0];
      adopt_names(conv, pad.nodes);
    }
  }
  g.compact();
}

}  // namespace tenon::graph
