// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's algorithms, where they are estimated to be faster than the direct one.
// Three nests, each dealt out to all cores: tiles of the input transformed (channels are lanes),
// one matrix product per point of a tile (like a pointwise convolution, with a register tile of
// tiles x channels), tiles of the output transformed together with everything that follows. Dilated
// convolutions are computed phase by phase, those of stride 2 by tiles of even and odd positions.
#include <algorithm>

#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/winograd_match.h"
#include "templates/write.h"

namespace tenon::templates {
namespace {

using schedule::Algorithm;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kMostVectors = 8;  // of channels in a tile

class Writer {
 public:
  Writer(const WinogradConv& c, Algorithm a, space::Builder& b, const Request& request)
      : c_(c),
        b_(b),
        request_(request),
        op_(*c.inner),
        row_(schedule::row_of(a)),
        lanes_(b.target().cpu().lanes(op_.output.dtype().bytes())),
        kvecs_(op_.axes[1].extent / lanes_) {
    int64_t tiles = 1;
    for (size_t d = 2 + c.others; d < op_.axes.size(); ++d)
      tiles *= arith::ceil_div(op_.axes[d].extent, row_.tile);
    by_rule_ = choose_tile(kvecs_, tiles, 1, b.target().cpu());
    out_ = b.stage(c.chain.final->name());
  }

  std::optional<Written> run() {
    if (!fits()) return std::nullopt;
    prepare();
    if (b_.refused()) return Written{};
    store_all();
    tile_output();
    tile_products();
    tile_input();
    return Written{};
  }

 private:
  // Whole vectors of channels on both sides.
  bool fits() const {
    const auto bx = block_for(request_, c_.x, lanes_);
    const auto by = block_for(request_, c_.chain.final->output, lanes_);
    return lanes_ > 1 && bx == lanes_ && by == lanes_ && op_.axes[1].extent % lanes_ == 0 &&
           op_.reduce_axes[0].extent % lanes_ == 0;
  }

  void prepare() {
    const std::string& name = op_.name();
    const StageRef anchor = b_.stage(c_.chain.anchor->name());
    const bool dilated = !c_.phases.empty();
    if (dilated) b_.variant(anchor, Algorithm::kPhases);
    const StageRef inner = made(b_, name);
    b_.variant(inner, row_.algorithm);
    products_ = made(b_, name + ".m");
    input_ = made(b_, name + ".v");
    if (c_.dims == 2) {
      input_rows_ = made(b_, name + ".v1");
      output_rows_ = made(b_, name + ".y1");
    }
    sum_ = b_.cache_write(products_, ir::Scope::kRegister);
    for (const te::ComputeOp* p : c_.chain.inlined) {
      if (p != c_.chain.anchor) b_.compute_inline(b_.stage(p->name()));
    }
    b_.compute_inline(made(b_, name + ".y"));
    if (dilated) {
      b_.compute_inline(made(b_, c_.chain.anchor->name() + ".x"));
      b_.compute_inline(inner);
    }
    if (c_.chain.anchor != c_.chain.final) b_.compute_inline(anchor);
  }

  // Dimension `d` in vectors, which become the last one.
  void in_vectors(StageRef stage, size_t d) {
    const std::vector<int64_t> shape = b_.now(stage).output.shape();
    const auto dim = static_cast<int64_t>(d);
    b_.layout_split(stage, dim, {shape[d] / lanes_, lanes_});
    b_.layout_reorder(stage, moved_last(shape.size() + 1, dim + 1));
  }

  // 0 1 2 3 with 1 moved  =>  0 2 3 1
  static std::vector<int64_t> moved_last(size_t rank, int64_t dim) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i) {
      if (i != dim) order.push_back(i);
    }
    order.push_back(dim);
    return order;
  }

  // points.. K C taps..  =>  points.. K/kv C taps.. kv
  void store_weights() {
    kb_ = b_.ask({HoleKind::kFactor, products_.id, 0}, "kb", Domain::divisors(kvecs_, kMostVectors),
                 by_rule_.kb);
    const StageRef w = b_.stage(c_.w.name());
    const auto points = static_cast<int64_t>(c_.dims);
    b_.layout_split(w, points, {kvecs_ / kb_, kb_ * lanes_});
    b_.layout_reorder(w, moved_last(c_.dims + 3 + c_.others, points + 1));
  }

  void store_all() {
    b_.store(b_.stage(c_.x.name()), blocked(c_.x.shape(), lanes_));
    store_weights();
    for (const StageRef s : {input_, products_, sum_}) in_vectors(s, c_.dims + 1);
    if (c_.dims == 2) {
      in_vectors(input_rows_, 1);
      in_vectors(output_rows_, 1);
    }
    const auto in_blocks = [&](int64_t block) {
      return blocked(c_.chain.final->output.shape(), block);
    };
    std::vector<std::string> done = store_alike(b_, request_, c_.like_output, lanes_, in_blocks);
    done.insert(done.end(), {c_.x.name(), c_.w.name()});
    store_fixed_inputs(b_, request_, done);
  }

  // Leading loops of a nest, in parallel.
  void deal(const std::vector<Loop>& outer) { deal_out(b_, outer, INT32_MAX); }

