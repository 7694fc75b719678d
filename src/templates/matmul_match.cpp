// SPDX-License-Identifier: Apache-2.0
#include "templates/matmul_match.h"

#include "ir/visit.h"
#include "templates/edges.h"

namespace tenon::templates {

namespace {

void find_row_axis(const te::ComputeOp& op, Matmul& m) {
  bool found = false;
  for (size_t d = 0; d + 1 < op.axes.size(); ++d) {
    if (m.w.strides[d] != 0) {
      m.batch.push_back(d);
      continue;
    }
    m.shared.push_back(d);
    if (!found || op.axes[d].extent >= op.axes[m.row].extent) m.row = d;
    found = true;
  }
  if (!found) {  // one row of each product: any axis will do
    m.row = m.batch.back();
    m.batch.pop_back();
  }
  std::erase(m.shared, m.row);
}

}  // namespace

std::optional<Matmul> find_matmul(const te::ComputeDag& dag, const target::Cpu& t) {
  Matmul m;
  if (const auto operand = te::find_row_operand(dag)) m.rows = rows_before(*operand, t);
  auto chain = m.rows ? find_chain(dag, m.rows->ops) : find_chain(dag);
  if (!chain) return std::nullopt;
  m.chain = *chain;
  const te::ComputeOp& op = *m.chain.anchor;
  const auto parts = find_contraction(dag, op, true);
  if (!parts || op.axes.size() < 2 || op.reduce_axes.size() != 1 || !parts->x.affine ||
      !parts->w.affine)
    return std::nullopt;
  if (dag.producer(parts->w.tensor) != nullptr) return std::nullopt;
  m.x = parts->x;
  m.w = parts->w;
  const size_t j = op.axes.size() - 1;
  if (m.x.strides[j] != 0 || m.w.strides[j] == 0) return std::nullopt;
  find_row_axis(op, m);
  bool has_j = false;
  bool has_k = false;
  for (size_t d = 0; d < m.w.indices.size(); ++d) {
    const auto axis = plain_axis(m.w.indices[d], op);
    if (axis == j) {
      m.j_dim = d;
      has_j = true;
    } else if (!has_k && ir::uses_var(m.w.indices[d], op.reduce_axes[0].var.node())) {
      m.k_dim = d;
      has_k = true;
    } else {
      m.other_dims.push_back(d);
    }
  }
  if (!has_j || !has_k) return std::nullopt;
  for (const te::Input& in : dag.inputs) m.constant |= in.constant && in.tensor.same_as(m.w.tensor);
  m.row_stride_bytes = m.x.strides[m.row] * m.x.tensor.dtype().bytes();
  return m;
}

bool lies_in_rows(const Matmul& m, const Request& request) {
  const size_t last = m.chain.anchor->axes.size() - 1;
  return !m.constant && m.w.strides[last] == 1 && may_be_plain(request, m.w.tensor);
}

// The copy is written once and read once more, all of it from a cache that holds it. Where it lies, a
// panel is one short run of lines after another, which is not fetched ahead as well: the more so the
// shorter the runs are.
bool pays_to_pack(const Matmul& m, int64_t tiles, int64_t columns, const target::Cpu& t) {
  constexpr int64_t kOneLine = 4, kMoreLines = 6;  // readings that cost as much as a copy
  const bool one = columns * m.w.tensor.dtype().bytes() <= t.line_bytes;
  return tiles > (one ? kOneLine : kMoreLines);
}

bool has_groups(const Matmul& m, int64_t group) {
  const te::Axis& k = m.chain.anchor->reduce_axes[0];
  return m.constant && m.x.tensor.dtype().bits == m.w.tensor.dtype().bits &&
         k.extent % group == 0 && m.x.indices.back().same_as(k.var) &&
         m.w.indices[m.k_dim].same_as(k.var);
}

}  // namespace tenon::templates
