// SPDX-License-Identifier: Apache-2.0
#include "schedule/gpu_program.h"

#include <algorithm>

#include "ir/thread_tags.h"
#include "ir/visit.h"
#include "schedule/combined.h"
#include "schedule/rules.h"

namespace tenon::schedule {
namespace {

constexpr int64_t kMostBlocksX = (int64_t{1} << 31) - 1;
constexpr int64_t kMostBlocksYZ = 65535;
constexpr int64_t kMostThreadsZ = 64;
// What a thread keeps in registers may take so many of those that it has; code needs the others.
constexpr int64_t kRegistersOfCode = 55;

using ir::dimension_of;
using ir::is_block_tag;
using ir::is_real_thread;
using ir::is_thread_tag;

bool is_computed(const Stage& st) { return !st.is_input() && st.place != Place::kInlined; }

class KernelChecker {
 public:
  KernelChecker(const State& s, const Bounds& b, StageId root) : s_(s), b_(b), root_(root) {
    for (const StageId id : s.order()) {
      if (is_computed(s.stage(id)) && is_below(s, id, root, 0)) stages_.push_back(id);
    }
  }

  KernelShape shape() const {
    KernelShape k;
    for (const StageId id : stages_) {
      const Stage& st = s_.stage(id);
      for (const LoopId l : st.leaves) {
        const ir::ThreadTag tag = st.loop(l).tag;
        if (is_block_tag(tag)) k.blocks[dimension_of(tag)] = extent(id, l);
        if (is_real_thread(tag)) {
          int64_t& n = k.threads[dimension_of(tag)];
          n = std::max(n, extent(id, l));
        }
      }
      k.shared_bytes += align16(meeting_elements(s_, b_, st) * st.buffer.dtype().bytes());
      if (st.place != Place::kAt) continue;
      if (st.scope == ir::Scope::kShared) k.shared_bytes += align16(bytes(st));
      if (st.scope == ir::Scope::kRegister) k.registers += copies_of(st) * ((bytes(st) + 3) / 4);
    }
    return k;
  }

  Result<void> run() const {
    const KernelShape k = shape();
    TENON_TRY(check_counts(k));
    TENON_TRY(check_outermost());
    for (const StageId id : stages_) {
      const Stage& st = s_.stage(id);
      TENON_TRY(check_blocks(st));
      TENON_TRY(check_threads(st, k));
      if (st.pipelined >= 0) TENON_TRY(check_pipeline(st));
      if (combined_loop(st) >= 0) TENON_TRY(check_combined(st, k));
      if (st.place != Place::kAt) continue;
      TENON_TRY(st.scope == ir::Scope::kShared ? check_shared(st, k) : check_owner(st));
    }
    return {};
  }

 private:
  static int64_t align16(int64_t n) { return (n + 15) / 16 * 16; }
  int64_t extent(StageId id, LoopId l) const {
    return b_.stages[static_cast<size_t>(id)].extents[static_cast<size_t>(l)];
  }
  // From the first element to the last, rows that storage_align pads included.
  int64_t bytes(const Stage& st) const {
    const std::vector<AxisBounds>& axes = b_.stages[static_cast<size_t>(st.id)].axes;
    int64_t last = 0, stride = 1;
    for (size_t d = axes.size(); d-- > 0; stride *= axes[d].extent) {
      stride = aligned_stride(st, d, stride);
      last += (axes[d].extent - 1) * stride;
    }
    if (is_stored_twice(s_, st)) last += stride;
    return (last + 1) * st.buffer.dtype().bytes();
  }

  // A thread keeps what each of its virtual threads has.
  int64_t copies_of(const Stage& st) const {
    int64_t n = 1;
    around(st, [&](const Stage& of, LoopId l) {
      if (of.loop(l).tag == ir::ThreadTag::kVThread) n *= extent(of.id, l);
    });
    return n;
  }

  Illegal too_many(IllegalCode code, int64_t value, int64_t limit) const {
    return {.code = code, .stage = root_, .value = value, .limit = limit};
  }

  Result<void> check_counts(const KernelShape& k) const {
    const target::Gpu& gpu = s_.target().gpu();
    if (k.threads_per_block() > gpu.threads_per_block) {
      return too_many(IllegalCode::kTooManyThreads, k.threads_per_block(), gpu.threads_per_block);
    }
    if (k.threads[2] > kMostThreadsZ) {
      return too_many(IllegalCode::kTooManyThreads, k.threads[2], kMostThreadsZ);
    }
    for (size_t d = 0; d < 3; ++d) {
      const int64_t most = d == 0 ? kMostBlocksX : kMostBlocksYZ;
      if (k.blocks[d] > most) return too_many(IllegalCode::kTooManyBlocks, k.blocks[d], most);
    }
    if (k.shared_bytes > gpu.shared_bytes_per_block) {
      return too_many(IllegalCode::kSharedTooLarge, k.shared_bytes, gpu.shared_bytes_per_block);
    }
    const int64_t per_thread =
        std::min<int64_t>(gpu.registers_per_thread,
                          gpu.registers_per_multiprocessor / k.threads_per_block()) -
        kRegistersOfCode;
    if (k.registers > std::max<int64_t>(per_thread, 1)) {
      return too_many(IllegalCode::kThreadRegisters, k.registers, per_thread);
    }
    return {};
  }

