// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution and the pointwise one that reads it, two spatial dimensions. For each block of rows the first
// one's channels are computed into a buffer that stays in the second-level cache, and the second one reads them there;
// no row is computed twice. Knob `at`: 1 computes all of the first one beforehand, 2 block by block.
#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

using te::ComputeOp;

constexpr int64_t kBefore = 1, kByBlocks = 2;
constexpr int64_t kMaxTaps = 25;  // the kernel is unrolled

struct Pair {
  const ComputeOp* first = nullptr;   // the depthwise sum
  const ComputeOp* middle = nullptr;  // what the second one reads
  const ComputeOp* second = nullptr;  // the pointwise sum
  const ComputeOp* final = nullptr;
  std::optional<Padding> padding;
  te::Tensor x, w, w2;
  std::vector<const ComputeOp*> inlined;
  std::vector<std::string> like_output;
};

// Reads `t` at its own axes only, or does not read it.
bool in_place(const ComputeOp& op, const te::Tensor& t) {
  bool ok = true;
  ir::visit(op.body, [&](const ir::Expr& e) {
    const auto* l = e.as<ir::Load>();
    if (l == nullptr || !l->buffer.same_as(t)) return;
    for (size_t d = 0; d < l->indices.size(); ++d)
      ok = ok && (l->indices[d].same_as(op.axes[d].var) || op.axes[d].extent == 1);
  });
  return ok && op.output.shape() == t.shape();
}

bool is_depthwise(const ComputeOp& op, const Contraction& c) {
  const arith::Linear channel = arith::to_linear(c.x.indices[1]);
  if (!c.x.affine || c.x.indices.size() != 4 || c.w.tensor.rank() != 4 ||
      c.w.tensor.shape()[1] != 1 || channel.constant != 0 ||
      channel.coefficient(op.axes[1].var.node()) != 1)
    return false;
  int64_t taps = 1;
  for (const te::Axis& a : op.reduce_axes) taps *= a.extent;
  return op.axes.size() == 4 && plain_axis(c.w.indices[0], op) == size_t{1} && taps <= kMaxTaps &&
         taps == c.w.tensor.shape()[2] * c.w.tensor.shape()[3];
}

bool is_pointwise(const ComputeOp& op, const Contraction& c) {
  if (op.axes.size() != 4 || op.reduce_axes.size() != 3 || c.x.indices.size() != 4 ||
      c.w.tensor.rank() != 4 || !c.x.affine)
    return false;
  for (size_t d = 2; d < 4; ++d) {
    const arith::Linear l = arith::to_linear(c.x.indices[d]);
    if (op.reduce_axes[d - 1].extent != 1 || l.constant != 0 ||
        l.coefficient(op.axes[d].var.node()) != 1)
      return false;
  }
  return plain_axis(c.x.indices[1], op) == op.axes.size() &&
         plain_axis(c.w.indices[0], op) == size_t{1} &&
         plain_axis(c.w.indices[1], op) == op.axes.size();
}

// The rest is element-wise: behind the first sum up to the middle, behind the second up to the output.
bool sort_rest(const te::ComputeDag& dag, Pair& p) {
  std::vector<const ComputeOp*> done{p.first};
  bool second = false;
  for (const te::OpRef& op : dag.ops) {
    if (op.get() == p.first || (p.padding && op.get() == p.padding->op)) continue;
    if (op.get() == p.second) {
      if (done.back() != p.middle) return false;
      done = {p.second};
      second = true;
      continue;
    }
    const bool ok = std::all_of(done.begin(), done.end(),
                                [&](const ComputeOp* b) { return in_place(*op, b->output); });
    if (op->is_reduction() || !ok) return false;
    done.push_back(op.get());
    if (op.get() != p.middle && op.get() != p.final) p.inlined.push_back(op.get());
  }
  if (!second || done.back() != p.final) return false;
  if (p.middle != p.first) p.inlined.push_back(p.first);
  if (p.final != p.second) p.inlined.push_back(p.second);
  return true;
}

