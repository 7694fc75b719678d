// SPDX-License-Identifier: Apache-2.0
// Products of matrices and convolutions (schedule/algorithms/gemm.h): a block computes a tile of the
// result, its threads fetch pieces of both operands into shared memory together, and each sums up a
// small tile in registers. Where tiles are too few for the card, blocks share the sums, and a second
// kernel adds up what they found, in a fixed order.
#include "templates/gpu/contraction.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "schedule/primitives/variant.h"
#include "templates/gpu/kernels.h"
#include "templates/gpu/operands.h"
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

class GpuContraction {
 public:
  GpuContraction(const Chain& chain, const Gemm& g, Builder& b)
      : chain_(chain),
        g_(g),
        b_(b),
        op_(*chain.anchor),
        operands_(b, op_, g, tile_),
        anchor_(b.stage(op_.name())),
        final_(b.stage(chain.final->name())) {}

  // Returns the stage that has to add up what blocks have found, if there is one.
  std::optional<StageRef> run(const std::vector<std::string>& like_output) {
    ask_tile();
    b_.variant(anchor_, schedule::Algorithm::kGemm);
    product_ = made(b_, op_.name() + ".g");
    operands_.lay_out();
    for (const te::ComputeOp* op : chain_.inlined) b_.compute_inline(b_.stage(op->name()));
    split_ > 1 ? write_split() : write_whole(like_output);
    return split_ > 1 ? std::optional(product_) : std::nullopt;
  }

