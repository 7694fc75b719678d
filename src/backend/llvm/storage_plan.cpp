// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/storage_plan.h"

#include <algorithm>
#include <optional>

#include "backend/llvm/index.h"
#include "ir/build.h"
#include "ir/equal.h"
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

struct Use {
  Slot run;            // alike: its condition asks the same as long as the buffer lives
  ir::Expr condition;  // undefined: all lanes count
};

struct Uses {
  std::vector<Use> runs;
  bool constant = true;  // so far every access was a run of constant offsets
};

// Where a buffer is made.
struct Made {
  bool in_parallel = false;
  size_t loops = 0;  // around it
};

bool is_alike(const Use& a, const Use& b) {
  const bool asked = a.condition.defined();
  return a.run.alike && b.run.alike && a.run.begin == b.run.begin && a.run.lanes == b.run.lanes &&
         asked == b.condition.defined() && (!asked || ir::equal(a.condition, b.condition));
}

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
  void access(const ir::Buffer& b, const ir::Expr& index, const ir::Expr& condition, bool parallel);
  bool is_steady(const ir::Expr& condition, const Made& made) const;
  static void promote(Uses& uses, Place& place);

  const int64_t alignment_, behind_;
  StoragePlan plan_;
  std::unordered_map<const ir::BufferNode*, Uses> uses_;
  std::unordered_map<const ir::BufferNode*, Made> made_;
  std::vector<const ir::VarNode*> loops_;  // around the statement, outermost first
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
  made_[n.buffer.get()] = {region.parallel, loops_.size()};
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
    loops_.push_back(loop->var.node());
    walk(loop->body, top, enters ? Region{true, ir::const_int(loop->extent).value_or(0)} : region);
    loops_.pop_back();
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
    access(store->buffer, store->indices.front(), store->predicate, parallel);
  } else if (const auto* combine = s.as<ir::Combine>()) {
    access(combine->buffer, ir::Expr(0), ir::Expr(), parallel);
  }
}

void Planner::scan(const ir::Expr& e, bool parallel) {
  if (!e.defined()) {
    return;
  }
  ir::visit(e, [&](const ir::Expr& x) {
    if (const auto* load = x.as<ir::Load>()) {
      access(load->buffer, load->indices.front(), load->predicate, parallel);
    }
  });
}

bool Planner::is_steady(const ir::Expr& condition, const Made& made) const {
  bool steady = true;
  ir::visit(condition, [&](const ir::Expr& e) {
    const auto inside = loops_.begin() + static_cast<std::ptrdiff_t>(made.loops);
    const auto* v = e.as<ir::VarNode>();
    steady =
        steady && e.as<ir::Load>() == nullptr && std::find(inside, loops_.end(), v) == loops_.end();
  });
  return steady;
}

void Planner::access(const ir::Buffer& b, const ir::Expr& index, const ir::Expr& condition,
                     bool parallel) {
  const auto made = made_.find(b.get());
  if (made == made_.end()) {
    return;
  }
  Uses& uses = uses_[b.get()];
  if (!uses.constant) {
    return;
  }
  const auto run = as_run(index);
  const auto begin = run ? ir::const_int(run->base) : std::nullopt;
  const bool dense = run && (run->lanes == 1 || run->stride == 1);
  uses.constant = begin && dense && made->second.in_parallel == parallel;
  if (uses.constant) {
    const bool steady = !condition.defined() || is_steady(condition, made->second);
    uses.runs.push_back({{*begin, run->lanes, steady}, condition});
  }
}

void Planner::promote(Uses& uses, Place& place) {
  if (!uses.constant) {
    return;
  }
  std::sort(uses.runs.begin(), uses.runs.end(), [](const Use& a, const Use& b) {
    return a.run.begin != b.run.begin ? a.run.begin < b.run.begin : a.run.lanes > b.run.lanes;
  });
  std::vector<Slot> slots;
  const Use* first = nullptr;  // of the slot
  for (const Use& u : uses.runs) {
    if (slots.empty() || u.run.begin >= slots.back().begin + slots.back().lanes) {
      slots.push_back(u.run);
      first = &u;
      continue;
    }
    Slot& slot = slots.back();
    slot.alike = slot.alike && is_alike(*first, u);
    const int64_t end = std::max(slot.begin + slot.lanes, u.run.begin + u.run.lanes);
    slot.lanes = static_cast<int>(end - slot.begin);
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