std::optional<Pair> match(const te::ComputeDag& dag) {
  Pair p;
  if (dag.outputs.size() != 1) return std::nullopt;
  p.final = dag.producer(dag.outputs[0]);
  for (const te::OpRef& op : dag.ops) {
    if (!op->is_reduction()) continue;
    if (p.second != nullptr) return std::nullopt;
    (p.first == nullptr ? p.first : p.second) = op.get();
  }
  if (p.second == nullptr) return std::nullopt;
  const auto d = find_contraction(dag, *p.first);
  const auto c = find_contraction(dag, *p.second);
  if (!d || !c || !is_depthwise(*p.first, *d) || !is_pointwise(*p.second, *c)) return std::nullopt;
  p.padding = find_padding(dag, d->x.tensor);
  p.x = p.padding ? p.padding->source : d->x.tensor;
  p.w = d->w.tensor;
  p.w2 = c->w.tensor;
  p.middle = dag.producer(c->x.tensor);
  if (p.middle == nullptr || dag.producer(p.x) != nullptr || dag.producer(p.w) != nullptr ||
      dag.producer(p.w2) != nullptr || dag.readers(p.middle->output).size() != 1)
    return std::nullopt;
  for (const te::Input& in : dag.inputs) {
    const auto readers = dag.readers(in.tensor);
    const bool like = in.tensor.shape() == p.final->output.shape() && !in.tensor.same_as(p.x) &&
                      std::all_of(readers.begin(), readers.end(), [&](const ComputeOp* r) {
                        return !r->is_reduction() && in_place(*r, in.tensor);
                      });
    if (like) p.like_output.push_back(in.tensor.name());
  }
  return sort_rest(dag, p) ? std::optional(p) : std::nullopt;
}

class Writer : private PlanWriter {
 public:
  Writer(const Pair& p, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request), p_(p), t_(initial.target()) {
    out_ = p.final->name();
    mid_ = p.middle->name();
    sum_ = p.first->name() + ".cache";
    sum2_ = p.second->name() + ".cache";
  }

  std::optional<Plan> run() {
    if (!choose_blocks()) return std::nullopt;
    size_knobs();
    prepare();
    tile_output();
    tile_second();
    tile_middle();
    tile_first();
    return take();
  }

 private:
  bool choose_blocks() {
    const int64_t full = t_.lanes(4);
    const auto b = block_for(request(), p_.x, default_block(p_.x.shape()[1], 4, t_));
    const int64_t prefer = default_block(p_.final->axes[1].extent, 4, t_);
    const auto b2 = block_for(request(), p_.final->output, prefer);
    if (!b || !b2 || *b < 2 || *b2 < 2 || *b > full || *b2 > full) return false;
    v_ = *b;
    v2_ = *b2;
    return true;
  }

  // The largest number of at most `most` that divides n.
  static int64_t divisor(int64_t n, int64_t most) {
    int64_t d = std::max<int64_t>(1, std::min(n, most));
    while (n % d != 0) --d;
    return d;
  }

  // Rows of a block: in a quarter of the second-level cache, several blocks for each core, all of one length (tiles that
  // ask for their length are slow).
  int64_t rows_of_block() const {
    const auto& m = p_.middle->output.shape();
    const int64_t fit = std::max<int64_t>(1, t_.l2_bytes / 4 / (m[1] * m[3] * 4));
    return divisor(m[2], std::min(fit, std::max<int64_t>(1, m[2] / (2 * t_.cores))));
  }

  void size_knobs() {
    const auto& m = p_.middle->output.shape();
    const int64_t channels = p_.final->axes[1].extent, in = m[1], height = m[2], width = m[3];
    const int64_t kvecs = arith::ceil_div(channels, v2_);
    const RegisterTile r = choose_tile(kvecs, width, 1, t_);
    const int64_t at = choice("at", default_at(), 2);
    const int64_t rows = divisor(height, choice("rows", rows_of_block(), height));
    const int64_t kb = choice("kb", r.kb, std::min<int64_t>(kvecs, 8));
    const int64_t dx = choice("dx", std::min<int64_t>(width, 4), std::min<int64_t>(width, 8));
    const int64_t dy = choice("dy", 2, 3);
    knobs() = {{"v", v_},
               {"vecs", arith::ceil_div(in, v_)},
               {"at", at},
               {"rows", rows},
               {"xn", choice("xn", r.xn, width)},
               {"kb", kb},
               {"ko", arith::ceil_div(kvecs, kb)},
               {"kv", kb * v2_},
               {"ci", v_},
               {"co", arith::ceil_div(in, v_)},
               {"dn", arith::ceil_div(width, dx)},
               {"dy", divisor(at == kByBlocks ? rows : height, dy)}};
  }

  int64_t default_at() const {
    const auto& m = p_.middle->output.shape();
    return m[1] * m[2] * m[3] * 4 > t_.l2_bytes / 2 ? kByBlocks : kBefore;
  }

