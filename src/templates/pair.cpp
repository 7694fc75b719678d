// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution and the pointwise one that reads it, two spatial dimensions. For each
// block of rows the first one's channels are computed into a buffer that stays in the second-level
// cache, and the second one reads them there; no row is computed twice. Or all of the first one is
// computed beforehand.
#include <algorithm>
#include <set>

#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;
using te::ComputeOp;

constexpr int64_t kBefore = 1, kByBlocks = 2;  // when the first one is computed
constexpr int64_t kMaxTaps = 25;               // the kernel is unrolled

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

// The rest is element-wise: behind the first sum up to the middle, behind the second up to the
// output.
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
                                [&](const ComputeOp* b) { return reads_in_place(*op, b->output); });
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
                        return !r->is_reduction() && reads_in_place(*r, in.tensor);
                      });
    if (like) p.like_output.push_back(in.tensor.name());
  }
  return sort_rest(dag, p) ? std::optional(p) : std::nullopt;
}

// All stages are stored n c_0 y x c_1.
class Writer {
 public:
  // Lanes of the middle's channels and of the output's.
  Writer(const Pair& p, int64_t v, int64_t v2, space::Builder& b, const Request& request)
      : p_(p), b_(b), request_(request), t_(b.target().cpu()), v_(v), v2_(v2) {
    out_ = b.stage(p.final->name());
    mid_ = b.stage(p.middle->name());
    kvecs_ = arith::ceil_div(p.final->axes[1].extent, v2);
    by_rule_ = choose_tile(kvecs_, p.middle->output.shape()[3], 1, t_);
  }

  Written run() {
    prepare();
    store_tensors();
    store_weights();
    tile_output();
    tile_second();
    tile_middle();
    tile_first();
    return {};
  }

 private:
  void prepare() {
    sum_ = b_.cache_write(b_.stage(p_.first->name()), ir::Scope::kRegister);
    sum2_ = b_.cache_write(b_.stage(p_.second->name()), ir::Scope::kRegister);
    if (p_.padding) b_.compute_inline(b_.stage(p_.padding->op->name()));
    for (const ComputeOp* op : p_.inlined) b_.compute_inline(b_.stage(op->name()));
  }

  void store_tensors() {
    const layout::Layout middle = blocked(p_.middle->output.shape(), v_);
    const layout::Layout result = blocked(p_.final->output.shape(), v2_);
    b_.store(b_.stage(p_.x.name()), blocked(p_.x.shape(), v_));
    b_.store(mid_, middle);
    b_.store(sum_, middle);
    b_.store(out_, result);
    b_.store(sum2_, result);
    std::vector<std::string> done{p_.x.name(), p_.w.name(), p_.w2.name()};
    for (const std::string& s : p_.like_output) {
      if (request_.fixed.contains(s)) continue;
      b_.store(b_.stage(s), result);
      done.push_back(s);
    }
    store_fixed_inputs(b_, request_, done);
  }

  void store_weights() {
    constexpr int64_t kMostVectors = 8;  // of channels in a tile
    kb_ = b_.ask({HoleKind::kFactor, out_.id, 0}, "kb",
                 Domain::range(1, std::min(kvecs_, kMostVectors)), by_rule_.kb);
    const int64_t vecs = arith::ceil_div(p_.middle->output.shape()[1], v_);
    const StageRef w = b_.stage(p_.w.name()), w2 = b_.stage(p_.w2.name());
    b_.layout_split(w, 0, {vecs, v_});
    b_.layout_reorder(w, {0, 2, 3, 4, 1});
    b_.layout_split(w2, 0, {arith::ceil_div(kvecs_, kb_), kb_ * v2_});
    b_.layout_split(w2, 2, {vecs, v_});
    b_.layout_reorder(w2, {0, 2, 4, 5, 3, 1});
  }

  // Rows of a block: in a quarter of the second-level cache, several blocks for each core, all of
  // one length (tiles that ask for their length are slow).
  Value ask_rows() {
    const auto& m = p_.middle->output.shape();
    const int64_t fit = std::max<int64_t>(1, t_.l2_bytes / 4 / (m[1] * m[3] * 4));
    const int64_t rule = divisor(m[2], std::min(fit, std::max<int64_t>(1, m[2] / (2 * t_.cores))));
    return b_.ask({HoleKind::kFactor, out_.id, 1}, "rows", Domain::divisors(m[2], m[2]), rule);
  }

