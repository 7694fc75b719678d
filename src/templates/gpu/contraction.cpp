// SPDX-License-Identifier: Apache-2.0
// Products of matrices and convolutions (schedule/algorithms/gemm.h): a block computes a tile of the
// result, its threads fetch pieces of both operands into shared memory together, and each sums up a
// small tile in registers. Where tiles are too few for the card, blocks share the sums, and a second
// kernel adds up what they found, in a fixed order.
#include "templates/gpu/contraction.h"

#include <algorithm>
#include <numeric>

#include "schedule/primitives/variant.h"
#include "templates/gpu/kernels.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

namespace {

using gpu::Tile;
using schedule::Gemm;
using schedule::GemmSide;

constexpr int64_t kLanes = 4;

// Tile sizes such that tiles of less than the extent are not twice as large as it.
std::vector<int64_t> sizes_for(std::vector<int64_t> sizes, int64_t extent, int64_t inner) {
  std::erase_if(sizes, [&](int64_t n) { return n > extent || n * inner > 2 * extent - 1; });
  if (sizes.empty()) sizes.push_back(1);
  return sizes;
}

std::vector<int64_t> divisors_up_to(int64_t n, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

// Elements between two steps of an axis; 0: no dimension goes by it alone. A tap of which there is
// only one moves nothing.
int64_t stride_of(const GemmSide& side, const te::Axis& axis, const Gemm& g) {
  ir::VarMap single;
  for (const te::Axis& a : g.sums) {
    if (a.extent == 1) single[a.var.node()] = ir::Expr(0);
  }
  int64_t stride = 0;
  for (size_t d = 0; d < side.read->indices.size(); ++d) {
    if (!ir::uses_var(side.read->indices[d], axis.var.node())) continue;
    if (stride != 0 || !ir::substitute(side.read->indices[d], single).same_as(axis.var)) return 0;
    stride = side.read->buffer->strides[d];
  }
  return stride;
}

bool is_along_sum(const GemmSide& side, const Gemm& g) {
  return !side.constant && stride_of(side, g.sums.back(), g) == 1 &&
         g.sums.back().extent % kLanes == 0;
}

class GpuContraction {
 public:
  GpuContraction(const Chain& chain, const Gemm& g, Builder& b)
      : chain_(chain),
        g_(g),
        b_(b),
        op_(*chain.anchor),
        anchor_(b.stage(op_.name())),
        final_(b.stage(chain.final->name())) {}

  // Returns the stage that has to add up what blocks have found, if there is one.
  std::optional<StageRef> run(const std::vector<std::string>& like_output) {
    ask_tile();
    b_.variant(anchor_, schedule::Algorithm::kGemm);
    product_ = made(b_, op_.name() + ".g");
    lay_out(g_.slow, "x");
    lay_out(g_.fast, "y");
    for (const te::ComputeOp* op : chain_.inlined) b_.compute_inline(b_.stage(op->name()));
    split_ > 1 ? write_split() : write_whole(like_output);
    return split_ > 1 ? std::optional(product_) : std::nullopt;
  }

 private:
  Value ask(int number, const char* name, std::vector<int64_t> values, int64_t rule,
            int64_t Tile::*size) {
    const Domain domain = Domain::of(std::move(values));
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      if (size == &Tile::split) return gpu::shown_split(trace, g_.length);
      const auto tile = gpu::shown_tile(trace);
      return tile ? std::optional((*tile).*size) : std::nullopt;
    };
    return b_.ask({HoleKind::kFactor, final_.id, number}, name, domain, domain.nearest(rule),
                  nullptr, read);
  }

  void ask_tile() {
    const Tile rule = gpu::choose_tile(gpu::product_size(g_), b_.target().gpu());
    const int64_t slow = g_.slow.extent, fast = g_.fast.extent;
    slow_ = ask(1, "slow", sizes_for({1, 2, 4, 8, 16}, slow, 1), rule.slow, &Tile::slow);
    fast_ = ask(2, "fast", sizes_for({1, 2, 4, 7, 8}, fast, 1), rule.fast, &Tile::fast);
    slow_threads_ = ask(3, "slow_threads", sizes_for({1, 2, 4, 8, 16, 32}, slow, slow_),
                        rule.slow_threads, &Tile::slow_threads);
    fast_threads_ = ask(4, "fast_threads", sizes_for({1, 2, 4, 8, 16, 32, 64}, fast, fast_),
                        rule.fast_threads, &Tile::fast_threads);
    split_ = ask(5, "split", divisors_up_to(g_.length, 64), rule.split, &Tile::split);
    depth_ = ask(6, "depth", divisors_up_to(g_.length / split_, 64), depth_by_rule(), &Tile::depth);
  }

  // Pieces of the sum that have one tap of a window are fetched with the least arithmetic.
  int64_t depth_by_rule() const {
    constexpr int64_t kMost = 32, kLeast = 8;
    const int64_t rest = g_.length / split_;
    const int64_t one_tap = gpu::depth_for(std::gcd(rest, g_.sums.back().extent), kMost);
    return one_tap >= kLeast ? one_tap : gpu::depth_for(rest, kMost);
  }

  void lay_out(const GemmSide& side, const char* name) {
    if (b_.refused()) return;
    if (side.constant) return lay_out_constant(side);
    if (!in_quads(side)) return;
    // i p  =>  i/4 p 4: four numbers that lie side by side in memory are fetched at once.
    const StageRef stage = made(b_, op_.name() + "." + name);
    const auto rank = static_cast<int64_t>(b_.now(stage).axes.size());
    b_.layout_split(stage, rank - 2, {g_.length / kLanes, kLanes});
    std::vector<int64_t> order;
    for (int64_t d = 0; d + 1 < rank; ++d) order.push_back(d);
    order.insert(order.end(), {rank, rank - 1});
    b_.layout_reorder(stage, order);
  }

  // The operand is read along the sum without gaps, and so are the pieces of it.
  bool in_quads(const GemmSide& side) const {
    return is_along_sum(side, g_) && depth_ % kLanes == 0;
  }
  // Neighbours along the side are neighbours in memory.
  bool in_rows(const GemmSide& side) const {
    if (side.constant) return true;
    int64_t step = 1;
    for (size_t d = side.first + side.count; d-- > side.first;) {
      if (stride_of(side, op_.axes[d], g_) != step) return false;
      step *= op_.axes[d].extent;
    }
    return true;
  }

  // A constant is stored as it is fetched: along the sums outside, along its side inside.
  void lay_out_constant(const GemmSide& side) {
    std::vector<int64_t> order, along, own;
    for (size_t d = 0; d < side.read->indices.size(); ++d) {
      const auto axis = plain_axis(side.read->indices[d], op_);
      if (axis && *axis >= op_.axes.size()) continue;
      (axis && side.holds(*axis) ? own : order).push_back(static_cast<int64_t>(d));
    }
    for (const te::Axis& a : g_.sums) {
      for (size_t d = 0; d < side.read->indices.size(); ++d) {
        if (side.read->indices[d].same_as(a.var)) along.push_back(static_cast<int64_t>(d));
      }
    }
    const auto outside = static_cast<int64_t>(order.size());
    order.insert(order.end(), along.begin(), along.end());
    order.insert(order.end(), own.begin(), own.end());
    const StageRef stage = b_.stage(side.read->buffer.name());
    if (!std::is_sorted(order.begin(), order.end())) b_.layout_reorder(stage, order);
    const auto sums = static_cast<int64_t>(along.size()), mine = static_cast<int64_t>(own.size());
    if (mine > 1) b_.layout_fuse(stage, outside + sums, mine);
    if (sums > 1) b_.layout_fuse(stage, outside, sums);
  }

  // One kernel: the product is computed where its result is finished.
  void write_whole(const std::vector<std::string>& like_output) {
    for (const std::string& name : like_output) fuse_sides(b_.stage(name));
    std::vector<Loop> outer;
    for (const size_t d : g_.outer) outer.push_back(b_.axis(final_, place(d)));
    const Loop threads = tile_result(outer, b_.axis(final_, place(g_.slow.first)),
                                     b_.axis(final_, place(g_.fast.first)));
    sum_up(product_, threads);
  }

  // Sums of blocks in one kernel; what they add up to belongs to another.
  void write_split() {
    const size_t rank = g_.outer.size() + 2;
    const auto [blocks, rest] = b_.split<2>(b_.axis(product_, rank), {g_.length / split_});
    const StageRef parts = b_.rfactor(blocks, 0);
    const StageRef sum = b_.cache_write(parts, ir::Scope::kRegister);
    if (b_.refused()) return;
    std::vector<Loop> outer;
    for (size_t d = 0; d <= g_.outer.size(); ++d) outer.push_back(b_.axis(parts, d));
    const Loop threads = tile_result(outer, b_.axis(parts, rank - 1), b_.axis(parts, rank));
    sum_up(sum, threads);
  }

  // Neighbouring axes of a side are one dimension of the storage; the later side first, so that
  // places before it stay.
  void fuse_sides(StageRef stage) {
    for (const GemmSide* s : {&g_.fast, &g_.slow}) {
      if (s->count < 2) continue;
      b_.layout_fuse(stage, static_cast<int64_t>(s->first), static_cast<int64_t>(s->count));
    }
  }
  // Where an axis lies after that.
  size_t place(size_t axis) const {
    size_t at = axis;
    for (const GemmSide* s : {&g_.slow, &g_.fast}) {
      if (axis > s->first) at -= std::min(axis, s->first + s->count - 1) - s->first;
    }
    return at;
  }

  // The tile of a block: threads, and elements of each. Returns the loop of the threads.
  Loop tile_result(std::vector<Loop> order, Loop slow, Loop fast) {
    const bool vectors = fast_ % kLanes == 0 && g_.fast.extent % kLanes == 0;
    const size_t outer = order.size();
    const auto [s0, s1, s2] = b_.split<3>(slow, {slow_threads_, slow_});
    std::vector<Value> cut{fast_threads_, fast_};
    if (vectors && fast_ > kLanes) cut = {fast_threads_, fast_ / kLanes, kLanes};
    const std::vector<Loop> f = b_.split(fast, cut);
    if (b_.refused()) return {};
    order.insert(order.end(), {s0, f[0], s1, f[1], s2});
    order.insert(order.end(), f.begin() + 2, f.end());
    b_.reorder(order);
    order.resize(outer);
    if (outer > 0) b_.bind(b_.fuse(order), ir::ThreadTag::kBlockZ);
    b_.bind(s0, ir::ThreadTag::kBlockY);
    b_.bind(f[0], ir::ThreadTag::kBlockX);
    b_.bind(s1, ir::ThreadTag::kThreadY);
    b_.bind(f[1], ir::ThreadTag::kThreadX);
    b_.unroll(s2);
    for (size_t i = 2; i + 1 < f.size(); ++i) b_.unroll(f[i]);
    vectors ? b_.vectorize(f.back()) : b_.unroll(f.back());
    return f[1];
  }

  // The tile of a thread, and what all threads fetch for it.
  void sum_up(StageRef sum, Loop threads) {
    b_.compute_at(sum, threads);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{sum, ir::Scope::kRegister});
    const size_t rank = b_.now(sum).axes.size();
    const StageRef slow = operand(g_.slow, "x", sum), fast = operand(g_.fast, "y", sum);
    const auto [steps, depth] = b_.split<2>(b_.axis(sum, rank), {depth_});
    std::vector<Loop> order;
    for (size_t d = 0; d + 2 < rank; ++d) order.push_back(b_.axis(sum, d));
    order.insert(order.end(), {steps, depth, b_.axis(sum, rank - 2), b_.axis(sum, rank - 1)});
    b_.reorder(order);
    // A register is named by a constant.
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] != steps) b_.unroll(order[i]);
    }
    const auto shown = [](const schedule::Trace& trace) -> std::optional<int64_t> {
      return std::any_of(trace.begin(), trace.end(), [](const schedule::Step& s) {
        return std::holds_alternative<schedule::Pipeline>(s);
      });
    };
    const Value pipeline =
        b_.ask({HoleKind::kSwitch, final_.id, 0}, "pipeline", Domain::range(0, 1),
               b_.extent(steps) > 1 ? 1 : 0, nullptr, shown);
    if (pipeline == 1) b_.add(schedule::Pipeline{steps.stage, steps.id});
    fetch(fast, g_.fast, fast_threads_ * fast_, steps);
    fetch(slow, g_.slow, slow_threads_ * slow_, steps);
  }

  StageRef operand(const GemmSide& side, const char* name, StageRef sum) {
    if (!side.constant) return made(b_, op_.name() + "." + name);
    return b_.cache_read(b_.stage(side.read->buffer.name()), {sum}, ir::Scope::kShared);
  }

  void fetch(StageRef stage, const GemmSide& side, int64_t width, Loop steps) {
    b_.compute_shared(stage, steps);
    const bool rows = in_rows(side) && width % kLanes == 0 && side.extent % kLanes == 0;
    const bool vectors = in_quads(side) || rows;
    // A result that is smaller than a tile has fewer threads.
    const int64_t y = std::min<int64_t>(slow_threads_, arith::ceil_div(g_.slow.extent, slow_));
    const int64_t x = std::min<int64_t>(fast_threads_, arith::ceil_div(g_.fast.extent, fast_));
    gpu::fetch_together(b_, stage, y, x, vectors ? kLanes : 1);
  }

  const Chain& chain_;
  const Gemm& g_;
  Builder& b_;
  const te::ComputeOp& op_;
  StageRef anchor_, final_, product_;
  Value slow_threads_ = 1, fast_threads_ = 1, slow_ = 1, fast_ = 1, split_ = 1, depth_ = 1;
};

}  // namespace

gpu::ProductSize gpu::product_size(const Gemm& g) {
  return {.outer = g.outer_extent,
          .slow = g.slow.extent,
          .fast = g.fast.extent,
          .length = g.length,
          .quads = is_along_sum(g.slow, g)};
}

std::optional<StageRef> gpu::write_product(Builder& b, const Chain& chain, const Gemm& g,
                                           const std::vector<std::string>& like_output) {
  return GpuContraction(chain, g, b).run(like_output);
}

std::optional<Written> write_gpu_contraction(Builder& b, const Request& request) {
  const te::ComputeDag& dag = b.dag();
  const auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const auto g = schedule::find_gemm(b.state(), *chain->anchor);
  if (!g) return std::nullopt;
  gpu::store_edges(b, request);
  if (const auto sum = gpu::write_product(b, *chain, *g, stored_like_output(dag, *chain))) {
    const auto element = gpu::bind_elements(b, b.stage(chain->final->name()));
    if (element) b.compute_at(*sum, *element);
    gpu::write_out_sums(b, *sum);
  }
  return Written{};
}

}  // namespace tenon::templates