  // n, channels, the other positions: of a stage that has `first` dimensions before them.
  std::vector<Loop> outer_loops(StageRef stage, size_t first) const {
    std::vector<Loop> out;
    for (size_t d = 0; d < 2 + c_.others; ++d) out.push_back(b_.axis(stage, first + d));
    return out;
  }

  // Two dimensions of a stage n k_0 others.. tiles rows columns k_1 that is computed where a tile
  // is needed.
  void unroll_rows(StageRef stage) {
    b_.unroll(b_.axis(stage, 3 + c_.others));
    b_.unroll(b_.axis(stage, 4 + c_.others));
    b_.vectorize(b_.axis(stage, 5 + c_.others));
  }

  void tile_output() {
    const size_t rank = op_.axes.size();  // of the storage: one more, the lanes
    std::vector<Loop> outer = outer_loops(out_, 0), phases, inner;
    for (size_t d = 2 + c_.others; d < rank; ++d) {
      std::vector<Value> factors{row_.tile};
      if (const int64_t f = c_.phases_of(d - 2); f > 1) factors.emplace_back(f);
      const std::vector<Loop> parts = b_.split(b_.axis(out_, d), factors);
      outer.push_back(parts[0]);
      inner.push_back(parts[1]);
      if (parts.size() > 2) phases.push_back(parts[2]);
    }
    outer.insert(outer.end(), phases.begin(), phases.end());
    std::vector<Loop> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(b_.axis(out_, rank));
    b_.reorder(order);
    for (const Loop& i : inner) b_.unroll(i);
    b_.vectorize(order.back());
    if (c_.dims == 2) {
      b_.compute_at(output_rows_, outer.back());
      unroll_rows(output_rows_);
    }
    outer.pop_back();  // what is attached stays at a loop of its own
    deal(outer);
  }

  // points.. n k_0 others.. tiles k_1
  void tile_products() {
    const size_t tiles = c_.dims + 2 + c_.others;
    const Loop lanes = b_.axis(products_, tiles + 1);
    const auto [ko, vectors] = b_.split<2>(b_.axis(products_, c_.dims + 1), {kb_});
    const int64_t all = b_.extent(b_.axis(products_, tiles));
    const Value xn =
        b_.ask({HoleKind::kParts, products_.id, 0}, "xn",
               parts_in_registers(all, kb_, by_rule_.xn, b_.target().cpu()), by_rule_.xn);
    const auto [parts, columns] = b_.parts(b_.axis(products_, tiles), xn);
    std::vector<Loop> outer;
    for (size_t d = 0; d < tiles; ++d)
      outer.push_back(d == c_.dims + 1 ? ko : b_.axis(products_, d));
    std::vector<Loop> order = outer;
    order.insert(order.end(), {parts, columns, vectors, lanes});
    b_.reorder(order);
    b_.unroll(columns);
    b_.unroll(vectors);
    b_.vectorize(lanes);
    b_.compute_at(sum_, parts);
    tile_sum();
    deal(outer);
  }

  void tile_sum() {
    const size_t tiles = c_.dims + 2 + c_.others;
    const auto at = [&](size_t d) { return b_.axis(sum_, d); };
    std::vector<Loop> order;
    for (size_t d = 0; d <= c_.dims; ++d) order.push_back(at(d));
    for (size_t d = 0; d <= c_.others; ++d) order.push_back(at(tiles + 2 + d));  // c, taps
    for (size_t d = 0; d < c_.others; ++d) order.push_back(at(c_.dims + 2 + d));
    const Loop columns = at(tiles), vectors = at(c_.dims + 1), lanes = at(tiles + 1);
    order.insert(order.end(), {columns, vectors, lanes});
    b_.reorder(order);
    b_.unroll(columns);
    b_.unroll(vectors);
    b_.vectorize(lanes);
  }

  // points.. n c_0 others.. tiles c_1
  void tile_input() {
    const size_t tiles = c_.dims + 2 + c_.others;
    std::vector<Loop> outer = outer_loops(input_, c_.dims);
    outer.push_back(b_.axis(input_, tiles));
    std::vector<Loop> order = outer;
    for (size_t d = 0; d < c_.dims; ++d) order.push_back(b_.axis(input_, d));
    order.push_back(b_.axis(input_, tiles + 1));
    b_.reorder(order);
    for (size_t d = 0; d < c_.dims; ++d) b_.unroll(b_.axis(input_, d));
    b_.vectorize(order.back());
    if (c_.dims == 2) {
      b_.compute_at(input_rows_, outer.back());
      unroll_rows(input_rows_);
      outer.pop_back();
    }
    deal(outer);
  }

  const WinogradConv& c_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  const schedule::AlgorithmRow& row_;
  int64_t lanes_;
  int64_t kvecs_;  // vectors of output channels
  RegisterTile by_rule_;
  Value kb_ = 1;
  StageRef out_, products_, sum_, input_;
  StageRef input_rows_, output_rows_;  // transformed along one dimension of two
};

}  // namespace

std::optional<Written> write_winograd(space::Builder& b, const Request& request) {
  const auto c = match_winograd(b.state());
  if (!c) return std::nullopt;
  const auto algorithm = choose_winograd(*c, request, b.target().cpu());
  if (!algorithm) return std::nullopt;
  return Writer(*c, *algorithm, b, request).run();
}

}  // namespace tenon::templates
