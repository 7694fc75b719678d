// SPDX-License-Identifier: Apache-2.0
#include "space/builder.h"

#include <gtest/gtest.h>

#include "space/product.h"

namespace tenon::space {
namespace {

TEST(Builder, WritesWhatTextWouldSay) {
  const task::Task t = product_task();
  const schedule::State initial(t.dag, t.target);
  ByRule rule;
  Builder b(initial, rule);
  ProductSkeleton().write(b);
  ASSERT_FALSE(b.refused());
  EXPECT_EQ(schedule::to_text(b.trace(), initial),
            "split d i [4] parts\nsplit d j [8]\nreorder d [i.0, j.0, i.1, j.1]\n"
            "compute_at c d j.0\nparallel d i.0\nsplit d j.1 [4]\nvectorize d j.1.1\n");
  ASSERT_EQ(b.choices().size(), 5u);
  EXPECT_EQ(b.choices()[2], (Choice{{HoleKind::kFactor, b.stage("d").id, 0}, 8}));
  EXPECT_EQ(b.asked_at(), (std::vector<size_t>{0, 0, 0, 4, 5}));
  ASSERT_EQ(b.places().size(), 3u);
  EXPECT_EQ(b.places()[0].choice, 1u);
  EXPECT_EQ(b.places()[1].step, 1u);
}

TEST(Builder, StandsStillAfterARefusal) {
  const task::Task t = product_task();
  ByRule rule;
  Builder b(schedule::State(t.dag, t.target), rule);
  const StageRef d = b.stage("d");
  const auto [j0, j1] = b.split<2>(b.axis(d, 1), {100});
  EXPECT_TRUE(b.refused());
  EXPECT_EQ(b.why()->code, IllegalCode::kBadFactor);
  b.vectorize(j1);
  b.parallel(b.fuse({b.axis(d, 0), j0}));
  EXPECT_EQ(b.extent(j0), 1);
  EXPECT_EQ(b.cache_write(b.stage("c"), ir::Scope::kLocal).id, -1);
  EXPECT_TRUE(b.trace().empty());
  EXPECT_EQ(b.why()->code, IllegalCode::kBadFactor);
}

TEST(Builder, AsksOnlyWhereThereIsAChoice) {
  const task::Task t = product_task();
  ByRule rule;
  Builder b(schedule::State(t.dag, t.target), rule);
  EXPECT_EQ(b.ask({}, "one", Domain::single(7), 3), 7);
  EXPECT_TRUE(b.choices().empty());
  EXPECT_EQ(b.ask({}, "near", Domain::of({2, 8}), 9), 8) << "a rule beyond the domain";
  b.ask({}, "none", Domain(), 1);
  EXPECT_TRUE(b.refused());
}

TEST(Builder, RefusesWhatItsDeciderDoesNotWantWhereTheSkeletonAsks) {
  class Fickle : public ByRule {
   public:
    int64_t decide(const Hole& hole) override {
      ++asked_;
      return ByRule::decide(hole);
    }
    bool gives_up() const override { return asked_ == 2; }

   private:
    int asked_ = 0;
  };
  const task::Task t = product_task();
  Fickle fickle;
  Builder b(schedule::State(t.dag, t.target), fickle);
  const StageRef d = b.stage("d");
  b.split<2>(b.axis(d, 1), {b.ask({}, "first", Domain::of({2, 3}), 2)});
  EXPECT_FALSE(b.refuse_unwanted());
  EXPECT_EQ(b.ask({}, "second", Domain::of({2, 3}), 3), 3);
  EXPECT_FALSE(b.refused()) << "a skeleton in the middle of its work is not stopped";
  EXPECT_TRUE(b.refuse_unwanted());
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.why()->code, IllegalCode::kUnwanted);
}

TEST(Builder, TakesBackWhatWasTried) {
  const task::Task t = product_task();
  ByRule rule;
  Builder b(schedule::State(t.dag, t.target), rule);
  const StageRef d = b.stage("d");
  b.split(b.axis(d, 0), {4});
  const auto mark = b.mark();
  b.split(b.axis(d, 1), {8});
  EXPECT_FALSE(b.try_add(schedule::Vectorize{d, {0}}));
  b.back_to(mark);
  EXPECT_EQ(b.trace().size(), 1u);
  EXPECT_FALSE(b.refused());
  EXPECT_EQ(b.leaves(d).size(), 3u);
}

}  // namespace
}  // namespace tenon::space
