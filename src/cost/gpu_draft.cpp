// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu_draft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "cost/nest.h"
#include "ir/thread_tags.h"

namespace tenon::cost {
namespace {

using ir::Scope;
using ir::ThreadTag;
using schedule::Mark;

// The cards of all targets have these in common, near enough to rank programs.
constexpr double kClock = 1.8e9;
constexpr double kLaunch_s = 1.8e-6;
constexpr double kLanes = 128;       // arithmetic instructions of single threads in a cycle
constexpr double kNearBytes = 128;   // shared memory and first cache, in a cycle
constexpr double kL2Bytes = 40;      // for one multiprocessor, in a cycle
constexpr double kMemoryBytes = 16;  // likewise
constexpr double kSectorBytes = 32;  // that come at least where neighbours read apart
constexpr double kBarrier = 30;      // cycles
constexpr double kTurn = 2;          // instructions of a loop's own in each turn
constexpr double kStraight = 64;     // copies of a body that are made without being asked for
constexpr double kWarpsWanted = 16;  // on a multiprocessor, so that none waits for memory
constexpr double kOwnRegisters = 24;
constexpr double kLeastShare = 0.04;  // of the speed, with one warp alone

constexpr size_t kTags = 8;
using Extents = std::array<double, kTags>;

double product(const Extents& e, ThreadTag first, ThreadTag last) {
  double n = 1;
  for (size_t t = static_cast<size_t>(first); t <= static_cast<size_t>(last); ++t) n *= e[t];
  return n;
}
double blocks_of(const Extents& e) { return product(e, ThreadTag::kBlockX, ThreadTag::kBlockZ); }
double threads_of(const Extents& e) { return product(e, ThreadTag::kThreadX, ThreadTag::kThreadZ); }

bool is_block(const DraftLoop& l) { return l.mark == Mark::kThread && ir::is_block_tag(l.tag); }
bool is_bound(const DraftLoop& l) {
  return is_block(l) || (l.mark == Mark::kThread && ir::is_real_thread(l.tag));
}
bool is_virtual(const DraftLoop& l) {
  return l.mark == Mark::kThread && l.tag == ThreadTag::kVThread;
}

// What one statement asks of a launch, for one block.
struct Asked {
  double instructions = 0;  // of all threads together
  double near_bytes = 0;
  double far_bytes = 0;
  double barriers = 0;
  double registers = 0;  // of a thread
  double shared_bytes = 0;
  double parallel = 1;  // independent instructions of one thread
};

class Statement {
 public:
  explicit Statement(const DraftNest& n) : n_(n) {
    bound_.fill(1);
    // The innermost loop of a tag says which threads take part; those outside are the same threads.
    for (const DraftLoop& l : n.loops) {
      if (is_bound(l)) bound_[static_cast<size_t>(l.tag)] = l.extent;
    }
    find_tile();
  }

  const Extents& bound() const { return bound_; }

  Asked asked() const {
    Asked a;
    const double threads = threads_of(bound_);
    double copies = 1, turns = 1;
    for (size_t l = 0; l < n_.loops.size(); ++l) {
      const DraftLoop& loop = n_.loops[l];
      if (is_copy(l)) {
        copies *= loop.extent;
      } else if (!is_bound(loop) && !is_virtual(loop)) {
        turns *= loop.extent;
      }
    }
    double instructions = copies * n_.ops + kTurn;
    for (size_t i = 0; i < n_.accesses.size(); ++i) add(i, threads, turns, instructions, a);
    a.instructions = instructions * turns * std::ceil(threads / 32) * 32;
    a.parallel = std::clamp(copies, 1.0, 4.0);
    return a;
  }

  // Bytes of the inputs and outputs that all blocks together touch.
  double whole_bytes() const {
    double total = 0;
    for (size_t i = 0; i < n_.accesses.size(); ++i) {
      if (!n_.accesses[i].own) total += touched(i, 0);
    }
    return total;
  }

 private:
  bool moves(const DraftAccess& a, size_t loop) const {
    for (size_t d = a.first; d < a.end; ++d) {
      if (n_.of(a, n_.dims[d], loop).span > 0) return true;
    }
    return false;
  }

  // Virtual threads repeat what is not computed once for all of them.
  bool is_copy(size_t l) const {
    if (is_virtual(n_.loops[l])) return n_.accesses[0].scope != Scope::kShared;
    return l >= tile_ && !is_bound(n_.loops[l]);
  }

  // The loops that leave straight code.
  void find_tile() {
    tile_ = n_.loops.size();
    double copies = 1;
    while (tile_ > 0 && !is_bound(n_.loops[tile_ - 1])) {
      const DraftLoop& l = n_.loops[tile_ - 1];
      copies *= l.extent;
      const bool asked = l.mark == Mark::kVectorize || l.mark == Mark::kUnroll;
      if (!asked && copies > kStraight) break;
      --tile_;
    }
  }

  void add(size_t access, double threads, double turns, double& instructions, Asked& a) const {
    const DraftAccess& of = n_.accesses[access];
    const bool held = of.scope == Scope::kRegister || of.scope == Scope::kLocal;
    double count = 1, lanes = 1;
    for (size_t l = 0; l < n_.loops.size(); ++l) {
      const bool each = held && l < of.from && is_virtual(n_.loops[l]);
      if (!each && (!is_copy(l) || !moves(of, l))) continue;
      count *= n_.loops[l].extent;
      if (n_.loops[l].mark == Mark::kVectorize) lanes = n_.loops[l].extent;
    }
    a.registers += count;
    if (held) return;
    if (of.written && n_.stage->op->is_reduction()) count *= 2 / turns_on_the_spot();
    instructions += count / lanes;
    a.near_bytes += count * of.bytes * turns * threads * spread(of);
    if (of.scope == Scope::kShared) {
      if (!of.written) return;
      a.shared_bytes += touched(access, of.from);
      a.barriers += 2 * turns;
    } else {
      a.far_bytes += touched(access, first_inside_blocks());
    }
  }

