// SPDX-License-Identifier: Apache-2.0
// A reduction and the element-wise ops behind it in one nest, whatever layout of basic steps the
// result has: sums are stored alike and taken a vector of the result at a time, or the few vectors
// after which what they read repeats, so that no result waits in memory for what follows it.
#include "templates/anchor.h"
#include "templates/loops.h"
#include "templates/periods.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Loop;

namespace {

constexpr int64_t kFewSummands = 8;  // which are all unrolled

// Splits, permutations and joins of dimensions: every element once, nothing in between.
bool is_basic(const layout::Layout& l) {
  for (const layout::LayoutStep& s : l.steps()) {
    if (s.op != layout::LayoutOp::kSplit && s.op != layout::LayoutOp::kReorder &&
        s.op != layout::LayoutOp::kFuse)
      return false;
  }
  return true;
}

class Writer {
 public:
  Writer(const Chain& c, space::Builder& b, const Request& request)
      : b_(b), request_(request), c_(c), out_(b.stage(c.final->name())) {}

  void run(const layout::Layout& stored) {
    sum_ = b_.cache_write(b_.stage(c_.anchor->name()), ir::Scope::kLocal);
    for (const te::ComputeOp* op : c_.inlined) b_.compute_inline(b_.stage(op->name()));
    store_fixed_inputs(b_, request_);
    b_.store(out_, stored);
    b_.store(sum_, stored);
    if (!b_.refused()) tile();
  }

 private:
  void tile() {
    const size_t rank = b_.now(out_).axes.size();
    std::vector<Loop> loops;
    int64_t work = 1;
    for (size_t d = 0; d < rank; ++d) {
      loops.push_back(b_.axis(out_, d));
      work *= b_.extent(loops.back());
    }
    const bool vectors = cut_last(loops);
    b_.compute_at(sum_, loops.back());
    for (const te::Axis& a : b_.now(sum_).reduce_axes) work *= a.extent;
    tile_sum(vectors);
    if (loops.size() > 1) loops.pop_back();  // what is attached stays at a loop of its own
    deal_out(b_, loops, work);
  }

  // The last loop, or a part of it, becomes vectors if it is long enough; `loops` are those outside
  // of them then.
  bool cut_last(std::vector<Loop>& loops) {
    v_ = b_.target().cpu().lanes(b_.now(sum_).output.dtype().bytes());
    const int64_t extent = b_.extent(loops.back());
    if (v_ >= 2 && extent > v_) {
      side_by_side_ = vectors_of_period(b_.now(sum_), v_);
      loops.back() = cut_vectors(loops.back());
      return true;
    }
    if (v_ < 2 || extent < 2 || loops.size() < 2) return false;
    b_.vectorize(loops.back());
    loops.pop_back();
    return true;
  }

  // Returns the loop outside of the vectors that stand side by side.
  Loop cut_vectors(Loop all) {
    if (side_by_side_ == 1) {
      const auto [outer, lanes] = b_.split<2>(all, {v_});
      b_.vectorize(lanes);
      return outer;
    }
    const auto [outer, vectors, lanes] = b_.split<3>(all, {side_by_side_, v_});
    b_.unroll(vectors);
    b_.vectorize(lanes);
    return outer;
  }

  void tile_sum(bool vectors) {
    const te::ComputeOp& sum = b_.now(sum_);
    const size_t rank = sum.axes.size();
    std::vector<Loop> order;
    int64_t summands = 1;
    for (size_t d = 0; d < sum.reduce_axes.size(); ++d) {
      order.push_back(b_.axis(sum_, rank + d));
      summands *= sum.reduce_axes[d].extent;
    }
    const std::vector<Loop> sums = order;
    order.push_back(b_.axis(sum_, rank - 1));
    if (side_by_side_ > 1) {
      const auto [all, lanes] = b_.split<2>(order.back(), {v_});
      b_.unroll(all);
      order.back() = all;
      order.push_back(lanes);
    }
    b_.reorder(order);
    if (vectors) b_.vectorize(order.back());
    for (const Loop& l : sums) {
      if (summands <= kFewSummands) b_.unroll(l);
    }
  }

  space::Builder& b_;
  const Request& request_;
  const Chain& c_;
  space::StageRef out_, sum_;
  int64_t v_ = 1;             // lanes
  int64_t side_by_side_ = 1;  // vectors
};

}  // namespace

std::optional<Written> write_fused(space::Builder& b, const Request& request) {
  const auto chain = find_chain(b.dag());
  if (!chain || chain->final == chain->anchor || chain->final->axes.empty()) return std::nullopt;
  const auto asked = request.fixed.find(chain->final->name());
  const layout::Layout stored =
      asked == request.fixed.end() ? layout::Layout(chain->final->output.shape()) : asked->second;
  if (!is_basic(stored)) return std::nullopt;
  Writer(*chain, b, request).run(stored);
  return Written{};
}

}  // namespace tenon::templates
