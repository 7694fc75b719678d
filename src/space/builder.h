// SPDX-License-Identifier: Apache-2.0
// Writes a program step by step, typed: stages and loops are handles, numbers may be choices. Templates and sketch rules
// write through it, so that every program has its choices, and they can be read back from its trace.
//
//   const StageRef acc = b.cache_write(out, ir::Scope::kRegister);
//   const Value nb = b.ask({HoleKind::kFactor, out.id, 0}, "nb", Domain::range(1, 8), 2);
//   const auto [j0, j1, j2] = b.split<3>(b.axis(out, 1), {nb, 16});
//   b.vectorize(j2);
//
// After a refused step the builder stands still: later steps do nothing, handles that they return name no loop, and the
// state stays what it was. Whoever writes need not look at each step; program() says why there is none.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/bounds.h"
#include "schedule/trace.h"
#include "space/decider.h"
#include "space/prefix_tree.h"

namespace tenon::space {

using schedule::LoopRef;
using schedule::StageRef;

// A loop of a stage. Steps that change the layout of the stage make it meaningless.
struct Loop {
  StageRef stage;
  LoopRef id;
  bool operator==(const Loop&) const = default;
};

// A number that may be a choice. Arithmetic gives plain numbers: those cannot be read back.
struct Value {
  Value(int64_t v) : value(v) {}  // NOLINT(google-explicit-constructor)
  Value(int64_t v, int32_t h) : value(v), hole(h) {}
  operator int64_t() const { return value; }  // NOLINT(google-explicit-constructor)
  int64_t value;
  int32_t hole = -1;  // index of the choice
};

// A choice stands as it is in a step of the trace.
struct Place {
  size_t choice;        // index of Builder::choices()
  size_t step, number;  // which of the step's numbers
};

class Builder {
 public:
  // `quickly`: compute_at is checked without bounds, which whoever takes the program infers once at the end.
  Builder(schedule::State initial, Decider& decider, bool quickly = false);
  // The same, quickly, from the root of a tree of what other programs began with.
  Builder(PrefixTree& tree, Decider& decider);
  // Goes on from a state that is known: `trace` leads to it.
  void start_from(const schedule::State& state, const schedule::Trace& trace);

  // ---- decisions ----
  // A domain of one value is not asked about; an empty one refuses the program.
  Value ask(HoleId id, std::string_view name, Domain domain, int64_t rule,
            Weights weights = nullptr, Read read = nullptr);
  void refuse(Illegal why);
  bool refused() const { return refused_.has_value(); }
  // Refuses the program if its decider gave up; true if it did.
  bool refuse_unwanted();
  const std::optional<Illegal>& why() const { return refused_; }

  // ---- loops ----
  // Outermost first. `factors` as schedule::Split has them.
  std::vector<Loop> split(Loop loop, std::vector<Value> factors);
  template <size_t N>
  std::array<Loop, N> split(Loop loop, std::vector<Value> factors) {
    return first<N>(split(loop, std::move(factors)));
  }
  std::array<Loop, 2> parts(Loop loop, Value number);  // near-equal ones
  Loop fuse(const std::vector<Loop>& loops);           // one loop stays as it is
  void reorder(const std::vector<Loop>& loops);
  void parallel(Loop loop);
  void vectorize(Loop loop);
  void unroll(Loop loop);
  void limit_unrolling(StageRef stage, Value limit);
  void tensorize(Loop lanes, Loop loop, schedule::Dot dot);
  void bind(Loop loop, ir::ThreadTag tag);
  void prefetch(Loop loop, StageRef tensor, Value distance);
  void decompose_init(Loop loop);

  // ---- places ----
  void compute_at(StageRef stage, Loop loop);
  // In memory that the threads of a block share.
  void compute_shared(StageRef stage, Loop loop);
  void compute_inline(StageRef stage);
  void compute_root(StageRef stage);
  StageRef cache_write(StageRef stage, ir::Scope scope);
  StageRef cache_read(StageRef tensor, std::vector<StageRef> readers, ir::Scope scope);
  StageRef rfactor(Loop loop, int64_t axis);
  void variant(StageRef stage, schedule::Algorithm algorithm);