  Result<void> check_blocks(const Stage& st) const {
    bool other = st.id != root_;
    for (const LoopId l : st.leaves) {
      const bool block = is_block_tag(st.loop(l).tag);
      if (block && other) {
        return Illegal{.code = IllegalCode::kBlockInside, .stage = st.id, .loop = l};
      }
      other = other || !block || !s_.attached_to(st.id, l).empty();
    }
    return {};
  }

  // The loops around the place of a stage, its own included, by their tags; `each` gets them
  // innermost first.
  template <class Fn>
  void around(const Stage& st, Fn&& each) const {
    const Stage* at = &st;
    size_t depth = st.leaves.size();
    for (;;) {
      while (depth > 0) each(*at, at->leaves[--depth]);
      if (at->place != Place::kAt) return;
      const Stage& host = s_.stage(at->at_stage);
      depth = static_cast<size_t>(host.position(at->at_loop)) + 1;
      at = &host;
    }
  }

  // A kernel begins with its blocks or threads.
  Result<void> check_outermost() const {
    const Stage& root = s_.stage(root_);
    const bool gpu = std::any_of(stages_.begin(), stages_.end(), [&](StageId id) {
      const Stage& st = s_.stage(id);
      return (st.place == Place::kAt && st.scope == ir::Scope::kShared) ||
             std::any_of(st.leaves.begin(), st.leaves.end(),
                         [&](LoopId l) { return st.loop(l).tag != ir::ThreadTag::kNone; });
    });
    if (!gpu) return {};
    const ir::ThreadTag tag = root.loop(root.leaves[0]).tag;
    if (is_block_tag(tag) || is_real_thread(tag)) return {};
    return Illegal{.code = IllegalCode::kUnboundKernel, .stage = root_, .loop = root.leaves[0]};
  }

  // What threads share is written by one of them each, and inner loops of a tag are not longer.
  Result<void> check_threads(const Stage& st, const KernelShape& k) const {
    std::array<int64_t, 3> bound = {0, 0, 0};
    Result<void> result;
    around(st, [&](const Stage& of, LoopId l) {
      if (!is_real_thread(of.loop(l).tag) || !result) return;
      int64_t& inner = bound[dimension_of(of.loop(l).tag)];
      if (inner > extent(of.id, l)) {
        result = Illegal{.code = IllegalCode::kMoreThreads,
                         .stage = of.id,
                         .loop = l,
                         .value = inner,
                         .limit = extent(of.id, l)};
      }
      inner = extent(of.id, l);
    });
    if (!result) return result;
    if (st.place == Place::kAt && st.scope != ir::Scope::kShared) return {};
    for (size_t d = 0; d < 3; ++d) {
      if (k.threads[d] > 1 && !binds(st, d)) {
        return Illegal{.code = IllegalCode::kThreadsMissing, .stage = st.id};
      }
    }
    return {};
  }

  // Its own loops tell threads along dimension `d` apart; those around it run in all of them.
  static bool binds(const Stage& st, size_t d) {
    return std::any_of(st.leaves.begin(), st.leaves.end(), [&](LoopId l) {
      return is_real_thread(st.loop(l).tag) && dimension_of(st.loop(l).tag) == d;
    });
  }

  // Barriers stand where it is computed, so that all threads must come there, and none of them twice.
  Result<void> check_shared(const Stage& st, const KernelShape& k) const {
    Result<void> result;
    around(st, [&](const Stage& of, LoopId l) {
      const ir::ThreadTag tag = of.loop(l).tag;
      if (of.id == st.id || !result) return;
      if (is_real_thread(tag) && extent(of.id, l) < k.threads[dimension_of(tag)]) {
        result = Illegal{.code = IllegalCode::kSomeThreads,
                         .stage = st.id,
                         .loop = l,
                         .other = of.id,
                         .value = extent(of.id, l),
                         .limit = k.threads[dimension_of(tag)]};
      }
    });
    if (!result) return result;
    return check_sources(st);
  }

  // A thread computes what is shared once, however many virtual threads it has: nothing that only one
  // of them has goes into it.
  Result<void> check_sources(const Stage& st) const {
    bool alone = true;
    around(st, [&](const Stage& of, LoopId l) {
      alone = alone && (of.id == st.id || of.loop(l).tag != ir::ThreadTag::kVThread);
    });
    if (alone) return {};
    for (const StageId id : stages_) {
      const Stage& from = s_.stage(id);
      if (from.place != Place::kAt || from.scope == ir::Scope::kShared ||
          is_below(s_, id, st.id, 0))
        continue;
      for (const StageId r : s_.readers(id)) {
        if (!is_below(s_, r, st.id, 0)) continue;
        return Illegal{.code = IllegalCode::kThreadsOwn,
                       .stage = id,
                       .loop = st.at_loop,
                       .other = st.at_stage};
      }
    }
    return {};
  }

