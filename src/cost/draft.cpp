// SPDX-License-Identifier: Apache-2.0
#include "cost/draft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "cost/gpu_draft.h"
#include "cost/nest.h"

namespace tenon::cost {
namespace {

using schedule::Mark;

// The cores of all targets have these in common, near enough to rank programs.
constexpr double kClock = 3e9;
constexpr double kArithmeticUnits = 2, kLoadUnits = 2, kStoreUnits = 1;
constexpr double kIssued = 5;         // instructions in a cycle
constexpr double kWindow = 256;       // instructions that may wait for others
constexpr double kTurn = 2;           // instructions of a loop's own in each turn
constexpr double kLatency = 4;        // cycles of an addition or a multiply-add
constexpr double kThroughMemory = 5;  // cycles more where the sum is stored and loaded again
constexpr double kFork_s = 3e-6;      // threads are woken and waited for
constexpr double kL2Bytes = 32, kL3Bytes = 12;  // that arrive from there in a cycle
constexpr double kShown =
    0.25;  // of the times that run beside the longest: little waits for nothing

constexpr size_t kCaches = 3;

class NestTime {
 public:
  explicit NestTime(const target::Cpu& cpu) : cpu_(cpu) {}

  // It may be asked for one nest after the other: the memory it works with is kept.
  double seconds(const DraftNest& n) {
    n_ = &n;
    lanes_ = cpu_.lanes(static_cast<int64_t>(n.accesses[0].bytes));
    find_moves();
    find_tile();
    find_parallel();
    find_working_sets();
    const double core = compute_cycles() * share_;
    const std::array<double, kCaches> bytes = traffic();
    const double l2 = bytes[0] / kL2Bytes * share_, l3 = bytes[1] / kL3Bytes * share_;
    const double memory = bytes[2] / memory_bytes();
    const double longest = std::max({core, l2, l3, memory});
    const double all = core + l2 + l3 + memory;
    return (longest + kShown * (all - longest)) / kClock + (forks_ ? kFork_s : 0);
  }

 private:
  // ---- loops ----

  bool in_tile(size_t loop) const {
    return loop >= tile_ || n_->loops[loop].mark == Mark::kVectorize;
  }
  bool moves(size_t access, size_t loop) const { return moves_[access * n_->loops.size() + loop]; }
  void find_moves() {
    const size_t loops = n_->loops.size();
    moves_.assign(n_->accesses.size() * loops, 0);
    for (size_t i = 0; i < n_->accesses.size(); ++i) {
      const DraftAccess& a = n_->accesses[i];
      for (size_t d = a.first; d < a.end; ++d) {
        const std::span<const Reach> row = n_->reach.row(n_->dims[d].row);
        for (size_t l = a.from; l < loops; ++l) {
          if (row[l].span > 0) moves_[i * loops + l] = 1;
        }
      }
    }
  }
  const DraftAccess& stored() const { return n_->accesses[0]; }
  bool reduction() const { return n_->stage->op->is_reduction(); }

  // The loops that leave straight code.
  void find_tile() {
    tile_ = n_->loops.size();
    width_ = group_ = 1;
    while (tile_ > n_->own) {
      const Mark m = n_->loops[tile_ - 1].mark;
      if (m != Mark::kVectorize && m != Mark::kUnroll && m != Mark::kTensorize) break;
      --tile_;
    }
    for (const DraftLoop& l : n_->loops) {
      if (l.mark == Mark::kVectorize) width_ = std::min(l.extent, lanes_);
      if (l.mark == Mark::kTensorize) group_ = l.extent;
    }
  }

  void find_parallel() {
    double pieces = 1;
    forks_ = false;
    for (size_t l = 0; l < n_->loops.size(); ++l) {
      if (n_->loops[l].mark != Mark::kParallel) continue;
      pieces *= n_->loops[l].extent;
      forks_ = forks_ || l >= n_->own;
    }
    threads_ = std::min<double>(cpu_.cores, pieces);
    share_ = std::ceil(pieces / threads_) / pieces;
  }

