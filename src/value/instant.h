// SPDX-License-Identifier: Apache-2.0
// A good program for a task in a moment, without measuring: what the value function finds, what is known to be good for
// tasks like it, and what the rules write, by predicted worth.
//
//   const Instant instant(std::move(v), known_programs);
//   instant.choose(task)->taken.look.program.trace;
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/known_programs.h"
#include "value/beam.h"

namespace tenon::value {

struct InstantOptions {
  BeamOptions beam;
  size_t others = 3;  // runners-up that are told
  std::string space = "joint";
};

// What was chosen for a task, and why.
struct Chosen {
  Found taken;
  Found by_rule;              // the program that the rules write
  std::vector<Found> others;  // the best that were not taken, best first
  bool is_rule() const { return taken.look.program.hash == by_rule.look.program.hash; }
};

class Instant {
 public:
  // `known`: good programs of other tasks; may be empty.
  Instant(ValueFunction v, std::vector<history::KnownTask> known, InstantOptions options = {});

  // Nothing: there is no space for the task, or the rules' own program does not fit. Another program than the rules' is
  // taken only if it is predicted to be better by the margin of the function. May be asked by several threads at once.
  std::optional<Chosen> choose(const task::Task& t) const;

  // By how much a program is predicted to be better than the rules' beyond the margin.
  double gain(const Found& f, const Found& by_rule) const;

  const ValueFunction& value() const { return v_; }

 private:
  std::vector<Found> candidates(const space::Space& space, const RowMaker& maker) const;
  void add_transplants(const space::Space& space, std::vector<Look>& to) const;

  ValueFunction v_;
  std::vector<history::KnownTask> known_;
  InstantOptions options_;
};

// One decision of a program, the predicted worth of it and of the values that were not taken, best first.
struct Reason {
  Decision decision;
  double worth = 0;
  std::vector<std::pair<int64_t, double>> others;
};
// Of each decision of a complete program, in their order, with those before it as they are.
std::vector<Reason> reasons(const space::Space& space, const RowMaker& maker,
                            const ValueFunction& v, const Look& program);

}  // namespace tenon::value
