// SPDX-License-Identifier: Apache-2.0
#include "compile/places.h"

#include <algorithm>
#include <numeric>

#include "support/check.h"

namespace tenon::compile {

using artifact::Param;
using artifact::Place;
using graph::FlowKind;
using graph::FlowOp;
using graph::Lifetime;
using plan::PlannedCall;
using plan::Slot;

namespace {

int64_t stored_bytes(const graph::Graph& g, const Slot& s) {
  int64_t n = g.value(s.value).dtype.bytes();
  for (const int64_t e : s.layout.storage_shape()) n *= e;
  return n;
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> steps_of_segments(const plan::Network& n) {
  const auto count = static_cast<int64_t>(n.layouts.calls.size());
  if (n.segments.empty()) return {{0, count}};
  int64_t segments = 0;
  for (const FlowOp& op : n.segments.flow) {
    if (op.kind == FlowKind::kRun) segments = std::max(segments, op.number + 1);
  }
  std::vector<std::pair<int64_t, int64_t>> steps(static_cast<size_t>(segments), {0, 0});
  const std::vector<int32_t> of_value = graph::segments_of_values(n.graph, n.segments);
  int32_t last = -1;
  for (int64_t s = 0; s < count; ++s) {
    const int32_t slot = n.layouts.calls[static_cast<size_t>(s)].outputs.at(0);
    const graph::ValueId v = n.layouts.slots[static_cast<size_t>(slot)].value;
    const int32_t segment = of_value[static_cast<size_t>(v)];
    TENON_CHECK(segment >= last) << "step " << s << " stands behind another segment";
    if (segment != last) steps[static_cast<size_t>(segment)] = {s, s};
    steps[static_cast<size_t>(segment)].second = s + 1;
    last = segment;
  }
  return steps;
}

class Places::Times {
 public:
  explicit Times(const plan::Network& n) : step_(n.layouts.calls.size()) {
    if (n.segments.empty()) {
      std::iota(step_.begin(), step_.end(), 0);
      return;
    }
    const auto steps = steps_of_segments(n);
    int32_t now = 0;
    for (const FlowOp& op : n.segments.flow) {
      op_.push_back(now);
      if (op.kind == FlowKind::kRun) {
        const auto [first, last] = steps[static_cast<size_t>(op.number)];
        for (int64_t s = first; s < last; ++s) step_[static_cast<size_t>(s)] = now++;
      }
      ++now;
      ends_.push_back(now - 1);
    }
    op_.push_back(now);
    find_lives(n.segments);
  }

  int32_t of_step(size_t s) const { return step_[s]; }
  const std::vector<Lifetime>& variables() const { return lives_; }
  const std::vector<bool>& live() const { return seen_; }

 private:
  void touch(int32_t v, int32_t first, int32_t last) {
    Lifetime& l = lives_[static_cast<size_t>(v)];
    l.first = seen_[static_cast<size_t>(v)] ? std::min(l.first, first) : first;
    l.last = std::max(l.last, last);
    seen_[static_cast<size_t>(v)] = true;
  }

  // What a segment reads and writes lives all through it: steps of it run in between.
  void find_lives(const graph::Segments& s) {
    lives_.resize(s.variables.size());
    seen_.assign(s.variables.size(), false);
    std::map<int64_t, size_t> run_of;
    for (size_t i = 0; i < s.flow.size(); ++i) {
      const FlowOp& op = s.flow[i];
      if (op.kind == FlowKind::kRun) run_of[op.number] = i;
      for (const int32_t v : op.reads()) touch(v, op_[i], ends_[i]);
      if (op.writes() >= 0) touch(op.writes(), op_[i], ends_[i]);
    }
    for (const auto* ports : {&s.inputs, &s.outputs}) {
      for (const graph::Port& p : *ports) {
        const size_t i = run_of.at(p.segment);
        touch(p.variable, op_[i], ends_[i]);
      }
    }
    // Inner loops end first. What comes into a loop and is looked at there must be there in the next turn too.
    for (size_t i = 0; i < s.flow.size(); ++i) {
      if (s.flow[i].kind != FlowKind::kJump || s.flow[i].target > static_cast<int32_t>(i)) continue;
      const int32_t head = op_[static_cast<size_t>(s.flow[i].target)];
      for (Lifetime& l : lives_) {
        if (l.first < head && l.last >= head) l.last = std::max(l.last, ends_[i]);
      }
    }
  }

  std::vector<int32_t> step_;       // when each step runs
  std::vector<int32_t> op_, ends_;  // when each instruction begins and ends
  std::vector<Lifetime> lives_;     // of variables
  std::vector<bool> seen_;
};

Places::Places(const plan::Network& n, const target::Target& target)
    : n_(n), g_(n.graph), plan_(n.layouts), alignment_(artifact::alignment(target)) {
  params_.resize(plan_.slots.size());
  if (n.segments.empty()) {
    find_caller_memory();
  } else {
    find_variables();
  }
  std::vector<bool> placed(plan_.slots.size(), false);
  for (size_t s = 0; s < plan_.slots.size(); ++s) {
    params_[s].bytes = stored_bytes(g_, plan_.slots[s]);
    placed[s] = is_placed(s);
  }
  place_rest(placed);
}

bool Places::is_plain(const Slot& s) const {
  return layout::same_storage(s.layout, layout::Layout(g_.value(s.value).shape));
}

void Places::find_caller_memory() {
  for (size_t i = 0; i < g_.inputs.size(); ++i) {
    callers_.emplace(g_.inputs[i], Param{Place::kInput, static_cast<int32_t>(i), 0, 0});
  }
  for (size_t i = 0; i < g_.outputs.size(); ++i) {
    callers_.emplace(n_.partition.view_of[static_cast<size_t>(g_.outputs[i])],
                     Param{Place::kOutput, static_cast<int32_t>(i), 0, 0});
  }
}

void Places::find_variables() {
  const graph::Segments& s = n_.segments;
  for (size_t i = 0; i < g_.inputs.size(); ++i) {
    variable_of_.emplace(g_.inputs[i], s.inputs[i].variable);
  }
  for (size_t i = 0; i < g_.outputs.size(); ++i) {
    const graph::ValueId root = n_.partition.view_of[static_cast<size_t>(g_.outputs[i])];
    if (!g_.value(root).constant()) variable_of_.emplace(root, s.outputs[i].variable);
  }
  for (const graph::Variable& v : s.variables) {
    Param p{Place::kArena, 0, 0, v.bytes()};
    if (v.input >= 0) p = {Place::kInput, v.input, 0, v.bytes()};
    if (v.output >= 0) p = {Place::kOutput, v.output, 0, v.bytes()};
    variables_.push_back(p);
  }
}

bool Places::is_placed(size_t slot) {
  if (!is_plain(plan_.slots[slot])) return false;
  const graph::ValueId v = plan_.slots[slot].value;
  if (const auto it = callers_.find(v); it != callers_.end()) {
    params_[slot].place = it->second.place;
    params_[slot].index = it->second.index;
    return true;
  }
  const auto it = variable_of_.find(v);
  if (it != variable_of_.end()) variable_of_slot_[slot] = it->second;
  return it != variable_of_.end();
}

std::vector<Lifetime> Places::lives_of_slots(const Times& times, std::vector<bool>& seen) const {
  std::vector<Lifetime> lives(plan_.slots.size());
  const auto touch = [&](int32_t slot, size_t step) {
    if (slot < 0) return;
    Lifetime& l = lives[static_cast<size_t>(slot)];
    if (!seen[static_cast<size_t>(slot)]) l.first = times.of_step(step);
    seen[static_cast<size_t>(slot)] = true;
    l.last = times.of_step(step);
  };
  for (size_t c = 0; c < plan_.calls.size(); ++c) {
    for (const int32_t s : plan_.calls[c].inputs) touch(s, c);
    for (const int32_t s : plan_.calls[c].outputs) touch(s, c);
  }
  return lives;
}

void Places::place_rest(const std::vector<bool>& placed) {
  const Times times(n_);
  std::vector<bool> seen(plan_.slots.size(), false);
  std::vector<Lifetime> lives = lives_of_slots(times, seen);
  const std::vector<size_t> shared = share(placed, times, lives);
  std::vector<Lifetime> wanted;
  std::vector<Param*> which;
  const auto want = [&](Lifetime l, Param& p) {
    l.bytes = p.bytes;
    wanted.push_back(l);
    which.push_back(&p);
  };
  for (size_t s = 0; s < lives.size(); ++s) {
    if (!placed[s] && seen[s] && shared[s] == s) want(lives[s], params_[s]);
  }
  for (size_t v = 0; v < variables_.size(); ++v) {
    const bool here =
        variables_[v].place == Place::kArena && n_.segments.variables[v].data == nullptr;
    if (here && times.live()[v]) want(times.variables()[v], variables_[v]);
  }
  const graph::Placement where = graph::place(wanted, alignment_);
  for (size_t i = 0; i < which.size(); ++i) which[i]->offset = where.offsets[i];
  for (size_t s = 0; s < shared.size(); ++s) params_[s].offset = params_[shared[s]].offset;
  for (const auto& [slot, v] : variable_of_slot_) params_[slot] = of_variable(v);
  arena_bytes_ = where.bytes;
}

// Element-wise outputs that take over the memory of an input that dies with them. Lifetimes are joined.
std::vector<size_t> Places::share(const std::vector<bool>& placed, const Times& times,
                                  std::vector<Lifetime>& lives) const {
  std::vector<size_t> owner(plan_.slots.size());
  std::iota(owner.begin(), owner.end(), size_t{0});
  for (size_t c = 0; c < plan_.calls.size(); ++c) {
    const PlannedCall& call = plan_.calls[c];
    if (call.in_place < 0) continue;
    const auto in = static_cast<size_t>(call.inputs[static_cast<size_t>(call.in_place)]);
    const auto out = static_cast<size_t>(call.outputs[0]);
    const size_t from = owner[in];
    // Kernels are compiled to believe that what they write lies apart from all other inputs.
    const auto reads = std::count(call.inputs.begin(), call.inputs.end(), static_cast<int32_t>(in));
    if (placed[from] || placed[out] || lives[in].last != times.of_step(c) || reads != 1 ||
        params_[from].bytes != params_[out].bytes)
      continue;
    owner[out] = from;
    lives[from].last = std::max(lives[from].last, lives[out].last);
  }
  return owner;
}

}  // namespace tenon::compile
