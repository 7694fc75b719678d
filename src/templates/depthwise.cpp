// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: channels in vectors, a tile of a few rows and columns in registers, the kernel unrolled so
// that its weights stay in registers and each input vector is loaded once for all outputs that need it.
#include <numeric>

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

std::optional<Plan> plan_depthwise(const schedule::State& initial, const Edges& edges) {
  const te::ComputeDag& dag = initial.dag();
  const target::Target& t = initial.target();
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

  const int64_t channels = op.axes[1].extent;
  const int64_t full = t.lanes(op.output.dtype().bytes());
  const int64_t prefer = choose_lanes(channels, op.output.dtype().bytes(), t);
  const auto x_block = block_for(edges, x, prefer);
  const auto block = block_for(edges, chain->final->output, prefer);
  if (!block || !x_block || *x_block != *block || *block < 2) return std::nullopt;
  const int64_t v = *block <= full ? *block : std::gcd(*block, full);
  const bool buffered = padding && !(edges.borders && !edges.fixed.contains(x.name()));

  PlanWriter p(initial, edges);
  p.knobs() = {{"v", v}, {"vecs", arith::ceil_div(channels, v)}};
  choose_patch(op.reduce_axes[0].extent * op.reduce_axes[1].extent, op.axes[3].extent,
               op.axes[2].extent, t, p.knobs());

  const std::string out = chain->final->name();
  const std::string acc = op.name() + ".cache";
  const std::string w = parts->w.tensor.name();
  p.line("cache_write {} register", op.name());
  for (const te::ComputeOp* i : chain->inlined) {
    if (!buffered || i != padding->op) p.line("compute_inline {}", i->name());
  }
  layout::Layout stored(x.shape());
  for (size_t d = 2; padding && !buffered && d < 4; ++d) {
    if (padding->before[d] + padding->after[d] > 0)
      stored = stored.pad(static_cast<int64_t>(d), padding->before[d], padding->after[d]);
  }
  p.store(x.name(), stored.compose(blocked(stored.storage_shape(), *block)));
  std::vector<std::string> done{x.name(), w};
  for (const std::string& s : stored_like_output(dag, *chain)) {
    if (edges.fixed.contains(s) && s != out) continue;
    p.store(s, blocked(op.output.shape(), *block));
    done.push_back(s);
  }
  p.store_fixed_inputs(done);
  p.store(acc, blocked(op.output.shape(), v));
  p.line("layout_split {} 0 [$vecs, $v]", w);
  p.line("layout_reorder {} [0, 2, 3, 4, 1]", w);
  const auto name = [&](size_t d) { return chain->final->axes[d].var.name(); };
  const std::string n = name(0), k = name(1), y = name(2), xx = name(3);
  std::string lanes = k + "_1";
  std::string vectors = k + "_0";
  if (v < *block) {
    p.line("split {} {} [$v]\nreorder {} [{}_0, {}_1.0, {}, {}, {}_1.1]", out, lanes, out, k, k, y,
           xx, k);
    p.line("fuse {} [{}_0, {}_1.0]", out, k, k);
    vectors = k + "_0@" + k + "_1.0";
    lanes += ".1";
  }
  p.line("split {} {} [$yn] parts\nsplit {} {} [$xn] parts", out, y, out, xx);
  p.line("reorder {} [{}, {}, {}.0, {}.0, {}.1, {}.1, {}]", out, n, vectors, y, xx, y, xx, lanes);
  p.line("unroll {} {}.1\nunroll {} {}.1\nvectorize {} {}", out, y, out, xx, out, lanes);
  p.line("compute_at {} {} {}.0", acc, out, xx);
  // Rows of equal length can be dealt out with the channels; unequal ones would ask for their length in every tile.
  std::string rows = y + ".0";
  if (balance(op.axes[0].extent * p.knobs()["vecs"], t.cores) >= 0.97) {
    p.line("fuse {} [{}, {}]\nparallel {} {}@{}", out, n, vectors, out, n, vectors);
  } else if (op.axes[2].extent % p.knobs()["yn"] == 0) {
    rows = n + "@" + vectors + "@" + y + ".0";
    p.line("fuse {} [{}, {}, {}.0]\nparallel {} {}", out, n, vectors, y, out, rows);
  } else {
    p.line("reorder {} [{}, {}.0, {}]\nparallel {} {}.0", out, n, y, vectors, out, y);
    rows = vectors;
  }
  if (buffered) {
    const std::string pad = padding->op->name();
    p.store(pad, blocked(padding->op->output.shape(), v));
    p.line("compute_at {} {} {}", pad, out, rows);
    p.line("vectorize {} {}", pad, p.now(pad).axes.back().var.name());
  }
  p.line("reorder {} [r, s, y, x, k_1]", acc);
  p.line("unroll {} r\nunroll {} s\nunroll {} y\nunroll {} x\nvectorize {} k_1", acc, acc, acc, acc,
         acc);
  return p.take();
}

}  // namespace tenon::templates
