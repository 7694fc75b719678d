// SPDX-License-Identifier: Apache-2.0
// The only description of a primitive's arguments. From it come JSON, text, hash, equality, and for
// search the tokens, knobs and mutation points.
//
//   static constexpr auto kFields = fields(field("stage", &Split::stage), field("loop", &Split::loop),
//                                          field("factors", &Split::factors, Tunable::kFactors));
#pragma once

#include <compare>
#include <cstdint>
#include <tuple>
#include <vector>

#include "ir/ir.h"

namespace tenon::schedule {

// Inputs and ops of the dag have ids 0.. in their order; stages that steps create get the next free id.
// An id is never reused or renumbered, so a trace keeps its meaning when a step inserts a stage.
struct StageRef {
  int32_t id = -1;
  auto operator<=>(const StageRef&) const = default;
};

// A loop of the stage named by the nearest StageRef field before it: axes first (spatial, then
// reduction), then the parts that split and fuse made, in order of creation.
struct LoopRef {
  int32_t id = -1;
  auto operator<=>(const LoopRef&) const = default;
};

// What search may change in a step without changing the structure of the program.
enum class Tunable : uint8_t { kNone, kFactors, kLimit, kLocation };

template <class Step, class Member>
struct Field {
  const char* name;
  Member Step::*member;
  Tunable tunable;
};

template <class Step, class Member>
constexpr Field<Step, Member> field(const char* name, Member Step::*member,
                                    Tunable tunable = Tunable::kNone) {
  return {name, member, tunable};
}

template <class... Fields>
constexpr std::tuple<Fields...> fields(Fields... f) {
  return {f...};
}

// Calls fn(field description, reference to the member) for each field in order.
template <class Step, class Fn>
void for_each_field(Step& step, Fn&& fn) {
  std::apply([&](const auto&... f) { (fn(f, step.*(f.member)), ...); },
             std::remove_cv_t<Step>::kFields);
}

}  // namespace tenon::schedule
