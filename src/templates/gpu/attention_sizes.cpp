// SPDX-License-Identifier: Apache-2.0
#include "templates/gpu/attention_sizes.h"

#include <algorithm>

#include "arith/linear.h"
#include "templates/anchor.h"
#include "templates/gpu/row_nests.h"

namespace tenon::templates::gpu {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::StageRef;
using space::Value;

namespace {

constexpr int64_t kBlock = 128;                       // threads
constexpr int64_t kMostThreads = 64;                  // along the columns of the result
constexpr int64_t kLeastDepth = 16, kMostDepth = 64;  // of a piece of V, by rule

std::vector<int64_t> up_to(std::vector<int64_t> sizes, int64_t most) {
  std::erase_if(sizes, [&](int64_t n) { return n > most; });
  if (sizes.empty()) sizes.push_back(most);
  return sizes;
}

class Asker {
 public:
  Asker(Builder& b, const te::Attention& a, StageRef out)
      : b_(b),
        a_(a),
        out_(out),
        rows_(a.scores->axes[a.row_axis()].extent),
        columns_(a.scores->axes.back().extent),
        width_(a.result->axes.back().extent) {}

  AttentionSizes run() {
    ask_width();
    int64_t threads = std::max<int64_t>(1, std::min(rows_, kBlock / s_.threads));
    while (threads > 1 && !fits(threads, 1, kLeastDepth)) threads /= 2;
    s_.rows = ask(2, "rows", up_to({1, 2, 4, 8}, rows_), rows_by_rule(threads));
    const int64_t most = arith::ceil_div(rows_, s_.rows.value);
    s_.row_threads = ask(3, "row_threads", up_to({1, 2, 4, 6, 8, 12, 16, 32}, most), threads);
    int64_t columns = kLanes;
    while (columns > 1 && !fits(block_rows(), columns, kLeastDepth)) columns /= 2;
    s_.columns = ask(4, "columns", up_to({1, 2, 4, 8}, columns_), columns);
    s_.depth = ask(5, "depth", depths(), depth_by_rule());
    ask_pipeline();
    return s_;
  }

 private:
  Value ask(int number, const char* name, std::vector<int64_t> values, int64_t rule) {
    const Domain domain = Domain::of(std::move(values));
    return b_.ask({HoleKind::kFactor, out_.id, number}, name, domain,
                  domain.empty() ? rule : domain.nearest(rule));
  }

  void ask_width() {
    constexpr int64_t kMostWidth = 16, kThreads = 16;
    const int64_t quads = width_ % kLanes == 0 ? kLanes : 1;
    int64_t rule = quads;
    while (arith::ceil_div(width_, rule) > kThreads) rule *= 2;
    std::vector<int64_t> widths;
    for (int64_t w = quads; w <= std::min(width_, kMostWidth); w *= 2) {
      if (arith::ceil_div(width_, w) <= kMostThreads) widths.push_back(w);
    }
    s_.width = ask(1, "width", std::move(widths), rule);
    s_.threads = arith::ceil_div(width_, s_.width.value);
  }

  void ask_pipeline() {
    const auto shown = [](const schedule::Trace& trace) -> std::optional<int64_t> {
      return std::any_of(trace.begin(), trace.end(), [](const schedule::Step& s) {
        return std::holds_alternative<schedule::Pipeline>(s);
      });
    };
    s_.pipeline =
        b_.ask({HoleKind::kSwitch, out_.id, 0}, "pipeline", Domain::range(0, 1), 1, nullptr, shown);
  }

  int64_t block_rows() const { return s_.rows * s_.row_threads; }

  // About what a block of so many rows needs, with pieces of K and V of these sizes.
  bool fits(int64_t rows, int64_t columns, int64_t depth) const {
    const int64_t sum = a_.scores->reduce_axes[0].extent + kLanes;
    const int64_t kept = rows * (3 * (columns_ + kLanes) + sum);
    const int64_t pieces = 2 * (s_.threads * columns * sum + depth * width_);
    return a_.result->output.dtype().bytes() * (kept + pieces) <=
           b_.target().gpu().shared_bytes_per_block;
  }

  // More rows of a thread read less, fewer of them fill the card.
  int64_t rows_by_rule(int64_t threads) const {
    constexpr int64_t kFixed = 2;  // of a block's time, in those of a row
    int64_t heads = 1, best = 1, least = 0;
    for (size_t d = 0; d < a_.row_axis(); ++d) heads *= a_.scores->axes[d].extent;
    for (const int64_t rows : {1, 2, 4}) {
      if (rows > 1 && !fits(rows * threads, kLanes, kMostDepth)) break;
      const int64_t blocks = heads * arith::ceil_div(rows_, rows * threads);
      const int64_t time =
          arith::ceil_div(blocks, int64_t{b_.target().gpu().multiprocessors}) * (kFixed + rows);
      if (least != 0 && time >= least) continue;
      least = time;
      best = rows;
    }
    return best;
  }

  // Whole pieces of V need no guards.
  std::vector<int64_t> depths() const {
    std::vector<int64_t> all = up_to({8, 16, 32, 64, 128}, columns_);
    for (int64_t d = 9; d <= std::min<int64_t>(columns_, 128); ++d) {
      if (columns_ % d == 0 && std::find(all.begin(), all.end(), d) == all.end()) all.push_back(d);
    }
    return all;
  }

  int64_t depth_by_rule() const {
    int64_t most = kMostDepth;
    while (most > kLeastDepth && !fits(block_rows(), s_.columns, most)) most /= 2;
    const int64_t whole = divisor(columns_, most);
    if (whole >= kLeastDepth) return whole;
    const bool one = columns_ <= 2 * kMostDepth && fits(block_rows(), s_.columns, columns_);
    return one ? columns_ : most;
  }

  Builder& b_;
  const te::Attention& a_;
  StageRef out_;
  int64_t rows_, columns_, width_;
  AttentionSizes s_;
};

}  // namespace

AttentionSizes ask_sizes(Builder& b, const te::Attention& a, StageRef out) {
  return Asker(b, a, out).run();
}

}  // namespace tenon::templates::gpu
