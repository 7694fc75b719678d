// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: channels in vectors, a tile of a few rows and columns in registers, the kernel unrolled so
// that its weights stay in registers and each input vector is loaded once for all outputs that need it.
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

// Rows and columns of the tile that fit beside the kernel's weights.
void choose_patch(int64_t taps, int64_t x, int64_t y, const target::Target& t, Knobs& knobs) {
  const int64_t room = std::max<int64_t>(
      1, t.vector_registers - std::min<int64_t>(taps, t.vector_registers / 2) - 2);
  const int64_t columns = std::min<int64_t>({x, 4, room});
  int64_t rows = std::min<int64_t>({y, room / columns, 3});
  if (rows == 3 && y % 3 != 0 && y % 2 == 0) rows = 2;
  knobs["xn"] = arith::ceil_div(x, columns);
  knobs["yn"] = arith::ceil_div(y, rows);
}

}  // namespace

std::optional<Plan> plan_depthwise(const te::ComputeDag& dag, const target::Target& t) {
  const auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || op.axes.size() != 4 || op.reduce_axes.size() != 2 || !parts->x.affine)
    return std::nullopt;
  // x[n, k, y.., x..] * w[k, 0, r, s]
  if (plain_axis(parts->x.indices[1], op) != size_t{1} ||
      plain_axis(parts->w.indices[0], op) != size_t{1})
    return std::nullopt;
  if (parts->w.indices.size() != 4 || !ir::is_const(parts->w.indices[1], 0)) return std::nullopt;
  const auto padding = find_padding(dag, parts->x.tensor);
  const te::Tensor x = padding ? padding->source : parts->x.tensor;
  if (dag.producer(x) != nullptr || dag.producer(parts->w.tensor) != nullptr) return std::nullopt;

  PlanWriter p;
  const int64_t channels = op.axes[1].extent;
  const int64_t v = choose_lanes(channels, op.output.dtype().bytes(), t);
  p.knobs() = {{"v", v}, {"vecs", arith::ceil_div(channels, v)}};
  choose_patch(op.reduce_axes[0].extent * op.reduce_axes[1].extent, op.axes[3].extent,
               op.axes[2].extent, t, p.knobs());

  const std::string out = chain->final->name();
  const std::string acc = op.name() + ".cache";
  const std::string w = parts->w.tensor.name();
  p.line("cache_write {} register", op.name());
  for (const te::ComputeOp* i : chain->inlined) p.line("compute_inline {}", i->name());
  for (size_t d = 2; padding && d < 4; ++d) {
    if (padding->before[d] + padding->after[d] > 0)
      p.line("layout_pad {} {} {} {}", x.name(), d, padding->before[d], padding->after[d]);
  }
  std::vector<std::string> blocked = stored_like_output(dag, *chain);
  blocked.push_back(x.name());
  blocked.push_back(acc);
  for (const std::string& s : blocked) {
    p.line("layout_split {} 1 [$vecs, $v]", s);
    p.line("layout_reorder {} [0, 1, 3, 4, 2]", s);
  }
  p.line("layout_split {} 0 [$vecs, $v]", w);
  p.line("layout_reorder {} [0, 2, 3, 4, 1]", w);
  const auto name = [&](size_t d) { return chain->final->axes[d].var.name(); };
  const std::string n = name(0), k = name(1), y = name(2), xx = name(3);
  p.line("split {} {} [$yn] parts\nsplit {} {} [$xn] parts", out, y, out, xx);
  p.line("reorder {} [{}, {}_0, {}.0, {}.0, {}.1, {}.1, {}_1]", out, n, k, y, xx, y, xx, k);
  p.line("unroll {} {}.1\nunroll {} {}.1\nvectorize {} {}_1", out, y, out, xx, out, k);
  p.line("compute_at {} {} {}.0", acc, out, xx);
  // Rows of equal length can be dealt out with the channels; unequal ones would ask for their length in every tile.
  if (balance(op.axes[0].extent * p.knobs()["vecs"], t.cores) >= 0.97) {
    p.line("fuse {} [{}, {}_0]\nparallel {} {}@{}_0", out, n, k, out, n, k);
  } else if (op.axes[2].extent % p.knobs()["yn"] == 0) {
    p.line("fuse {} [{}, {}_0, {}.0]\nparallel {} {}@{}_0@{}.0", out, n, k, y, out, n, k, y);
  } else {
    p.line("reorder {} [{}, {}.0, {}_0]\nparallel {} {}.0", out, n, y, k, out, y);
  }
  p.line("reorder {} [r, s, y, x, k_1]", acc);
  p.line("unroll {} r\nunroll {} s\nunroll {} y\nunroll {} x\nvectorize {} k_1", acc, acc, acc, acc,
         acc);
  return p.take();
}

}  // namespace tenon::templates
