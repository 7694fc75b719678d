// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of any spatial rank: channels in vectors, a tile of a few rows and columns in registers, the
// kernel unrolled so that its weights stay in registers and each input vector is loaded once for all outputs that need
// it. Padding is stored beside the image where the caller allows it. Otherwise taps on it are left out, which takes code
// for the tiles at each side and corner; with large kernels, whose code would grow, a few padded rows of one vector of
// channels at a time are copied into the first-level cache. Images that are plain on both sides stay so: vectors of
// columns, whose taps on padding are left out, too, or, with large kernels or narrow images, padded rows of one channel
// at a time in the first-level cache.
#include <numeric>

#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMaxGuardedTaps = 25;
constexpr int64_t kFewTaps = 9;
constexpr int64_t kCopied = 1, kGuarded = 2;  // what becomes of the padding of plain images

struct Depthwise {
  Chain chain;
  te::Tensor x, w;
  std::optional<Padding> padding;
  size_t rank = 0;      // spatial dimensions
  size_t w_kernel = 1;  // the first kernel dimension of w
};

// The index is the output channel, give or take axes of one element.
bool is_channel(const ir::Expr& index, const te::ComputeOp& op) {
  const arith::Linear l = arith::to_linear(index);
  if (l.constant != 0 || l.coefficient(op.axes[1].var.node()) != 1) return false;
  for (const te::Axis& a : op.reduce_axes) {
    if (a.extent > 1 && l.coefficient(a.var.node()) != 0) return false;
  }
  return l.is_affine();
}

// n k spatial.. = sum over kernel.. of x[n, k, spatial*stride + kernel*dilation] * w[k, 0, kernel..]
std::optional<Depthwise> match(const te::ComputeDag& dag) {
  const auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || op.axes.size() < 3 || !parts->x.affine) return std::nullopt;
  Depthwise d{*chain, parts->x.tensor, parts->w.tensor, find_padding(dag, parts->x.tensor)};
  d.rank = op.axes.size() - 2;
  d.w_kernel = d.w.rank() - d.rank;
  if (op.reduce_axes.size() < d.rank || d.x.rank() != op.axes.size() || d.w.rank() <= d.rank)
    return std::nullopt;
  if (!is_channel(parts->x.indices[1], op) || plain_axis(parts->w.indices[0], op) != size_t{1})
    return std::nullopt;
  for (size_t i = 1; i < d.w_kernel; ++i) {
    if (d.w.shape()[i] != 1) return std::nullopt;
  }
  for (size_t i = 0; i + d.rank < op.reduce_axes.size(); ++i) {
    if (op.reduce_axes[i].extent != 1) return std::nullopt;
  }
  if (d.padding) d.x = d.padding->source;
  if (dag.producer(d.x) != nullptr || dag.producer(d.w) != nullptr) return std::nullopt;
  return d;
}

class Writer : private PlanWriter {
 public:
  Writer(const Depthwise& d, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request), d_(d), t_(initial.target()), op_(*d.chain.anchor) {
    out_ = d.chain.final->name();
    acc_ = op_.name() + ".cache";
  }

  std::optional<Plan> run() {
    const int64_t bytes = op_.output.dtype().bytes();
    const int64_t full = t_.lanes(bytes);
    const int64_t prefer = choose_lanes(op_.axes[1].extent, bytes, t_);
    const auto block = block_for(request(), d_.chain.final->output, prefer);
    const auto x_block = block_for(request(), d_.x, block.value_or(prefer));
    if (block == 1 && x_block == 1 && d_.rank == 2) return by_columns();
    if (!block || !x_block || *x_block != *block || *block < 2) return std::nullopt;
    block_ = *block;
    v_ = block_ <= full ? block_ : std::gcd(block_, full);
    const bool free = request().borders && !request().fixed.contains(d_.x.name());
    int64_t taps = 1;
    for (const te::Axis& a : op_.reduce_axes) taps *= a.extent;
    guarded_ = d_.padding && !free && taps <= kMaxGuardedTaps && d_.rank <= 2;
    buffered_ = d_.padding && !free && !guarded_;
    knobs() = {{"v", v_}, {"vecs", arith::ceil_div(op_.axes[1].extent, v_)}};
    choose_patch(taps);
    prepare();
    tile_output();
    tile_sum();
    return take();
  }

