// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/storage_plan.h"

#include <algorithm>
#include <optional>

#include "backend/llvm/index.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {
namespace {

constexpr size_t kMaxSlots = 1024;  // more are better left to memory: no machine has the registers
constexpr int kMaxLanes = 64;
constexpr int64_t kMaxStackBytes = 512 << 10;  // of one buffer; threads have 8 MiB

// The parallel loop around, if any.
struct Region {
  bool parallel = false;
  int64_t iterations = 0;  // 0: not constant
};

struct Uses {
  std::vector<Slot> runs;
  bool constant = true;  // so far every access was a run of constant offsets
};

class Planner {
 public:
  Planner(int64_t alignment, int64_t behind) : alignment_(alignment), behind_(behind) {}
  StoragePlan run(const ir::Stmt& body) {
    walk(body, 0, {});
    for (auto& [buffer, place] : plan_.places) {
      if (place.kind == Place::Kind::kStack) {
        promote(uses_[buffer], place);
      }
    }
    return std::move(plan_);
  }

 private:
  void walk(const ir::Stmt& s, int64_t top, Region region);
  void allocate(const ir::Allocate& n, int64_t top, Region region);
  void scan(const ir::Expr& e, bool parallel);
  void access(const ir::Buffer& b, const ir::Expr& index, bool parallel);
  static void promote(Uses& uses, Place& place);

  const int64_t alignment_, behind_;
  StoragePlan plan_;
  std::unordered_map<const ir::BufferNode*, Uses> uses_;
  std::unordered_map<const ir::BufferNode*, bool> made_in_parallel_;
};

void Planner::allocate(const ir::Allocate& n, int64_t top, Region region) {
  Place place;
  const int64_t raw = n.buffer->elements() * n.buffer.dtype().bytes();
  const int64_t bytes = (raw + alignment_ - 1) / alignment_ * alignment_;
  const bool large = bytes > kMaxStackBytes;
  const bool once = !region.parallel && (large || n.buffer->scope == ir::Scope::kGlobal);
  const bool copies = region.parallel && large && region.iterations > 0;
  if (n.buffer->scope == ir::Scope::kShared) {
    place.kind = Place::Kind::kShared;
  } else if (once || copies) {
    place.kind = Place::Kind::kWorkspace;
    place.offset = top;
    place.bytes = copies ? bytes * region.iterations : bytes;
    place.stride = copies ? bytes : 0;
    top += place.bytes;
    plan_.workspace_bytes = std::max(plan_.workspace_bytes, top);
  }
  if (place.kind == Place::Kind::kStack) place.behind = behind_;
  made_in_parallel_[n.buffer.get()] = region.parallel;
  plan_.places[n.buffer.get()] = std::move(place);
  walk(n.body, top, region);
}

void Planner::walk(const ir::Stmt& s, int64_t top, Region region) {
  if (!s.defined()) {
    return;
  }
  const bool parallel = region.parallel;
  if (const auto* n = s.as<ir::Allocate>()) {
    allocate(*n, top, region);
  } else if (const auto* loop = s.as<ir::For>()) {
    scan(loop->min, parallel);
    scan(loop->extent, parallel);
    const bool enters = loop->loop_kind == ir::ForKind::kParallel;
    walk(loop->body, top, enters ? Region{true, ir::const_int(loop->extent).value_or(0)} : region);
  } else if (const auto* cond = s.as<ir::If>()) {
    scan(cond->condition, parallel);
    walk(cond->then_case, top, region);
    walk(cond->else_case, top, region);
  } else if (const auto* many = s.as<ir::Block>()) {
    for (const ir::Stmt& t : many->stmts) {
      walk(t, top, region);
    }
  } else if (const auto* store = s.as<ir::Store>()) {
    scan(store->value, parallel);
    scan(store->predicate, parallel);
    scan(store->indices.front(), parallel);
    access(store->buffer, store->indices.front(), parallel);
  }
}

void Planner::scan(const ir::Expr& e, bool parallel) {
  if (!e.defined()) {
    return;
  }
  ir::visit(e, [&](const ir::Expr& x) {
    if (const auto* load = x.as<ir::Load>()) {
      access(load->buffer, load->indices.front(), parallel);
    }
  });
}

void Planner::access(const ir::Buffer& b, const ir::Expr& index, bool parallel) {
  const auto made = made_in_parallel_.find(b.get());
  if (made == made_in_parallel_.end()) {
    return;
  }
  Uses& uses = uses_[b.get()];
  if (!uses.constant) {
    return;
  }
  const auto run = as_run(index);
  const auto begin = run ? ir::const_int(run->base) : std::nullopt;
  const bool dense = run && (run->lanes == 1 || run->stride == 1);
  uses.constant = begin && dense && made->second == parallel;
  if (uses.constant) {
    uses.runs.push_back({*begin, run->lanes});
  }
}

void Planner::promote(Uses& uses, Place& place) {
  if (!uses.constant) {
    return;
  }
  std::sort(uses.runs.begin(), uses.runs.end(), [](const Slot& a, const Slot& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.lanes > b.lanes;
  });
  std::vector<Slot> slots;
  for (const Slot& r : uses.runs) {
    if (slots.empty() || r.begin >= slots.back().begin + slots.back().lanes) {
      slots.push_back(r);
      continue;
    }
    const int64_t end = std::max(slots.back().begin + slots.back().lanes, r.begin + r.lanes);
    slots.back().lanes = static_cast<int>(end - slots.back().begin);
  }
  const bool fits =
      slots.size() <= kMaxSlots &&
      std::all_of(slots.begin(), slots.end(), [](const Slot& s) { return s.lanes <= kMaxLanes; });
  if (fits) {
    place.kind = Place::Kind::kRegisters;
    place.slots = std::move(slots);
  }
}

}  // namespace

StoragePlan plan_storage(const ir::Stmt& body, int64_t alignment, int64_t behind) {
  return Planner(alignment, behind).run(body);
}

}  // namespace tenon::backend::llvm_cpu