 private:
  struct Place {
    Loop block, threads;
  };

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
    depth_ =
        ask(6, "depth", divisors_up_to(g_.length / split_, 64), depth_by_rule(rule), &Tile::depth);
    groups_ = ask(7, "groups", groups(), rule.groups, &Tile::groups);
    tile_ = {.slow_threads = slow_threads_,
             .fast_threads = fast_threads_,
             .slow = slow_,
             .fast = fast_,
             .depth = depth_,
             .split = split_,
             .groups = groups_};
  }

  // Each group has vectors of the sum, and an equal share of a thread's tile to add up. In a tile
  // that is larger than the result some would have none.
  std::vector<int64_t> groups() const {
    constexpr int64_t kMost = 8, kThreads = 1024;
    const int64_t threads = slow_threads_ * fast_threads_;
    std::vector<int64_t> out{1};
    if (g_.slow.extent < slow_threads_ * slow_) return out;
    for (int64_t n = 2; n <= kMost; n *= 2) {
      if (depth_ % (n * kLanes) == 0 && slow_ % n == 0 && n * threads <= kThreads) out.push_back(n);
    }
    return out;
  }

  // Pieces of the sum that have one tap of a window are fetched with the least arithmetic.
  int64_t depth_by_rule(const Tile& rule) const {
    constexpr int64_t kLeast = 8;
    const int64_t rest = g_.length / split_, most = gpu::most_depth(rule.groups);
    const int64_t one_tap = gpu::depth_for(std::gcd(rest, g_.sums.back().extent), most);
    return one_tap >= kLeast ? one_tap : gpu::depth_for(rest, most);
  }

  // One kernel: the product is computed where its result is finished.
  void write_whole(const std::vector<std::string>& like_output) {
    for (const std::string& name : like_output) fuse_sides(b_.stage(name));
    const StageRef sum = groups_ > 1 ? share_out(product_) : product_;
    std::vector<Loop> outer;
    for (const size_t d : g_.outer) outer.push_back(b_.axis(final_, place(d)));
    const Place at = tile_result(outer, b_.axis(final_, place(g_.slow.first)),
                                 b_.axis(final_, place(g_.fast.first)), groups_);
    groups_ > 1 ? add_up(product_, sum, at) : sum_up(sum, at.threads);
  }

  // Sums of blocks in one kernel; what they add up to belongs to another.
  void write_split() {
    const size_t rank = g_.outer.size() + 2;
    const auto [blocks, rest] = b_.split<2>(b_.axis(product_, rank), {g_.length / split_});
    const StageRef parts = b_.rfactor(blocks, 0);
    const StageRef all = b_.cache_write(parts, ir::Scope::kRegister);
    if (b_.refused()) return;
    const StageRef sum = groups_ > 1 ? share_out(all) : all;
    std::vector<Loop> outer;
    for (size_t d = 0; d <= g_.outer.size(); ++d) outer.push_back(b_.axis(parts, d));
    const Place at = tile_result(outer, b_.axis(parts, rank - 1), b_.axis(parts, rank), groups_);
    groups_ > 1 ? add_up(all, sum, at) : sum_up(sum, at.threads);
  }

  // Groups of threads take turns along the sum. Returns the stage that has what each group found.
  StageRef share_out(StageRef all) {
    const size_t rank = b_.now(all).axes.size();
    const auto [steps, groups, depth] =
        b_.split<3>(b_.axis(all, rank), {groups_, depth_ / groups_});
    return b_.rfactor(groups, 0);
  }

  // Each group leaves its tile in shared memory, and all threads add them up.
  void add_up(StageRef all, StageRef found, const Place& at) {
    if (b_.refused()) return;
    b_.compute_at(all, at.threads);
    for (const Loop& l : b_.leaves(all)) b_.unroll(l);
    const StageRef sum = b_.cache_write(found, ir::Scope::kRegister);
    b_.compute_shared(found, at.block);
    if (b_.refused()) return;
    const size_t rank = b_.now(found).axes.size();
    const auto [y, slow] = b_.split<2>(b_.axis(found, rank - 2), {slow_});
    const bool vectors = fast_ % kLanes == 0;
    std::vector<Value> cut{fast_};
    if (vectors && fast_ > kLanes) cut = {fast_ / kLanes, kLanes};
    const std::vector<Loop> f = b_.split(b_.axis(found, rank - 1), cut);
    std::vector<Loop> order;
    for (size_t d = 0; d + 2 < rank; ++d) order.push_back(b_.axis(found, d));
    b_.bind(order[0], ir::ThreadTag::kThreadZ);
    order.insert(order.end(), {y, f[0], slow});
    order.insert(order.end(), f.begin() + 1, f.end());
    b_.reorder(order);
    b_.bind(y, ir::ThreadTag::kThreadY);
    b_.bind(f[0], ir::ThreadTag::kThreadX);
    b_.unroll(slow);
    if (f.size() > 2) b_.unroll(f[1]);
    vectors ? b_.vectorize(f.back()) : b_.unroll(f.back());
    sum_up(sum, f[0]);
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

  // The tile of a block: threads, and elements of each.
  Place tile_result(std::vector<Loop> order, Loop slow, Loop fast, int64_t groups) {
    const bool vectors = fast_ % kLanes == 0 && g_.fast.extent % kLanes == 0;
    const size_t outer = order.size();
    std::vector<Value> rows{slow_threads_, slow_};
    if (groups > 1) rows = {groups, slow_threads_, slow_ / groups};
    const std::vector<Loop> s = b_.split(slow, rows);
    std::vector<Value> cut{fast_threads_, fast_};
    if (vectors && fast_ > kLanes) cut = {fast_threads_, fast_ / kLanes, kLanes};
    const std::vector<Loop> f = b_.split(fast, cut);
    if (b_.refused()) return {};
    order.insert(order.end(), {s[0], f[0]});
    order.insert(order.end(), s.begin() + 1, s.end() - 1);
    order.insert(order.end(), {f[1], s.back()});
    order.insert(order.end(), f.begin() + 2, f.end());
    b_.reorder(order);
    order.resize(outer);
    if (outer > 0) b_.bind(b_.fuse(order), ir::ThreadTag::kBlockZ);
    b_.bind(s[0], ir::ThreadTag::kBlockY);
    b_.bind(f[0], ir::ThreadTag::kBlockX);
    if (groups > 1) b_.bind(s[1], ir::ThreadTag::kThreadZ);
    b_.bind(s[s.size() - 2], ir::ThreadTag::kThreadY);
    b_.bind(f[1], ir::ThreadTag::kThreadX);
    b_.unroll(s.back());
    for (size_t i = 2; i + 1 < f.size(); ++i) b_.unroll(f[i]);
    vectors ? b_.vectorize(f.back()) : b_.unroll(f.back());
    return {f[0], f[1]};
  }

  // The tile of a thread, and what all threads fetch for it.
  void sum_up(StageRef sum, Loop threads) {
    b_.compute_at(sum, threads);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{sum, ir::Scope::kRegister});
    const size_t rank = b_.now(sum).axes.size();
    const StageRef slow = operands_.slow(sum), fast = operands_.fast(sum);
    const auto [steps, depth] = cut_sum(sum);
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
    operands_.fetch_fast(fast, steps);
    operands_.fetch_slow(slow, steps);
  }

  // The steps between which threads wait for each other, and what a thread adds up in one.
  std::array<Loop, 2> cut_sum(StageRef sum) {
    const size_t rank = b_.now(sum).axes.size();
    if (groups_ > 1) return {b_.axis(sum, rank), b_.axis(sum, rank + 1)};
    return b_.split<2>(b_.axis(sum, rank), {depth_});
  }

  const Chain& chain_;
  const Gemm& g_;
  Builder& b_;
  const te::ComputeOp& op_;
  Tile tile_;  // as it was asked for
  gpu::Operands operands_;
  StageRef anchor_, final_, product_;
  Value slow_threads_ = 1, fast_threads_ = 1, slow_ = 1, fast_ = 1, split_ = 1, depth_ = 1,
        groups_ = 1;
};

}  // namespace

gpu::ProductSize gpu::product_size(const Gemm& g) {
  return {.outer = g.outer_extent,
          .slow = g.slow.extent,
          .fast = g.fast.extent,
          .length = g.length,
          .constant_fast = g.fast.constant};
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