  // How many instructions a loop makes of one: lanes share one, and so do the groups of a dot product.
  double copies(const DraftLoop& l) const {
    if (l.mark == Mark::kTensorize) return 1;
    return l.mark == Mark::kVectorize ? std::ceil(l.extent / lanes_) : l.extent;
  }

  // ---- the core ----

  // Lanes that stand side by side are one access, others are one each.
  double accesses(size_t access, bool spatial_only) const {
    const DraftAccess& a = n_->accesses[access];
    double n = 1;
    for (size_t l = n_->own; l < n_->loops.size(); ++l) {
      const DraftLoop& loop = n_->loops[l];
      if (!in_tile(l) || !moves(access, l) || (spatial_only && loop.reduces)) continue;
      n *= loop.mark == Mark::kVectorize && !side_by_side(a, l) ? loop.extent : copies(loop);
    }
    return n;
  }
  bool side_by_side(const DraftAccess& a, size_t loop) const {
    double step = 0;
    for (size_t d = a.first; d < a.end; ++d) {
      step += std::abs(n_->of(a, n_->dims[d], loop).step) * n_->dims[d].stride;
    }
    return step == 1 || step == group_;
  }
  // A vector of the widest registers takes two turns where the units are half as wide.
  double halves() const {
    return std::max(1.0, width_ * stored().bytes / static_cast<double>(cpu_.datapath_bytes));
  }

  struct Tile {
    double copies = 1, turns = 1;  // of the body; of the tile
    double chain = 1;              // steps of the sum
    double loads = 0, stores = 0;
    double registers = 1;
  };

  Tile tile() const {
    Tile t;
    for (size_t l = 0; l < n_->loops.size(); ++l) {
      const DraftLoop& loop = n_->loops[l];
      (in_tile(l) ? t.copies : t.turns) *= copies(loop);
      if (in_tile(l) && loop.reduces) t.chain *= copies(loop);
    }
    double most = 0, live = 0;
    for (size_t i = 1; i < n_->accesses.size(); ++i) {
      const DraftAccess& a = n_->accesses[i];
      if (a.in_registers) continue;
      t.loads += accesses(i, false);
      const double held = accesses(i, true);
      live += held;
      most = std::max(most, held);
    }
    t.registers += live - most;  // those of one operand are used as they come
    return t;
  }

  // Turns of the loops right around the tile that add to the same sums.
  double turns_on_the_spot() const {
    double n = 1;
    for (size_t l = tile_; l-- > 0;) {
      if (in_tile(l)) continue;
      if (moves(0, l) || !n_->loops[l].reduces) break;
      n *= n_->loops[l].extent;
    }
    return n;
  }

  double compute_cycles() const {
    Tile t = tile();
    double chain = 0, beside = 1;  // of the chain: how many run at once
    const double sums = accesses(0, true);
    if (!reduction()) {
      t.stores += sums;
    } else {
      const double stay = turns_on_the_spot();
      t.registers += sums;
      const double lacking =
          std::max(0.0, t.registers - static_cast<double>(cpu_.vector_registers));
      const double moved = (stored().in_registers ? 0 : sums / stay) + lacking * t.chain;
      t.loads += moved;
      t.stores += moved;
      // Sums that begin anew in the next turn do not wait for those of this one.
      if (stay > 1) chain = t.chain * (kLatency + (lacking > 0 ? kThroughMemory : 0));
      beside = kWindow / (stay * (t.copies * n_->ops + t.loads + kTurn));
    }
    const double arithmetic = t.copies * n_->ops;
    const double issued = arithmetic + t.loads + t.stores + kTurn;
    const double cycles = std::max(
        {arithmetic * halves() / kArithmeticUnits, t.loads * halves() / kLoadUnits,
         t.stores * halves() / kStoreUnits, chain / std::max(1.0, beside), issued / kIssued});
    return t.turns * cycles;
  }

