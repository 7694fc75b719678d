// SPDX-License-Identifier: Apache-2.0
#include "cost/tokens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <type_traits>

#include "cost/token_writer.h"
#include "support/hash.h"

namespace tenon::cost {

namespace {

using schedule::Mark;
using schedule::Place;

constexpr uint64_t kTokenFormulas = 1;  // raised when a column comes to mean something else
constexpr size_t kMostStarts = 64;
constexpr int kDeepestNest = 16;  // stages attached to stages

// ---- the task --------------------------------------------------------------------------------------

void write_task(const task::Task& t, const Sketch& s, const TokenMachine& m, TokenWriter& row) {
  row.begin(kTaskToken, s.anchor < 0 ? 0 : s.stage(s.anchor).flags);
  const double intensity = t.flops / std::max(1.0, t.bytes);
  const float numbers[] = {kLogUnit * static_cast<float>(std::log2(1 + t.flops)),
                           kLogUnit * static_cast<float>(std::log2(1 + t.bytes)),
                           kLogUnit * static_cast<float>(std::log2(1 + intensity)),
                           small(std::ssize(t.dag->ops), 8),
                           small(std::ssize(t.dag->inputs), 8),
                           small(m.vector_bytes, 64),
                           small(m.registers, 32),
                           log_of(m.cores),
                           log_of(m.l1),
                           log_of(m.l2),
                           log_of(m.l3),
                           m.gpu ? 1.0F : 0.0F,
                           s.anchor < 0 ? 0.0F : small(s.stage(s.anchor).element_bytes, 4)};
  for (size_t i = 0; i < std::size(numbers); ++i) row.number(i, numbers[i]);
}

void write_axes(const Roles& roles, const Sketch& s, const TokenMachine& m, TokenWriter& row) {
  if (s.anchor < 0) return;
  const int64_t lanes = m.lanes(s.stage(s.anchor).element_bytes);
  for (const AnchorAxis& a : roles.axes) {
    if (a.facts.extent == 1 && a.step == 1) continue;
    row.begin(kAxisToken, s.stage(s.anchor).flags);
    row.axis(a.facts);
    row.number(0, log_of(a.facts.extent));
    row.number(1, log_of(a.step));
    row.number(2, left_over(a.facts.extent, lanes));
    row.number(3, left_over(a.facts.extent, 4));
  }
}

// ---- loops -----------------------------------------------------------------------------------------

struct NestLoop {
  const SketchStage* stage;
  const SketchLoop* loop;
  int level;  // 0: the stage's own; 1: of the stage that it is attached to, ..
};

// From the innermost loop outwards.
std::vector<NestLoop> nest_of(const Sketch& s, int32_t id) {
  std::vector<NestLoop> out;
  int32_t below = -1;  // the loop at which the last stage is attached
  for (int level = 0; level < kDeepestNest; ++level) {
    const SketchStage& st = s.stage(id);
    bool inside = below >= 0;  // loops inside of that one
    for (size_t i = st.leaves.size(); i-- > 0;) {
      inside = inside && st.leaves[i] != below;
      if (!inside) out.push_back({&st, &st.loop(st.leaves[i]), level});
    }
    if (st.place != Place::kAt) break;
    id = st.at_stage;
    below = st.at_loop;
  }
  return out;
}

// Products are sums of logarithms: of all iterations inside and outside of a loop, and by what axes are.
class NestRows {
 public:
  NestRows(const Sketch& s, const TokenMachine& m, TokenWriter& row)
      : sketch_(s), machine_(m), row_(row) {}

  // The anchor's with all loops around them; of others, their own.
  void write(int32_t stage, size_t kind) {
    const std::vector<NestLoop> nest = nest_of(sketch_, stage);
    float all = 0, inside = 0;
    for (const NestLoop& n : nest) all += length_of(n);
    std::array<float, kAxisRoles> by_role{};
    int64_t place = 0;
    for (const NestLoop& n : nest) {
      if (n.loop->length <= 1) continue;
      if (row_.full() || (kind == kLoopToken && n.level > 0)) return;
      by_role[static_cast<size_t>(n.loop->facts.role)] += length_of(n);
      if (kind == kLoopToken && shown_.contains(n.loop)) return;  // and so are those around it
      shown_.insert(n.loop);
      write_loop(n, kind);
      row_.number(2, small(place++, 16));
      row_.number(3, inside);
      inside += length_of(n);
      row_.number(4, all - inside);
      for (size_t r = 0; r + 1 < kAxisRoles; ++r) row_.number(5 + r, by_role[r]);
      row_.number(23, small(stage, 32));
    }
  }

 private:
  static float length_of(const NestLoop& n) {
    return kLogUnit * std::log2(static_cast<float>(n.loop->length));
  }