  // ---- layouts ----
  void layout_split(StageRef stage, int64_t dim, std::vector<Value> factors);
  void layout_reorder(StageRef stage, std::vector<int64_t> order);
  void layout_fuse(StageRef stage, int64_t dim, int64_t count);
  void layout_pad(StageRef stage, int64_t dim, int64_t before, int64_t after);
  void layout_unfold(StageRef stage, int64_t dim, int64_t size, int64_t stride);
  void layout_store_at(StageRef stage, StageRef host, int64_t dim);
  void layout_swizzle(StageRef stage, int64_t dim, int64_t by, int64_t count);
  void storage_align(StageRef stage, int64_t dim, int64_t factor, int64_t offset);
  // From its plain order to `l`.
  void store(StageRef tensor, const layout::Layout& l);

  // Any step; false if it was refused, or nothing was done since another was before.
  bool add(schedule::Step step);
  // The same without refusing the program: what is refused is left out.
  bool try_add(schedule::Step step);
  // A step that is known to be legal.
  void add_checked(schedule::Step step);

  // ---- what there is by now ----
  const schedule::State& state() const { return known_ != nullptr ? known_->state() : *state_; }
  const te::ComputeDag& dag() const { return state().dag(); }
  const target::Target& target() const { return state().target(); }
  StageRef stage(std::string_view name) const;  // there is one
  const te::ComputeOp& now(
      StageRef stage) const;  // computed: over storage dimensions, inlined stages inside
  Loop axis(StageRef stage,
            size_t position) const;  // spatial ones, then reductions, before any split
  std::vector<Loop> leaves(StageRef stage) const;
  int64_t extent(Loop loop) const;  // declared; 1 for a handle of a refused step
  const schedule::Trace& trace() const { return trace_; }
  const Choices& choices() const { return choices_; }
  const std::vector<Place>& places() const { return places_; }
  // How many steps there were when each choice was made: it can have changed later ones only.
  const std::vector<size_t>& asked_at() const { return asked_at_; }

  // For skeletons that try steps, and for those that infer bounds anyway.
  struct Mark {
    schedule::State state;
    size_t steps;
  };
  Mark mark() const { return {state(), trace_.size()}; }
  void back_to(const Mark& m);
  void set_bounds(schedule::Bounds b) { bounds_ = std::move(b); }
  // Where layouts of edges are decisions: what was decided. The program has to keep them.
  using Edges = std::map<std::string, layout::Layout>;
  void set_edges(Edges e) { edges_ = std::move(e); }
  const std::optional<Edges>& edges() const { return edges_; }

  schedule::Trace take_trace() { return std::move(trace_); }
  schedule::State take_state() { return std::move(own_state()); }
  Choices take_choices() { return std::move(choices_); }
  std::optional<schedule::Bounds> take_bounds() { return std::move(bounds_); }

 private:
  template <size_t N>
  static std::array<Loop, N> first(const std::vector<Loop>& loops) {
    TENON_CHECK(loops.size() == N) << loops.size() << " loops, not " << N;
    std::array<Loop, N> out;
    for (size_t i = 0; i < N; ++i) out[i] = loops[i];
    return out;
  }
  // Remembers where choices stand in the step that comes next; `before`: numbers of the step in front of them.
  void note(const std::vector<Value>& values, size_t before = 0);
  StageRef newest() const { return {static_cast<int32_t>(state().size()) - 1}; }
  // From here on the state is the program's own.
  schedule::State& own_state();
  bool is_known(const schedule::Step& step);
  // Does a step, and remembers what came of it while the program keeps to the tree.
  void take(schedule::Step step);
  Result<void> check(const schedule::Step& step) const;

  std::optional<schedule::State> state_;  // where `known_` is null
  PrefixTree* tree_ = nullptr;
  const PrefixTree::Node* known_ = nullptr;  // while the program began like another
  const PrefixTree::Node* next_ = nullptr;   // after the step that is being added
  Decider& decider_;
  bool quickly_;
  schedule::Trace trace_;
  Choices choices_;
  std::vector<size_t> asked_at_;
  std::vector<Place> places_;
  std::optional<Illegal> refused_;
  std::optional<schedule::Bounds> bounds_;
  std::optional<Edges> edges_;
};

}  // namespace tenon::space
