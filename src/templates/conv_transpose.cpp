// SPDX-License-Identifier: Apache-2.0
// Transposed convolution. An output row y takes only the taps r with (y + pad - r) divisible by the stride; the
// accumulators are stored by parity (y / stride, y % stride), the parity and tap loops are unrolled, and so every
// multiplication by a structural zero folds away.
#include <fmt/format.h>

#include <numeric>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"

namespace tenon::templates {

namespace {

struct Transposed {
  Chain chain;
  te::Tensor x, w;
  std::vector<int64_t> strides;  // per spatial dimension
};

// The divisor of x's index in a spatial dimension.
int64_t stride_of(const ir::Expr& index) {
  int64_t stride = 1;
  ir::visit(index, [&](const ir::Expr& e) {
    const auto* b = e.as<ir::Binary>();
    if (b != nullptr && b->op == ir::BinaryOp::kFloorDiv) stride = ir::const_int(b->b).value_or(1);
  });
  return stride;
}

// n k y x = sum over c r s of select(.., x[n, c, (y + pad - r) / stride, ..], 0) * w[c, k, r, s]
std::optional<Transposed> match(const te::ComputeDag& dag) {
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || op.axes.size() != 4 || op.reduce_axes.size() != 3 || parts->x.indices.size() != 4)
    return std::nullopt;
  if (parts->w.indices.size() != 4 || plain_axis(parts->w.indices[0], op) != size_t{4} ||
      plain_axis(parts->w.indices[1], op) != size_t{1}) {
    return std::nullopt;
  }
  if (dag.producer(parts->x.tensor) != nullptr || dag.producer(parts->w.tensor) != nullptr)
    return std::nullopt;
  Transposed t{*chain, parts->x.tensor, parts->w.tensor, {}};
  for (size_t d = 2; d < 4; ++d) t.strides.push_back(stride_of(parts->x.indices[d]));
  return t;
}

}  // namespace

std::optional<Plan> plan_conv_transpose(const te::ComputeDag& dag, const target::Target& t) {
  const auto m = match(dag);
  if (!m) return std::nullopt;
  const te::ComputeOp& op = *m->chain.anchor;
  const int64_t channels = op.axes[1].extent;
  const int64_t in = op.reduce_axes[0].extent;
  const int64_t v = choose_lanes(channels, op.output.dtype().bytes(), t);
  const int64_t kvecs = arith::ceil_div(channels, v);
  const int64_t sy = m->strides[0];
  const int64_t sx = m->strides[1];
  const int64_t columns = arith::ceil_div(op.axes[3].extent, sx);
  const RegisterTile r = choose_tile(kvecs, columns, 1, t);
  const int64_t ci = std::gcd(in, t.lanes(op.output.dtype().bytes()));

  Plan p;
  p.knobs = {{"v", v},
             {"kvecs", kvecs},
             {"kb", r.kb},
             {"ko", arith::ceil_div(kvecs, r.kb)},
             {"kv", r.kb * v},
             {"ci", ci},
             {"co", in / ci},
             {"xn", r.xn},
             {"sy", sy},
             {"sx", sx},
             {"yo", arith::ceil_div(op.axes[2].extent, sy)},
             {"xo", columns}};
  const auto line = [&]<class... A>(fmt::format_string<A...> f, A&&... a) {
    p.text += fmt::format(f, std::forward<A>(a)...) + "\n";
  };
  const std::string out = m->chain.final->name();
  const std::string acc = op.name() + ".cache";
  line("cache_write {} register", op.name());
  for (const te::ComputeOp* i : m->chain.inlined) line("compute_inline {}", i->name());
  line("layout_split {} 1 [$co, $ci]\nlayout_reorder {} [0, 1, 3, 4, 2]", m->x.name(), m->x.name());
  line("layout_split {} 1 [$ko, $kv]\nlayout_split {} 0 [$co, $ci]", m->w.name(), m->w.name());
  line("layout_reorder {} [2, 4, 5, 0, 1, 3]", m->w.name());
  for (const std::string& s : {out, acc}) {
    line("layout_split {} 1 [$kvecs, $v]\nlayout_reorder {} [0, 1, 3, 4, 2]", s, s);
  }
  line("layout_split {} 3 [$xo, $sx]\nlayout_split {} 2 [$yo, $sy]", acc, acc);
  const auto name = [&](size_t d) { return m->chain.final->axes[d].var.name(); };
  const std::string n = name(0), k = name(1), y = name(2), x = name(3);
  line("split {} {}_0 [$kb]\nsplit {} {} [$sy]\nsplit {} {} [$sx]\nsplit {} {}.0 [$xn] parts", out,
       k, out, y, out, x, out, x);
  line("reorder {} [{}, {}_0.0, {}.0, {}.1, {}.1, {}.0.0, {}.0.1, {}_0.1, {}_1]", out, n, k, y, y,
       x, x, x, k, k);
  line("unroll {} {}.1\nunroll {} {}.1\nunroll {} {}.0.1", out, y, out, x, out, x);
  line("unroll {} {}_0.1\nvectorize {} {}_1", out, k, out, k);
  line("compute_at {} {} {}.0.0", acc, out, x);
  if (balance(op.axes[0].extent * p.knobs["ko"], t.cores) >= 0.9) {
    line("fuse {} [{}, {}_0.0]\nparallel {} {}@{}_0.0", out, n, k, out, n, k);
  } else {
    line("reorder {} [{}, {}.0, {}_0.0]\nparallel {} {}.0", out, n, y, k, out, y);
  }
  line("split {} c [$ci]", acc);
  line("reorder {} [r, s, c.0, c.1, x_0, k_0, k_1]", acc);
  line("unroll {} r\nunroll {} s\nunroll {} x_0\nunroll {} k_0\nvectorize {} k_1", acc, acc, acc,
       acc, acc);
  return p;
}

}  // namespace tenon::templates