  void prepare() {
    line("cache_write {} register", p_.first->name());
    line("cache_write {} register", p_.second->name());
    if (p_.padding) line("compute_inline {}", p_.padding->op->name());
    for (const ComputeOp* op : p_.inlined) line("compute_inline {}", op->name());
    const auto& m = p_.middle->output.shape();
    const auto& o = p_.final->output.shape();
    std::vector<std::string> done{p_.x.name(), p_.w.name(), p_.w2.name()};
    store(p_.x.name(), blocked(p_.x.shape(), v_));
    store(mid_, blocked(m, v_));
    store(sum_, blocked(m, v_));
    store(out_, blocked(o, v2_));
    store(sum2_, blocked(o, v2_));
    for (const std::string& s : p_.like_output) {
      if (request().fixed.contains(s)) continue;
      store(s, blocked(o, v2_));
      done.push_back(s);
    }
    store_fixed_inputs(done);
    line("layout_split {} 0 [$vecs, $v]\nlayout_reorder {} [0, 2, 3, 4, 1]", p_.w.name(),
         p_.w.name());
    line("layout_split {} 0 [$ko, $kv]\nlayout_split {} 2 [$co, $ci]", p_.w2.name(), p_.w2.name());
    line("layout_reorder {} [0, 2, 4, 5, 3, 1]", p_.w2.name());
  }

  static std::string axis(const ComputeOp& op, size_t d) { return op.axes[d].var.name(); }

  void tile_output() {
    const std::string n = axis(*p_.final, 0), k = axis(*p_.final, 1), y = axis(*p_.final, 2),
                      x = axis(*p_.final, 3);
    line("split {} {}_0 [$kb]", out_, k);
    line("split {} {} [$rows]\nsplit {} {} [$xn] parts", out_, y, out_, x);
    line("reorder {} [{}, {}.0, {}_0.0, {}.1, {}.0, {}.1, {}_0.1, {}_1]", out_, n, y, k, y, x, x, k,
         k);
    line("unroll {} {}.1\nunroll {} {}_0.1\nvectorize {} {}_1", out_, x, out_, k, out_, k);
    block_ = y + ".0";
    if (p_.final->axes[0].extent > 1) {
      block_ = n + "@" + block_;
      line("fuse {} [{}, {}.0]", out_, n, y);
    }
    line("parallel {} {}", out_, block_);
    line("compute_at {} {} {}.0", sum2_, out_, x);
  }

  void tile_second() {
    const ComputeOp& op = *p_.second;
    const std::string c = op.reduce_axes[0].var.name(), k = axis(op, 1);
    line("split {} {} [$ci]", sum2_, c);
    line("reorder {} [{}.0, {}, {}, {}.1, {}, {}, {}_0, {}_1]", sum2_, c,
         op.reduce_axes[1].var.name(), op.reduce_axes[2].var.name(), c, axis(op, 2), axis(op, 3), k,
         k);
    line("unroll {} {}\nunroll {} {}_0\nvectorize {} {}_1", sum2_, axis(op, 3), sum2_, k, sum2_, k);
  }

  void tile_middle() {
    const std::string n = axis(*p_.middle, 0), c = axis(*p_.middle, 1), y = axis(*p_.middle, 2),
                      x = axis(*p_.middle, 3);
    const bool before = knobs()["at"] == kBefore;
    if (!before) line("compute_at {} {} {}", mid_, out_, block_);
    line("split {} {} [$dy]\nsplit {} {} [$dn] parts", mid_, y, mid_, x);
    const std::string rows = y + ".0", vectors = c + "_0";
    line("reorder {} [{}, {}, {}, {}.0, {}.1, {}.1, {}_1]", mid_, n, before ? rows : vectors,
         before ? vectors : rows, x, y, x, c);
    line("unroll {} {}.1\nunroll {} {}.1\nvectorize {} {}_1", mid_, y, mid_, x, mid_, c);
    line("compute_at {} {} {}.0", sum_, mid_, x);
    if (before) line("fuse {} [{}, {}.0]\nparallel {} {}@{}.0", mid_, n, y, mid_, n, y);
  }

  void tile_first() {
    const ComputeOp& op = *p_.first;
    std::vector<std::string> order;
    for (const te::Axis& a : op.reduce_axes) order.push_back(a.var.name());
    order.push_back(axis(op, 2));
    order.push_back(axis(op, 3));
    line("reorder {} [{}, {}_1]", sum_, comma(order), axis(op, 1));
    for (const std::string& s : order) line("unroll {} {}", sum_, s);
    line("vectorize {} {}_1", sum_, axis(op, 1));
  }

  const Pair& p_;
  const target::Target& t_;
  std::string out_, mid_, sum_, sum2_, block_;
  int64_t v_ = 1, v2_ = 1;  // lanes of the middle's channels and of the output's
};

}  // namespace

std::optional<Plan> plan_pair(const schedule::State& initial, const Request& request) {
  const auto p = match(initial.dag());
  if (!p || p->final->output.dtype() != ir::kF32) return std::nullopt;
  return Writer(*p, initial, request).run();
}

}  // namespace tenon::templates
