// SPDX-License-Identifier: Apache-2.0
#include "space/choice.h"

#include <gtest/gtest.h>

#include "support/check.h"

namespace tenon::space {
namespace {

TEST(Choices, AreReadBackFromJson) {
  const Choices all = {{{HoleKind::kLayout, 0, 3}, 16},    {{HoleKind::kAlgorithm, -1, 0}, 2},
                       {{HoleKind::kStructure, -1, 0}, 0}, {{HoleKind::kFactor, 2, 9}, 56},
                       {{HoleKind::kParts, 2, 1}, 4},      {{HoleKind::kLocation, 3, 0}, -1},
                       {{HoleKind::kParallel, 2, 0}, 2},   {{HoleKind::kUnroll, 2, 0}, 512},
                       {{HoleKind::kLanes, 4, 0}, 8},      {{HoleKind::kSwitch, 5, 1}, 1}};
  EXPECT_EQ(choices_from_json(to_json(all)), all);
  EXPECT_EQ(to_json({}), "[]");
  EXPECT_EQ(to_json({{{HoleKind::kFactor, 2, 9}, 16}}), R"([["factor",2,9,16]])");
}

TEST(Choices, DamagedTextIsRefused) {
  for (const char* text : {"", "{", "{}", "[1]", R"([["factor",2,9]])", R"([["factor",2,9,"a"]])",
                           R"([["nothing",2,9,1]])", R"([["factor",2,9,1.5]])"}) {
    EXPECT_THROW(choices_from_json(text), UserError) << text;
  }
}

}  // namespace
}  // namespace tenon::space