  // ---- caches ----

  // Bytes of the lines that each access touches while the loops from one on run, for every loop; and their sum.
  void find_working_sets() {
    const size_t n = n_->loops.size();
    working_sets_.assign(n + 1, 0);
    all_.clear();
    for (size_t i = 0; i < n_->accesses.size(); ++i) {
      const DraftAccess& a = n_->accesses[i];
      if (a.in_registers) {
        all_.push_back(0);
        continue;
      }
      covered_.assign(a.end - a.first, 1);
      double bytes = lines(a);
      working_sets_[n] += bytes;
      for (size_t l = n; l-- > 0;) {
        if (moves(i, l)) {
          for (size_t d = a.first; d < a.end; ++d) {
            covered_[d - a.first] += n_->of(a, n_->dims[d], l).span;
          }
          bytes = lines(a);
        }
        working_sets_[l] += bytes;
      }
      all_.push_back(bytes);
    }
  }
  double lines(const DraftAccess& a) const {
    double elements = 1, run = a.bytes;
    bool on = true;
    for (size_t d = a.end; d-- > a.first;) {
      const double extent = n_->dims[d].extent, width = std::min(covered_[d - a.first], extent);
      elements *= width;
      if (on) run *= width;
      on = on && width == extent;
    }
    return elements * a.bytes * std::max(1.0, static_cast<double>(cpu_.line_bytes) / run);
  }

  // Bytes that arrive in each cache.
  std::array<double, kCaches> traffic() const {
    const double l2 = static_cast<double>(cpu_.l2_bytes), l3 = static_cast<double>(cpu_.l3_bytes);
    const std::array<double, kCaches> sizes{static_cast<double>(cpu_.l1d_bytes), l2,
                                            std::max(l2, l3)};
    std::array<double, kCaches> out{};
    for (size_t i = 0; i < n_->accesses.size(); ++i) {
      const DraftAccess& a = n_->accesses[i];
      for (size_t c = 0; c < kCaches; ++c) {
        // What the program makes itself is there already, and what is written goes back too.
        const double first = a.own && all_[i] <= sizes[c] ? 0 : 1;
        out[c] += (times(i, sizes[c]) - 1 + first) * all_[i] * (a.written ? 2 : 1);
      }
    }
    return out;
  }
  double times(size_t access, double size) const {
    double n = 1;
    for (size_t l = 0; l < n_->loops.size(); ++l) {
      if (working_sets_[l + 1] > size && !moves(access, l)) n *= n_->loops[l].extent;
    }
    return n;
  }

  // From memory in a cycle, for all threads together.
  double memory_bytes() const {
    const double flops = 2 * kArithmeticUnits * cpu_.datapath_bytes / 4;
    const double further = std::min(threads_, static_cast<double>(cpu_.rates.bandwidth_cores)) - 1;
    return flops / cpu_.rates.flops_per_byte * (1 + cpu_.rates.bandwidth_per_core * further);
  }

  const target::Cpu& cpu_;
  const DraftNest* n_ = nullptr;
  double lanes_ = 1;
  double width_ = 1;  // lanes in use
  double group_ = 1;  // elements of a dot product that lie in one lane
  size_t tile_ = 0;   // the first loop of the straight code
  bool forks_ = false;
  double threads_ = 1, share_ = 1;
  std::vector<char> moves_;           // access x loop
  std::vector<double> working_sets_;  // by the first loop that runs
  std::vector<double> all_;           // by access: all loops run
  std::vector<double> covered_;       // by dimension of one access
};

}  // namespace

double draft_seconds(const schedule::State& s, const schedule::Bounds& b) {
  if (!s.target().is_cpu()) return gpu_draft_seconds(s, b);
  double total = 0;
  NestTime time(s.target().cpu());
  for_each_nest(s, b, [&](const DraftNest& n) { total += time.seconds(n); });
  return total;
}

}  // namespace tenon::cost
