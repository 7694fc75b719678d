// SPDX-License-Identifier: Apache-2.0
#include "support/ref.h"

#include <gtest/gtest.h>

#include <utility>

namespace tenon {
namespace {

struct Node : RefCounted {
  explicit Node(int* alive) : alive_(alive) { ++*alive_; }
  ~Node() override { --*alive_; }
  int* alive_;
};

TEST(Ref, FreesTheNodeWithTheLastHandle) {
  int alive = 0;
  {
    const Ref<Node> a(new Node(&alive));
    const Ref<Node> b = a;
    EXPECT_TRUE(a.same_as(b));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Ref, MovingLeavesNothingBehind) {
  int alive = 0;
  Ref<Node> a(new Node(&alive));
  const Ref<Node> b = std::move(a);
  EXPECT_FALSE(a.defined());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(b.defined());
  EXPECT_EQ(alive, 1);
}

TEST(Ref, AssigningOverFreesTheOldNode) {
  int first = 0;
  int second = 0;
  Ref<Node> a(new Node(&first));
  const Ref<Node> b(new Node(&second));
  a = b;
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  const Ref<Node>& same = a;
  a = same;
  EXPECT_EQ(second, 1);
  EXPECT_TRUE(a.same_as(b));
}

TEST(Ref, EqualContentIsNotTheSameNode) {
  int alive = 0;
  const Ref<Node> a(new Node(&alive));
  const Ref<Node> b(new Node(&alive));
  EXPECT_FALSE(a.same_as(b));
  EXPECT_TRUE(Ref<Node>().same_as(Ref<Node>()));
}

}  // namespace
}  // namespace tenon
