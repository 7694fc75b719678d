// SPDX-License-Identifier: Apache-2.0
// A program as the decisions that led to it, each with what might have been decided instead.
//
//   Watch watch(prefix);                       // forwards to another decider
//   space.write(watch);
//   watch.decisions()[0].domain.size();        // how many algorithms there were
#pragma once

#include <span>
#include <vector>

#include "space/decider.h"
#include "space/space.h"

namespace tenon::value {

struct Decision {
  space::HoleId hole;
  std::string_view name;  // for people; of static storage
  space::Domain domain;
  int64_t value = 0;
  int64_t rule = 0;
};
using Decisions = std::vector<Decision>;
int64_t algorithm_of(
    const Decisions& decisions);  // 0, the definition's own, where there is no choice

class Watch : public space::Decider {
 public:
  explicit Watch(space::Decider& other) : other_(other) {}
  int64_t decide(const space::Hole& hole) override {
    const int64_t value = other_.decide(hole);
    decisions_.push_back({hole.id, hole.name, hole.domain, value, hole.rule});
    return value;
  }
  Decisions take() { return std::move(decisions_); }

 private:
  space::Decider& other_;
  Decisions decisions_;
};

// A partial program, completed by rule: the first `made` of its decisions were made.
struct Look {
  space::Program program;
  Decisions decisions;
  size_t made = 0;
  bool complete() const { return made == decisions.size(); }
};

// Refused: what the rules make of these choices does not fit, or they are none of this space's.
Result<Look> look_at(const space::Space& space, std::span<const space::Choice> made);

}  // namespace tenon::value
