// SPDX-License-Identifier: Apache-2.0
// Convolution as a product of matrices, for those who ask for it: direct convolutions run near the
// peak without a copy of every window (docs/kernels.md), so no estimate chooses this. The copy has
// positions outside and what one sum reads inside; weights are one linear stream per tile of a few
// positions times vectors of output channels.
#include <algorithm>

#include "schedule/primitives/variant.h"
#include "templates/algorithm_choice.h"
#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
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

struct Conv {
  Chain chain;
  te::Tensor w;
  std::vector<std::string> like_output;
};

// n k positions.. = sum over c taps.. of x * w[k, c, taps..]
std::optional<Conv> match(const schedule::State& initial) {
  const te::ComputeDag& dag = initial.dag();
  const auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  const schedule::Variant step{{initial.find(op.name())}, Algorithm::kIm2col};
  if (!parts || !step.check(initial)) return std::nullopt;
  const size_t n = op.axes.size();
  if (n < 3 || op.reduce_axes.size() != n - 1 || parts->w.indices.size() != n) return std::nullopt;
  if (!parts->w.indices[0].same_as(op.axes[1].var)) return std::nullopt;
  for (size_t d = 1; d < n; ++d) {
    if (!parts->w.indices[d].same_as(op.reduce_axes[d - 1].var)) return std::nullopt;
  }
  // Of a grouped convolution the input depends on the output channel.
  if (parts->x.strides[1] != 0) return std::nullopt;
  return Conv{*chain, parts->w.tensor, stored_like_output(dag, *chain)};
}

class Writer {
 public:
  // `v`: lanes, which are a block of the result's channels.
  Writer(const Conv& c, int64_t v, space::Builder& b, const Request& request)
      : c_(c), v_(v), b_(b), request_(request), op_(*c.chain.anchor) {
    out_ = b.stage(c.chain.final->name());
    kvecs_ = arith::ceil_div(op_.axes[1].extent, v);
    by_rule_ = choose_tile(kvecs_, op_.axes.back().extent, 1, b.target().cpu());
  }

  Written run() {
    const StageRef anchor = b_.stage(op_.name());
    b_.variant(anchor, Algorithm::kIm2col);
    patches_ = made(b_, op_.name() + ".p");
    sum_ = b_.cache_write(anchor, ir::Scope::kRegister);
    for (const te::ComputeOp* p : c_.chain.inlined) b_.compute_inline(b_.stage(p->name()));
    store_all();
    tile_output();
    tile_sum();
    loop_by_vectors(b_, patches_);
    return {};
  }

 private:
  void store_all() {
    // n positions.. c taps..  =>  n positions.. (c taps)
    const auto rank = static_cast<int64_t>(op_.axes.size()) - 2;
    b_.layout_fuse(patches_, 1 + rank, 1 + rank);
    const auto in_blocks = [&](int64_t block) { return blocked(op_.output.shape(), block); };
    std::vector<std::string> done = store_alike(b_, request_, c_.like_output, v_, in_blocks);
    b_.store(sum_, in_blocks(v_));
    done.push_back(c_.w.name());
    store_fixed_inputs(b_, request_, done);
    store_weights(rank);
  }

  // K C taps..  =>  K/kv (C taps) kv
  void store_weights(int64_t rank) {
    kb_ = b_.ask({HoleKind::kFactor, out_.id, 0}, "kb",
                 Domain::range(1, std::min(kvecs_, kMostVectors)), by_rule_.kb);
    const StageRef w = b_.stage(c_.w.name());
    b_.layout_split(w, 0, {arith::ceil_div(kvecs_, kb_), kb_ * v_});
    std::vector<int64_t> order{0};
    for (int64_t d = 2; d < 3 + rank; ++d) order.push_back(d);
    order.push_back(1);
    b_.layout_reorder(w, order);
    b_.layout_fuse(w, 1, 1 + rank);
  }

  void tile_output() {
    const size_t rank = op_.axes.size();  // of the storage: one more, the lanes
    const Loop lanes = b_.axis(out_, rank);
    const auto [ko, vectors] = b_.split<2>(b_.axis(out_, 1), {kb_});
    const Value xn =
        b_.ask({HoleKind::kParts, out_.id, 0}, "xn",
               parts_in_registers(op_.axes.back().extent, kb_, by_rule_.xn, b_.target().cpu()),
               by_rule_.xn);
    const auto [tiles, columns] = b_.parts(b_.axis(out_, rank - 1), xn);
    std::vector<Loop> outer{b_.axis(out_, 0), ko};
    for (size_t d = 2; d + 1 < rank; ++d) outer.push_back(b_.axis(out_, d));
    std::vector<Loop> order = outer;
    order.insert(order.end(), {tiles, columns, vectors, lanes});
    b_.reorder(order);
    b_.unroll(columns);
    b_.unroll(vectors);
    b_.vectorize(lanes);
    b_.compute_at(sum_, tiles);
    int64_t work = xn;
    for (const Loop& l : outer) work *= b_.extent(l);
    for (const te::Axis& a : op_.reduce_axes) work *= a.extent;
    deal_out(b_, outer, work);
  }

  void tile_sum() {
    const size_t rank = op_.axes.size();
    const Loop vectors = b_.axis(sum_, 1), columns = b_.axis(sum_, rank - 1),
               lanes = b_.axis(sum_, rank);
    std::vector<Loop> order;
    for (size_t d = 0; d < op_.reduce_axes.size(); ++d)
      order.push_back(b_.axis(sum_, rank + 1 + d));
    for (size_t d = 2; d < rank; ++d) order.push_back(b_.axis(sum_, d));
    order.insert(order.end(), {vectors, lanes});
    b_.reorder(order);
    b_.unroll(columns);
    b_.unroll(vectors);
    b_.vectorize(lanes);
  }

  const Conv& c_;
  int64_t v_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  int64_t kvecs_ = 1;  // vectors of output channels
  RegisterTile by_rule_;
  Value kb_ = 1;
  StageRef out_, sum_, patches_;
};

}  // namespace

std::optional<Written> write_im2col(space::Builder& b, const Request& request) {
  if (request.algorithm != 1 + static_cast<int64_t>(Algorithm::kIm2col)) return std::nullopt;
  const auto c = match(b.state());
  if (!c) return std::nullopt;
  const te::ComputeOp& op = *c->chain.anchor;
  const int64_t bytes = op.output.dtype().bytes();
  const int64_t lanes = choose_lanes(op.axes[1].extent, bytes, b.target().cpu());
  const auto block = block_for(request, c->chain.final->output, lanes);
  if (!block || *block > b.target().cpu().lanes(bytes) || *block < 2) return std::nullopt;
  return Writer(*c, *block, b, request).run();
}

}  // namespace tenon::templates