 private:
  // Rows and columns of the tile that fit beside the kernel's weights.
  void choose_patch(int64_t taps) {
    const int64_t x = op_.axes.back().extent;
    const int64_t y = d_.rank >= 2 ? op_.axes[op_.axes.size() - 2].extent : 1;
    const int64_t room = std::max<int64_t>(
        1, t_.vector_registers - std::min<int64_t>(taps, t_.vector_registers / 2) - 2);
    const int64_t columns = std::min<int64_t>({x, 4, room});
    int64_t rows = std::min<int64_t>({y, room / columns, 3});
    if (rows == 3 && y % 3 != 0 && y % 2 == 0) rows = 2;
    knobs()["xn"] = choice("xn", arith::ceil_div(x, columns), x);
    knobs()["yn"] = choice("yn", arith::ceil_div(y, rows), y);
  }

  // The largest divisor of n that is at most `most`.
  static int64_t divisor(int64_t n, int64_t most) {
    int64_t d = std::min(n, most);
    while (n % d != 0) --d;
    return d;
  }

  // n k y x in their plain order: vectors of columns, a tile of several rows, which share what they read.
  std::optional<Plan> by_columns() {
    const int64_t x = op_.axes[3].extent, y = op_.axes[2].extent;
    const int64_t v = choose_lanes(x, op_.output.dtype().bytes(), t_);
    int64_t taps = 1;
    for (const te::Axis& a : op_.reduce_axes) taps *= a.extent;
    if (v < 4 || x % v != 0 || taps > kMaxGuardedTaps) return std::nullopt;
    knobs() = {{"v", v}};
    const bool copies = d_.padding && choice("pad", padding_by_default(taps), 2) == kCopied;
    const bool guards = d_.padding && !copies;
    knobs()["rows"] = divisor(y, choice("rows", guards ? 4 : 8, 12));
    knobs()["tiles"] = divisor(y / knobs()["rows"], choice("tiles", 4, 16));
    const auto name = [&](size_t d) { return d_.chain.final->axes[d].var.name(); };
    const std::string n = name(0), k = name(1), row = name(2), column = name(3);
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* i : d_.chain.inlined) {
      if (!copies || i != d_.padding->op) line("compute_inline {}", i->name());
    }
    store_fixed_inputs();
    line("split {} {} [$tiles, $rows]\nsplit {} {} [$v]", out_, row, out_, column);
    line("reorder {} [{}, {}, {}.0, {}.1, {}.0, {}.2, {}.1]", out_, n, k, row, row, column, row,
         column);
    line("unroll {} {}.2\nvectorize {} {}.1", out_, row, out_, column);
    line("compute_at {} {} {}.0", acc_, out_, column);
    line("fuse {} [{}, {}]\nparallel {} {}@{}", out_, n, k, out_, n, k);
    if (copies) copy_padded_rows(row + ".0");
    std::vector<std::string> order;
    for (const te::Axis& a : op_.reduce_axes) order.push_back(a.var.name());
    order.push_back(op_.axes[2].var.name());
    line("reorder {} [{}, {}]", acc_, comma(order), op_.axes[3].var.name());
    for (const std::string& s : order) line("unroll {} {}", acc_, s);
    line("vectorize {} {}", acc_, op_.axes[3].var.name());
    return take();
  }

  // Copied rows are read many times: worth it where windows overlap much, if kernels are large or each vector of columns
  // has padding on both sides.
  int64_t padding_by_default(int64_t taps) {
    const int64_t columns = op_.axes.back().extent;
    const bool dense = d_.padding->op->output.shape().back() < 2 * columns;
    return dense && (taps > kFewTaps || columns == knobs()["v"]) ? kCopied : kGuarded;
  }

  void copy_padded_rows(const std::string& at) {
    const std::string pad = d_.padding->op->name();
    line("compute_at {} {} {}", pad, out_, at);
    const std::string column = last_axis(*d_.padding->op, 1);
    line("split {} {} [$v]\nvectorize {} {}.1", pad, column, pad, column);
  }

  void prepare() {
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* i : d_.chain.inlined) {
      if (!buffered_ || i != d_.padding->op) line("compute_inline {}", i->name());
    }
    layout::Layout stored(d_.x.shape());
    for (size_t d = 2; d_.padding && !buffered_ && !guarded_ && d < d_.x.rank(); ++d) {
      if (d_.padding->before[d] + d_.padding->after[d] > 0)
        stored = stored.pad(static_cast<int64_t>(d), d_.padding->before[d], d_.padding->after[d]);
    }
    store(d_.x.name(), stored.compose(blocked(stored.storage_shape(), block_)));
    std::vector<std::string> done{d_.x.name(), d_.w.name()};
    for (const std::string& s : stored_like_output(dag(), d_.chain)) {
      if (request().fixed.contains(s) && s != out_) continue;
      store(s, blocked(op_.output.shape(), block_));
      done.push_back(s);
    }
    store_fixed_inputs(done);
    store(acc_, blocked(op_.output.shape(), v_));
    line("layout_split {} 0 [$vecs, $v]", d_.w.name());
    std::vector<std::string> perm{"0"};
    for (size_t i = 2; i <= d_.w.rank(); ++i) perm.push_back(std::to_string(i));
    perm.emplace_back("1");
    line("layout_reorder {} [{}]", d_.w.name(), comma(perm));
  }

  void tile_output() {
    const auto name = [&](size_t d) { return d_.chain.final->axes[d].var.name(); };
    const std::string n = name(0), k = name(1);
    std::string lanes = k + "_1", vectors = k + "_0";
    std::vector<std::string> outer, inner;  // positions
    for (size_t d = 2; d < op_.axes.size(); ++d) outer.push_back(name(d));
    if (v_ < block_) {
      line("split {} {} [$v]\nreorder {} [{}_0, {}_1.0, {}, {}_1.1]", out_, lanes, out_, k, k,
           comma(outer), k);
      line("fuse {} [{}_0, {}_1.0]", out_, k, k);
      vectors = k + "_0@" + k + "_1.0";
      lanes += ".1";
    }
    const auto split = [&](size_t d, const char* knob) {
      line("split {} {} [${}] parts", out_, outer[d], knob);
      inner.insert(inner.begin(), outer[d] + ".1");
      outer[d] += ".0";
    };
    split(d_.rank - 1, "xn");
    if (d_.rank >= 2) split(d_.rank - 2, "yn");
    line("reorder {} [{}, {}, {}, {}, {}]", out_, n, vectors, comma(outer), comma(inner), lanes);
    for (const std::string& i : inner) line("unroll {} {}", out_, i);
    line("vectorize {} {}", out_, lanes);
    line("compute_at {} {} {}", acc_, out_, outer.back());
    deal_out(n, vectors, outer);
  }

  // Rows of equal length can be dealt out with the channels; unequal ones would ask for their length in every tile.
  void deal_out(const std::string& n, const std::string& vectors,
                const std::vector<std::string>& outer) {
    std::string rows = d_.rank >= 2 ? outer[d_.rank - 2] : vectors;
    const int64_t height = op_.axes[op_.axes.size() - (d_.rank >= 2 ? 2 : 1)].extent;
    // Rows where there are enough, as its neighbours in a network do: a core then reads what it wrote itself.
    const bool by_rows =
        d_.rank == 2 && balance(knobs()["yn"], t_.cores) >= 0.85 && height >= 8 * t_.cores;
    const bool by_vectors = balance(op_.axes[0].extent * knobs()["vecs"], t_.cores) >= 0.97;
    if (d_.rank != 2 || (by_vectors && !by_rows)) {
      line("fuse {} [{}, {}]\nparallel {} {}@{}", out_, n, vectors, out_, n, vectors);
      if (d_.rank < 2) rows = n + "@" + vectors;
    } else if (!by_rows && height % knobs()["yn"] == 0) {
      rows = n + "@" + vectors + "@" + outer[0];
      line("fuse {} [{}, {}, {}]\nparallel {} {}", out_, n, vectors, outer[0], out_, rows);
    } else {
      line("reorder {} [{}, {}, {}]\nparallel {} {}", out_, n, outer[0], vectors, out_, outer[0]);
      rows = vectors;
    }
    if (!buffered_) return;
    const std::string pad = d_.padding->op->name();
    store(pad, blocked(d_.padding->op->output.shape(), v_));
    line("compute_at {} {} {}", pad, out_, rows);
    line("vectorize {} {}", pad, last_axis(*d_.padding->op, v_));
  }

  void tile_sum() {
    std::vector<std::string> order;
    for (const te::Axis& a : op_.reduce_axes) order.push_back(a.var.name());
    const size_t tiled = std::min<size_t>(d_.rank, 2);
    for (size_t d = op_.axes.size() - tiled; d < op_.axes.size(); ++d)
      order.push_back(op_.axes[d].var.name());
    const std::string lanes = op_.axes[1].var.name() + "_1";
    line("reorder {} [{}, {}]", acc_, comma(order), lanes);
    for (const std::string& s : order) line("unroll {} {}", acc_, s);
    line("vectorize {} {}", acc_, lanes);
  }

  const Depthwise& d_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, acc_;
  int64_t block_ = 1, v_ = 1;
  bool guarded_ = false;   // taps on padding are left out
  bool buffered_ = false;  // padded rows are copied
};

}  // namespace

std::optional<Plan> plan_depthwise(const schedule::State& initial, const Request& request) {
  const auto d = match(initial.dag());
  if (!d) return std::nullopt;
  return Writer(*d, initial, request).run();
}

}  // namespace tenon::templates