  void write_loop(const NestLoop& n, size_t kind) {
    const SketchLoop& l = *n.loop;
    row_.begin(kind, n.stage->flags);
    row_.axis(l.facts);
    row_.mark_loop(l);
    row_.number(0, log_of(l.length));
    row_.number(1, l.waste);
    row_.number(11, small(n.level, 2));
    row_.number(12, small(l.fused, 4));
    const int64_t lanes = machine_.lanes(n.stage->element_bytes);
    row_.number(13,
                l.mark == Mark::kVectorize ? small(l.length, static_cast<float>(4 * lanes)) : 0);
    row_.number(14, left_over(l.length, lanes));
    const bool last = !n.stage->dims.empty() && !l.reduced && l.facts.axis >= 0 &&
                      l.facts.axis == n.stage->dims.back().axis;
    row_.number(15, last ? 1 : 0);
    row_.number(16, log_of(l.facts.unit));
    row_.number(17, is_contiguous(l.facts, true) ? 1 : 0);
    row_.number(18, is_contiguous(l.facts, false) ? 1 : 0);
  }

  // Neighbours along the axis lie side by side in something that the anchor needs: weights, or what is no constant.
  bool is_contiguous(const AxisFacts& f, bool constant) const {
    if (f.axis < 0) return false;
    return std::any_of(sketch_.stages.begin(), sketch_.stages.end(), [&](const SketchStage& st) {
      return (st.flags & (kIsInput | kIsBefore)) != 0 && st.place != Place::kInlined &&
             ((st.flags & kIsConstant) != 0) == constant && !st.dims.empty() &&
             st.dims.back().axis == f.axis;
    });
  }

  const Sketch& sketch_;
  const TokenMachine& machine_;
  TokenWriter& row_;
  std::set<const SketchLoop*> shown_;
};

// ---- tensors and steps -----------------------------------------------------------------------------

void write_tensor(const SketchStage& st, int32_t id, TokenWriter& row) {
  if (row.full() || st.place == Place::kInlined) return;
  row.begin(kTensorToken, st.flags);
  int64_t bytes = st.element_bytes;
  size_t at = 3;
  for (size_t d = st.dims.size(); d-- > 0;) {
    const AxisFacts& f = st.dims[d];
    bytes = times(bytes, f.extent);
    if (at + 1 >= 23) continue;
    row.number(at++, log_of(f.extent));
    row.number(at++, small(f.axis + 1, 8));
  }
  if (!st.dims.empty()) row.axis(st.dims.back());
  row.number(0, log_of(bytes));
  row.number(1, small(std::ssize(st.dims), 8));
  row.number(2, st.place == Place::kAt ? 1 : 0);
  row.number(23, small(id, 32));
}

// Loops and layouts show what these did.
template <class P>
constexpr bool kShownByLoops =
    std::is_same_v<P, schedule::Split> || std::is_same_v<P, schedule::Fuse> ||
    std::is_same_v<P, schedule::Reorder> || std::is_same_v<P, schedule::Parallel> ||
    std::is_same_v<P, schedule::Vectorize> || std::is_same_v<P, schedule::Unroll> ||
    std::is_same_v<P, schedule::Bind> || std::is_same_v<P, schedule::LayoutSplit> ||
    std::is_same_v<P, schedule::LayoutReorder> || std::is_same_v<P, schedule::LayoutFuse> ||
    std::is_same_v<P, schedule::LayoutPad> || std::is_same_v<P, schedule::LayoutUnfold>;

// The first stage is the row's, other stages and everything else are numbers in the order of fields.
struct FieldNumbers {
  const Sketch& s;
  TokenWriter& row;
  const SketchStage* stage = nullptr;
  size_t next = 6;