  // What is fetched ahead reads nothing that its own iteration computes.
  Result<void> check_pipeline(const Stage& st) const {
    const std::vector<StageId> attached = s_.attached_to(st.id, st.pipelined);
    bool fetches = false;
    for (const StageId id : attached) {
      if (!is_stored_twice(s_, s_.stage(id))) continue;
      fetches = true;
      for (const StageId other : attached) {
        for (const StageId r : s_.readers(other)) {
          if (!is_below(s_, r, id, 0)) continue;
          return Illegal{.code = IllegalCode::kNotAhead, .stage = id, .other = other};
        }
      }
    }
    if (fetches) return {};
    return Illegal{.code = IllegalCode::kNothingAhead, .stage = st.id, .loop = st.pipelined};
  }

  // Threads that combine a sum come there together and want the same one.
  Result<void> check_combined(const Stage& st, const KernelShape& k) const {
    const LoopId own = combined_loop(st);
    const int64_t n = extent(st.id, own), warp = s_.target().gpu().warp_threads;
    if (st.leaves.back() != own) {
      return Illegal{.code = IllegalCode::kCombinedInside, .stage = st.id, .loop = own};
    }
    const auto some = [&](int64_t all) {
      return Illegal{.code = IllegalCode::kCombinedSome, .stage = st.id, .value = n, .limit = all};
    };
    if (k.threads[0] % std::min(n, warp) != 0) return some(k.threads[0]);
    const bool kept = st.place == Place::kAt && st.scope != ir::Scope::kShared;
    int64_t around_it = 0;  // threads along x of the loop that it stands in
    Result<void> result;
    around(st, [&](const Stage& of, LoopId l) {
      if (!result || (of.id == st.id && l == own)) return;
      const ir::ThreadTag tag = of.loop(l).tag;
      if (tag == ir::ThreadTag::kVThread || of.loop(l).mark == Mark::kVectorize) {
        result = Illegal{.code = IllegalCode::kCombinedInside, .stage = st.id, .loop = own};
      }
      if (!is_real_thread(tag)) return;
      if (n > warp && extent(of.id, l) < k.threads[dimension_of(tag)]) {
        result = Illegal{.code = IllegalCode::kSomeThreads,
                         .stage = st.id,
                         .loop = l,
                         .other = of.id,
                         .value = extent(of.id, l),
                         .limit = k.threads[dimension_of(tag)]};
      }
      if (tag != ir::ThreadTag::kThreadX || of.id == st.id) return;
      if (around_it == 0) around_it = extent(of.id, l);
      if (is_told_apart_by(st, of, l)) {
        result =
            Illegal{.code = IllegalCode::kCombinedApart, .stage = st.id, .loop = l, .other = of.id};
      }
    });
    if (!result) return result;
    const int64_t all = kept ? around_it : n > warp ? k.threads[0] : n;
    if (all == n) return {};
    return some(all);
  }

  // Which part of the stage is computed depends on the loop.
  bool is_told_apart_by(const Stage& st, const Stage& of, LoopId l) const {
    const ir::Var& v = b_.stages[static_cast<size_t>(of.id)].vars[static_cast<size_t>(l)];
    const std::vector<AxisBounds>& axes = b_.stages[static_cast<size_t>(st.id)].axes;
    return std::any_of(axes.begin(), axes.end(),
                       [&](const AxisBounds& a) { return ir::uses_var(a.min, v.node()); });
  }

  // A thread's own memory is read inside of the loops of its thread only.
  Result<void> check_owner(const Stage& st) const {
    Result<void> result;
    for (const StageId r : s_.readers(st.id)) {
      bool inside = true;
      around(s_.stage(r), [&](const Stage& of, LoopId l) {
        inside = inside && !(of.id == st.at_stage && l == st.at_loop);
        if (!inside || !is_thread_tag(of.loop(l).tag) || !result) return;
        result =
            Illegal{.code = IllegalCode::kThreadsOwn, .stage = st.id, .loop = l, .other = of.id};
      });
      if (!result) return result;
    }
    for (const LoopId l : st.leaves) {
      if (is_thread_tag(st.loop(l).tag) && l != combined_loop(st)) {
        return Illegal{.code = IllegalCode::kThreadsOwn, .stage = st.id, .loop = l, .other = st.id};
      }
    }
    return {};
  }

  const State& s_;
  const Bounds& b_;
  StageId root_;
  std::vector<StageId> stages_;
};

}  // namespace

KernelShape kernel_shape(const State& s, const Bounds& b, StageId root) {
  return KernelChecker(s, b, root).shape();
}

Result<void> check_gpu_program(const State& s, const Bounds& b) {
  for (const StageId id : s.order()) {
    const Stage& st = s.stage(id);
    if (!is_computed(st) || st.place != Place::kRoot) continue;
    TENON_TRY(KernelChecker(s, b, id).run());
  }
  return {};
}

}  // namespace tenon::schedule
