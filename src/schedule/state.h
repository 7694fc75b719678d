// SPDX-License-Identifier: Apache-2.0
// State: a dag with every decision taken so far. Always made by replay(dag, trace); a cheap value to copy
// (stages are shared until one of the copies edits them).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedule/inlined_bodies.h"
#include "schedule/stage.h"
#include "support/result.h"
#include "target/target.h"

namespace tenon::schedule {

class State {
 public:
  State(std::shared_ptr<const te::ComputeDag> dag, std::shared_ptr<const target::Target> target);

  const te::ComputeDag& dag() const { return *dag_; }
  const target::Target& target() const { return *target_; }
  size_t size() const { return stages_.size(); }
  bool has(StageRef s) const { return s.id >= 0 && static_cast<size_t>(s.id) < stages_.size(); }
  const Stage& stage(StageId s) const { return *stages_[static_cast<size_t>(s)]; }
  const Stage& operator[](StageRef s) const { return stage(s.id); }
  // Stage ids so that every stage stands after those it reads.
  const std::vector<StageId>& order() const { return order_; }
  // The stage that owns a buffer; -1 if none does.
  StageId owner(const ir::Buffer& b) const;
  // Stages whose body reads `s`, inlined ones left out (their reads moved to their readers).
  std::vector<StageId> readers(StageId s) const { return readers_of(stage(s).buffer); }
  std::vector<StageId> readers_of(const ir::Buffer& b) const;
  std::vector<StageId> attached_to(StageId s, LoopId l) const;  // in order()
  StageId find(std::string_view stage_name) const;
  // How much larger than the definition's the rounding errors may be.
  double error_factor() const;

  // For primitives only; shared by all states that were made from the same initial one.
  InlinedBodies& inlined_bodies() const { return *inlined_bodies_; }
  Stage& edit(StageId s);
  // A new stage with a fresh id, placed right before (or after) `neighbour` in the order.
  StageId insert(Stage s, StageId neighbour, bool before);
  // A name no stage has yet: base, base.2, base.3 ...
  std::string fresh_name(const std::string& base) const;

 private:
  std::shared_ptr<const te::ComputeDag> dag_;
  std::shared_ptr<const target::Target> target_;
  std::shared_ptr<InlinedBodies> inlined_bodies_;
  std::vector<std::shared_ptr<Stage>> stages_;
  std::vector<StageId> order_;
};

// "split(C, i, [16]): ..." sentences for people: holes of illegal_sentence filled with names.
std::string render_illegal(const State& s, const Illegal& why);

// The loop nest as text, with the extents and marks that the program will have:
//   parallel i.0 in 0..4
//     C.cache at i.0 ...
std::string to_string(const State& s);

}  // namespace tenon::schedule
