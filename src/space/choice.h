// SPDX-License-Identifier: Apache-2.0
// What was decided about a program, one choice for each hole of it. Records keep choices beside the trace; strategies
// change them.
//
//   split C i [4, 16]; parallel C i.0   <=>   factor C i 1 = 16, factor C i 0 = 4, parallel C = 1
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::space {

// What kind of thing a hole decides. Numbers are permanent: records and trained models go by them.
enum class HoleKind : uint8_t {
  kLayout = 1,     // a tile size of the layout of an edge
  kAlgorithm = 2,  // 0: by the definition; else 1 + schedule::Algorithm
  kStructure = 3,  // which template or sketch
  kFactor = 4,     // one factor of a split, or another tile size
  kParts = 5,      // a number of near-equal parts
  kLocation = 6,   // where a stage is computed
  kParallel = 7,   // how many outer loops the cores share out
  kUnroll = 8,     // the limit of copies
  kLanes = 9,      // lanes of a vector loop
  kSwitch = 10,    // one of a few ways
};
std::string_view word(HoleKind kind);  // "layout", "algorithm", ..

// The same decision in two programs has the same id, so that the choices of one can be tried in the other.
struct HoleId {
  HoleKind kind = HoleKind::kSwitch;
  int32_t stage = -1;  // schedule::StageId; -1: the whole program
  int32_t number = 0;  // tells the holes of one kind and stage apart
  auto operator<=>(const HoleId&) const = default;
};

struct Choice {
  HoleId hole;
  int64_t value = 0;
  bool operator==(const Choice&) const = default;
};
using Choices = std::vector<Choice>;

// [["factor",2,9,16],["parallel",2,0,1]]
std::string to_json(const Choices& choices);
Choices choices_from_json(const std::string& json);  // throws UserError

}  // namespace tenon::space