  // Turns of the loops right around the tile that add to the same sums.
  double turns_on_the_spot() const {
    double n = 1;
    for (size_t l = tile_; l-- > 0;) {
      if (moves(n_.accesses[0], l) || !n_.loops[l].reduces) break;
      n *= n_.loops[l].extent;
    }
    return n;
  }

  // How many bytes move for each that neighbours ask for; one value for all of them is read once.
  double spread(const DraftAccess& a) const {
    for (size_t l = n_.loops.size(); l-- > 0;) {
      if (!is_bound(n_.loops[l]) || n_.loops[l].tag != ThreadTag::kThreadX) continue;
      double step = 0;
      for (size_t d = a.first; d < a.end; ++d) {
        step += std::abs(n_.of(a, n_.dims[d], l).step) * n_.dims[d].stride;
      }
      if (step == 0) return moves(a, l) ? 1 : 1.0 / 8;
      return a.scope == Scope::kShared ? 1 : std::clamp(step, 1.0, kSectorBytes / a.bytes);
    }
    return 1;
  }

  size_t first_inside_blocks() const {
    size_t first = 0;
    for (size_t l = 0; l < n_.loops.size(); ++l) {
      if (is_block(n_.loops[l])) first = l + 1;
    }
    return first;
  }

  // Bytes of the elements that the loops from `first` on run through, in whole sectors.
  double touched(size_t access, size_t first) const {
    const DraftAccess& a = n_.accesses[access];
    double elements = 1, run = a.bytes;
    for (size_t d = a.first; d < a.end; ++d) {
      double width = 1;
      for (size_t l = first; l < n_.loops.size(); ++l) width += n_.of(a, n_.dims[d], l).span;
      width = std::min(width, n_.dims[d].extent);
      elements *= width;
      if (d + 1 == a.end) run = width * a.bytes;
    }
    return elements * a.bytes * std::max(1.0, kSectorBytes / run);
  }

  const DraftNest& n_;
  Extents bound_{};
  size_t tile_ = 0;
};

class Launch {
 public:
  explicit Launch(const target::Gpu& gpu) : gpu_(&gpu) { bound_.fill(1); }

  void add(const DraftNest& n) {
    const Statement s(n);
    for (size_t t = 0; t < kTags; ++t) bound_[t] = std::max(bound_[t], s.bound()[t]);
    const Asked a = s.asked();
    all_.instructions += a.instructions;
    all_.near_bytes += a.near_bytes;
    all_.far_bytes += a.far_bytes;
    all_.barriers += a.barriers;
    all_.shared_bytes += a.shared_bytes;
    all_.registers = std::max(all_.registers, a.registers);
    all_.parallel = std::max(all_.parallel, a.parallel);
    memory_bytes_ += s.whole_bytes();
  }

  double seconds() const {
    const double cards = gpu_->multiprocessors, blocks = blocks_of(bound_);
    const double on_fullest = std::ceil(blocks / cards);
    const double warps = std::ceil(threads_of(bound_) / gpu_->warp_threads);
    const double at_hand = std::min(on_fullest, resident()) * warps;
    const double busy =
        std::clamp(at_hand * std::sqrt(all_.parallel) / kWarpsWanted, kLeastShare, 1.0);
    const double compute = on_fullest * all_.instructions / kLanes / busy;
    const double near = on_fullest * all_.near_bytes / kNearBytes / busy;
    const double far = on_fullest * all_.far_bytes / kL2Bytes / busy;
    const double memory = memory_bytes_ / (kMemoryBytes * std::min(cards, blocks));
    const double waiting = on_fullest / std::max(1.0, resident()) * all_.barriers * kBarrier;
    return kLaunch_s + (std::max({compute, near, far, memory}) + waiting) / kClock;
  }

 private:
  // Blocks that a multiprocessor holds at once.
  double resident() const {
    const double threads = threads_of(bound_);
    const double registers = std::clamp(all_.registers + kOwnRegisters, 32.0,
                                        static_cast<double>(gpu_->registers_per_thread));
    double n = gpu_->threads_per_multiprocessor / threads;
    n = std::min(n, gpu_->registers_per_multiprocessor / (registers * threads));
    if (all_.shared_bytes > 0) {
      n = std::min(n,
                   static_cast<double>(gpu_->shared_bytes_per_multiprocessor) / all_.shared_bytes);
    }
    return std::max(1.0, std::floor(n));
  }

  const target::Gpu* gpu_;
  Extents bound_{};
  Asked all_;
  double memory_bytes_ = 0;
};

}  // namespace

double gpu_draft_seconds(const schedule::State& s, const schedule::Bounds& b) {
  double total = 0;
  Launch launch(s.target().gpu());
  for_each_nest(s, b, [&](const DraftNest& n) {
    launch.add(n);
    if (n.own > 0) return;  // attached to another, which comes later
    total += launch.seconds();
    launch = Launch(s.target().gpu());
  });
  return total;
}

}  // namespace tenon::cost
