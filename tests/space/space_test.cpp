// SPDX-License-Identifier: Apache-2.0
#include "space/space.h"

#include <gtest/gtest.h>

#include "space/product.h"

namespace tenon::space {
namespace {

Space product_space() { return Space(product_task(), std::make_unique<ProductSkeleton>()); }

// Draws one choice after the other.
Partial draw(const Space& s, Rng& rng) {
  Partial p;
  while (const auto hole = s.next(p)) {
    EXPECT_GE(hole->domain.size(), 2u);
    EXPECT_TRUE(hole->domain.contains(hole->rule));
    p = *s.choose(p, hole->domain.draw(rng));
  }
  return p;
}

TEST(Space, PrefixesLeadToCompletePrograms) {
  const Space s = product_space();
  Rng rng(11);
  int built = 0;
  for (int n = 0; n < 200; ++n) {
    const Partial p = draw(s, rng);
    const auto program = s.build(p);
    if (!program) continue;
    ++built;
    EXPECT_EQ(program->choices, p.made);
    const auto known = s.recognise(program->trace);
    ASSERT_TRUE(known.has_value()) << to_json(p.made);
    EXPECT_EQ(*known, p) << to_json(p.made) << to_json(known->made);
    const auto adopted = s.adopt(program->trace, p.made);
    ASSERT_TRUE(bool(adopted));
    EXPECT_EQ(adopted->choices, p.made);
  }
  EXPECT_GT(built, 100);
}

TEST(Space, ValuesOutsideTheDomainAreRefused) {
  const Space s = product_space();
  EXPECT_FALSE(bool(s.choose({}, 2)));
  const Partial at = *s.choose({}, 1);
  EXPECT_FALSE(bool(s.choose(at, 13)));
  EXPECT_TRUE(bool(s.choose(at, 12)));
}

TEST(Space, ForeignTracesAreNotRecognised) {
  const Space s = product_space();
  EXPECT_FALSE(s.recognise({}).has_value());
  const StageRef d{3};
  const schedule::Trace other = {schedule::Split{d, {0}, {4}, false}, schedule::Parallel{d, {2}}};
  EXPECT_FALSE(s.recognise(other).has_value());
  const auto adopted = s.adopt(other);
  ASSERT_TRUE(bool(adopted));
  EXPECT_TRUE(adopted->choices.empty());
}

TEST(Space, ChoicesOfAnotherProgramAreSnapped) {
  const Space s = product_space();
  ByRule rule;
  const int32_t d = 3;
  const Choices wish = {{{HoleKind::kFactor, d, 0}, 7}, {{HoleKind::kLanes, d, 0}, 64}};
  Follow follow(wish, rule);
  const auto program = s.write(follow);
  ASSERT_TRUE(bool(program));
  EXPECT_EQ(program->choices[2].value, 8);
  EXPECT_EQ(program->choices.back().value, 8);
}

}  // namespace
}  // namespace tenon::space