  void tile_output() {
    const Loop n = b_.axis(out_, 0), lanes = b_.axis(out_, 4);
    const auto [ko, vectors] = b_.split<2>(b_.axis(out_, 1), {kb_});
    rows_ = ask_rows();
    const auto [blocks, rows] = b_.split<2>(b_.axis(out_, 2), {rows_});
    const int64_t width = p_.middle->output.shape()[3];
    const Value xn = b_.ask({HoleKind::kParts, out_.id, 0}, "xn",
                            parts_in_registers(width, kb_, by_rule_.xn, t_), by_rule_.xn);
    const auto [tiles, columns] = b_.parts(b_.axis(out_, 3), xn);
    b_.reorder({n, blocks, ko, rows, tiles, columns, vectors, lanes});
    b_.unroll(columns);
    b_.unroll(vectors);
    b_.vectorize(lanes);
    block_ = p_.final->axes[0].extent > 1 ? b_.fuse({n, blocks}) : blocks;
    b_.parallel(block_);
    b_.compute_at(sum2_, tiles);
  }

  // n k_0 y x k_1 | c r s
  void tile_second() {
    const auto at = [&](size_t d) { return b_.axis(sum2_, d); };
    const auto [outer, inner] = b_.split<2>(at(5), {v_});
    b_.reorder({outer, at(6), at(7), inner, at(2), at(3), at(1), at(4)});
    b_.unroll(at(3));
    b_.unroll(at(1));
    b_.vectorize(at(4));
  }

  int64_t ask_when() {
    const auto& m = p_.middle->output.shape();
    const int64_t rule = m[1] * m[2] * m[3] * 4 > t_.l2_bytes / 2 ? kByBlocks : kBefore;
    return b_.ask({HoleKind::kSwitch, mid_.id, 0}, "at", Domain::range(1, 2), rule);
  }

  // Near-equal parts of a few columns each.
  Value ask_columns() {
    constexpr int64_t kMostColumns = 8, kColumns = 4;
    const int64_t width = p_.middle->output.shape()[3];
    std::set<int64_t> parts;
    for (int64_t n = 1; n <= std::min(width, kMostColumns); ++n)
      parts.insert(arith::ceil_div(width, n));
    return b_.ask({HoleKind::kParts, mid_.id, 0}, "dn", Domain::of({parts.begin(), parts.end()}),
                  arith::ceil_div(width, std::min(width, kColumns)));
  }

  void tile_middle() {
    constexpr int64_t kMostRows = 3, kRows = 2;
    const Loop n = b_.axis(mid_, 0), vectors = b_.axis(mid_, 1), lanes = b_.axis(mid_, 4);
    const bool before = ask_when() == kBefore;
    if (!before) b_.compute_at(mid_, block_);
    const int64_t height = before ? p_.middle->output.shape()[2] : rows_.value;
    const Value dy = b_.ask({HoleKind::kFactor, mid_.id, 0}, "dy",
                            Domain::divisors(height, kMostRows), divisor(height, kRows));
    const auto [rows, in_tile] = b_.split<2>(b_.axis(mid_, 2), {dy});
    const auto [tiles, columns] = b_.parts(b_.axis(mid_, 3), ask_columns());
    b_.reorder(
        {n, before ? rows : vectors, before ? vectors : rows, tiles, in_tile, columns, lanes});
    b_.unroll(in_tile);
    b_.unroll(columns);
    b_.vectorize(lanes);
    b_.compute_at(sum_, tiles);
    if (before) b_.parallel(b_.fuse({n, rows}));
  }

  void tile_first() {
    std::vector<Loop> order;
    for (size_t r = 0; r < p_.first->reduce_axes.size(); ++r) order.push_back(b_.axis(sum_, 5 + r));
    order.insert(order.end(), {b_.axis(sum_, 2), b_.axis(sum_, 3)});
    const std::vector<Loop> unrolled = order;
    order.push_back(b_.axis(sum_, 4));
    b_.reorder(order);
    for (const Loop& l : unrolled) b_.unroll(l);
    b_.vectorize(order.back());
  }

  const Pair& p_;
  space::Builder& b_;
  const Request& request_;
  const target::Cpu& t_;
  int64_t v_, v2_;
  int64_t kvecs_ = 1;  // vectors of output channels
  RegisterTile by_rule_;
  Value kb_ = 1, rows_ = 1;
  StageRef out_, mid_, sum_, sum2_;
  Loop block_;  // of rows
};

}  // namespace

std::optional<Written> write_pair(space::Builder& b, const Request& request) {
  const auto p = match(b.dag());
  if (!p || p->final->output.dtype() != ir::kF32) return std::nullopt;
  const target::Cpu& t = b.target().cpu();
  const int64_t full = t.lanes(4);
  const auto v = block_for(request, p->x, default_block(p->x.shape()[1], 4, t));
  const auto v2 =
      block_for(request, p->final->output, default_block(p->final->axes[1].extent, 4, t));
  if (!v || !v2 || *v < 2 || *v2 < 2 || *v > full || *v2 > full) return std::nullopt;
  return Writer(*p, *v, *v2, b, request).run();
}

}  // namespace tenon::templates