  void add(float v) {
    if (next < 23) row.number(next++, v);
  }
  void operator()(const schedule::StageRef& r) {
    if (!s.has(r)) return;
    const bool first = stage == nullptr;
    stage = &s.stage(r.id);
    if (first) return;
    for (const StageFlag f : {kIsAnchor, kIsOutput, kIsMade}) add((stage->flags & f) != 0 ? 1 : 0);
    add(small(r.id, 32));
  }
  void operator()(const schedule::LoopRef& r) {
    if (stage == nullptr || !stage->has(r)) return;
    const SketchLoop& l = stage->loop(r.id);
    row.axis(l.facts);
    row.mark_loop(l);
    float inside = 0, outside = 0;
    bool passed = false;
    for (const int32_t leaf : stage->leaves) {
      const float n = kLogUnit * std::log2(static_cast<float>(stage->loop(leaf).length));
      (passed ? inside : outside) += n;
      passed = passed || leaf == r.id;
    }
    row.number(0, log_of(l.length));
    row.number(1, inside);
    row.number(2, outside);
  }
  void operator()(int64_t v) { add(log_of(v)); }
  void operator()(bool v) { add(v ? 1 : 0); }
  template <class T>
  void operator()(const std::vector<T>& v) {
    for (size_t i = v.size(); i-- > 0;) (*this)(v[i]);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(Enum v) { add(small(1 + static_cast<int64_t>(v), 8)); }
};

void write_step(const schedule::Step& step, const Sketch& s, TokenWriter& row) {
  std::visit(
      [&](const auto& p) {
        using P = std::decay_t<decltype(p)>;
        if constexpr (!std::is_same_v<P, std::monostate>) {
          if (kShownByLoops<P> || row.full()) return;
          const bool known = s.has(p.stage);
          row.begin(static_cast<size_t>(schedule::row_of(step).id),
                    known ? s.stage(p.stage.id).flags : 0);
          FieldNumbers numbers{s, row};
          schedule::for_each_field(p, [&](const auto&, const auto& v) { numbers(v); });
          row.number(23, small(p.stage.id, 32));
        }
      },
      step);
}

void write_program(const Sketch& s, const schedule::Trace& trace, const TokenMachine& m,
                   TokenWriter& row) {
  NestRows nests(s, m, row);
  if (s.anchor >= 0) nests.write(s.anchor, kNestToken);
  for (size_t i = 0; i < s.stages.size(); ++i)
    write_tensor(s.stages[i], static_cast<int32_t>(i), row);
  for (const schedule::Step& step : trace) write_step(step, s, row);
  for (size_t i = s.stages.size(); i-- > 0;) {
    const auto id = static_cast<int32_t>(i);
    if (id != s.anchor && s.stages[i].is_computed()) nests.write(id, kLoopToken);
  }
}

// How many steps there are up to the last that only a State can follow.
size_t followed_by_state(const schedule::Trace& trace) {
  for (size_t i = trace.size(); i-- > 0;) {
    if (std::holds_alternative<schedule::Variant>(trace[i])) return i + 1;
  }
  return 0;
}

}  // namespace

// What programs begin with: those of one task and algorithm.
struct Tokens::Start {
  std::shared_ptr<const te::ComputeDag> dag;  // kept, so that no other comes to lie at its place
  std::shared_ptr<const target::Target> target;
  uint64_t steps = 0;  // hash of those that a State followed
  Sketch sketch;
  std::vector<float> rows;  // of the task and of the anchor's axes
};

Result<std::shared_ptr<const Tokens::Start>> Tokens::start(const task::Task& t,
                                                           const schedule::Trace& trace) const {
  const size_t n = followed_by_state(trace);
  const schedule::Trace first(trace.begin(), trace.begin() + static_cast<std::ptrdiff_t>(n));
  const uint64_t steps = schedule::hash(first);
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = starts_.size(); i-- > 0;) {
      const Start& s = *starts_[i];
      if (s.dag == t.dag && s.target == t.target && s.steps == steps) return starts_[i];
    }
  }
  const auto state = schedule::replay(schedule::State(t.dag, t.target), first);
  if (!state) return state.illegal();
  const Roles roles = roles_of(*state);
  auto made = std::make_shared<Start>(Start{t.dag, t.target, steps, sketch_of(*state, roles), {}});
  TokenWriter row(made->rows);
  const TokenMachine machine(*t.target);
  write_task(t, made->sketch, machine, row);
  write_axes(roles, made->sketch, machine, row);
  const std::lock_guard lock(mutex_);
  if (starts_.size() >= kMostStarts)
    starts_.erase(starts_.begin(), starts_.begin() + kMostStarts / 2);
  starts_.push_back(made);
  return std::shared_ptr<const Start>(std::move(made));
}

Result<Row> Tokens::encode(const task::Task& t, const schedule::Trace& trace) const {
  const auto begin = start(t, trace);
  if (!begin) return begin.illegal();
  Sketch sketch = (*begin)->sketch;
  for (size_t i = followed_by_state(trace); i < trace.size(); ++i)
    TENON_TRY(sketch.apply(trace[i]));
  sketch.settle();
  Row out{{}, kTokenColumns, {}};
  out.values.reserve(kTokenRows * kTokenColumns);
  out.values = (*begin)->rows;
  TokenWriter row(out.values);
  write_program(sketch, trace, TokenMachine(*t.target), row);
  return out;
}

uint64_t token_hash() {
  return Hasher()
      .add(kTokenFormulas)
      .add(uint64_t{kTokenColumns})
      .add(uint64_t{kTokenRows})
      .value();
}

}  // namespace tenon::cost
