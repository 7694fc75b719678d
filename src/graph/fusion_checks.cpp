// SPDX-License-Identifier: Apache-2.0
#include "graph/fusion_checks.h"

#include <algorithm>
#include <unordered_map>
#include <variant>

#include "graph/classify.h"
#include "graph/define.h"
#include "ir/visit.h"
#include "te/access.h"
#include "te/row_operand.h"
#include "te/splice.h"

namespace tenon::graph {
namespace {

constexpr int64_t kLeastRows = 8;      // of what is not stored
constexpr double kMostWritten = 8000;  // expressions of a stage with all maps inlined
constexpr int64_t kMostTaps = 25;      // of a depthwise convolution in a pair: they are unrolled

// How large the largest stage becomes with every map in front of it written into it. Each map that
// reads the one before it twice doubles it.
double written_out(const te::ComputeDag& dag) {
  std::unordered_map<const ir::BufferNode*, double> sizes;
  double largest = 0;
  for (const te::OpRef& op : dag.ops) {
    double size = 0;
    ir::visit(op->body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      const auto it = l == nullptr ? sizes.end() : sizes.find(l->buffer.get());
      size += it == sizes.end() ? 1 : it->second;
    });
    if (!op->is_reduction()) sizes.emplace(op->output.get(), size);
    largest = std::max(largest, size);
  }
  return largest;
}

// A row of scores, and a few of both operands, in the memory that the target has for them.
bool attention_fits(const te::Attention& a, const target::Limits& limits) {
  if (limits.fused_attention == 1) return true;
  const int64_t width = std::max(a.result->axes.back().extent, a.scores->reduce_axes[0].extent);
  return a.scores->output.dtype().bytes() * std::max(a.scores->axes.back().extent, 4 * width) <=
         limits.fused_attention;
}

}  // namespace

bool is_small(const te::ComputeDag& dag) {
  return dag.ops.size() <= kMostOps && written_out(dag) <= kMostWritten;
}

bool is_affine(const te::ComputeDag& dag) {
  const te::ComputeDag flat = te::inlined(dag, [](const te::ComputeOp&) { return true; });
  for (const te::OpRef& op : flat.ops) {
    if (!op->is_reduction()) continue;
    for (const te::Access& access : te::accesses(*op)) {
      if (!access.affine) return false;
    }
  }
  return true;
}

bool keeps_columns(const te::ComputeDag& dag) {
  const te::ComputeDag flat = te::inlined(dag, [](const te::ComputeOp&) { return true; });
  return std::all_of(flat.ops.begin(), flat.ops.end(), [](const te::OpRef& op) {
    if (!op->is_reduction() || op->axes.empty()) return true;
    const auto all = te::accesses(*op);
    return std::any_of(all.begin(), all.end(), [&](const te::Access& a) {
      return std::any_of(a.indices.begin(), a.indices.end(),
                         [&](const ir::Expr& i) { return i.same_as(op->axes.back().var); });
    });
  });
}

bool is_row_operand(const te::ComputeDag& dag, const target::Limits& limits) {
  const auto found = te::find_row_operand(dag);
  if (!found) return false;
  const int64_t bytes = found->w.dtype().bytes();
  const int64_t length = found->rows.back()->axes.back().extent;
  return bytes * found->w.get()->elements() <= limits.fused_weights_bytes &&
         bytes * length <= limits.fused_row_bytes &&
         found->rows.back()->output.get()->elements() >= kLeastRows * length;
}

bool attention_pays(const te::Attention& a, const target::Limits& limits) {
  return attention_fits(a, limits) && a.scores->axes[a.row_axis()].extent >= kLeastRows &&
         a.scores->axes.back().extent >= kLeastRows && a.result->axes.back().extent > 1 &&
         a.place[a.row_axis()] != te::Attention::kNone && a.place.back() != te::Attention::kNone;
}

const Node* only_conv(const Graph& g, const std::vector<NodeId>& nodes) {
  const Node* found = nullptr;
  for (const NodeId at : nodes) {
    const Node& n = g.nodes[static_cast<size_t>(at)];
    if (std::holds_alternative<Conv>(n.op)) {
      if (found != nullptr || g.value(n.outputs[0]).dtype != ir::kF32 ||
          g.value(n.inputs[1]).shape.size() != 4)
        return nullptr;
      found = &n;
    } else if (classify(define(g, n)) != Kind::kMap) {
      return nullptr;
    }
  }
  return found;
}

bool is_depthwise(const Graph& g, const Node& conv, const target::Limits& limits) {
  const Shape& x = g.value(conv.inputs[0]).shape;
  const Shape& w = g.value(conv.inputs[1]).shape;
  return g.value(conv.inputs[1]).constant() && std::get<Conv>(conv.op).params.groups == x[1] &&
         w[0] == x[1] && w[1] == 1 && w[2] * w[3] <= kMostTaps && x[1] % limits.channel_block == 0;
}

bool is_pointwise(const Graph& g, const Node& conv, const target::Limits& limits) {
  const Shape& w = g.value(conv.inputs[1]).shape;
  const te::ConvParams& p = std::get<Conv>(conv.op).params;
  const auto all = [](const std::vector<int64_t>& v, int64_t of) {
    return std::all_of(v.begin(), v.end(), [of](int64_t e) { return e == of; });
  };
  return g.value(conv.inputs[1]).constant() && w[0] % limits.channel_block == 0 && w[2] == 1 &&
         w[3] == 1 && p.groups == 1 && all(p.stride, 1) && all(p.pad_before, 0) &&
         all(p.pad_after, 0);
}

}  // namespace tenon::graph
