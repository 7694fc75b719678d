// SPDX-License-Identifier: Apache-2.0
#include "space/prefix_tree.h"

#include <gtest/gtest.h>

#include <thread>

#include "space/product.h"
#include "space/space.h"

namespace tenon::space {
namespace {

schedule::State initial() {
  const task::Task t = product_task();
  return schedule::State(t.dag, t.target);
}

schedule::Step unroll_limit(int64_t limit) { return schedule::PragmaUnroll{{3}, limit}; }

TEST(PrefixTree, FindsWhatWasAdded) {
  PrefixTree tree(initial());
  EXPECT_EQ(PrefixTree::after(tree.root(), unroll_limit(4)), nullptr);
  const auto* four = tree.add(tree.root(), unroll_limit(4), initial());
  const auto* eight = tree.add(tree.root(), unroll_limit(8), initial());
  EXPECT_EQ(PrefixTree::after(tree.root(), unroll_limit(4)), four);
  EXPECT_EQ(PrefixTree::after(tree.root(), unroll_limit(8)), eight);
  EXPECT_EQ(PrefixTree::after(four, unroll_limit(8)), nullptr);
}

TEST(PrefixTree, TakesOnlySoManyChildren) {
  PrefixTree tree(initial());
  int taken = 0;
  for (int64_t n = 0; n < 100; ++n) {
    taken += tree.add(tree.root(), unroll_limit(n), initial()) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(taken, 16);
}

// What the tree hands out is what the steps lead to, also while several threads grow it.
TEST(PrefixTree, ProgramsOfManyThreadsAreTheirTraces) {
  const Space s(product_task(), std::make_unique<ProductSkeleton>());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0), built(4, 0);
  for (size_t k = 0; k < wrong.size(); ++k) {
    threads.emplace_back([&, k] {
      Rng rng(k);
      for (int n = 0; n < 100; ++n) {
        const auto p = s.sample(rng);
        if (!p) continue;
        ++built[k];
        const auto state = schedule::replay(initial(), p->trace);
        if (!state || schedule::to_string(*state) != schedule::to_string(p->state)) ++wrong[k];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (size_t k = 0; k < wrong.size(); ++k) {
    EXPECT_EQ(wrong[k], 0) << "thread " << k;
    EXPECT_GT(built[k], 20) << "thread " << k;
  }
}

}  // namespace
}  // namespace tenon::space
