// SPDX-License-Identifier: Apache-2.0
#include "support/flat_map.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "support/rng.h"

namespace tenon {
namespace {

TEST(FlatMap, FirstOfEqualKeysStays) {
  FlatMap<int, char> m{{2, 'b'}, {1, 'a'}, {2, 'c'}};
  EXPECT_EQ(m.size(), 2U);
  EXPECT_EQ(m[1], 'a');
  EXPECT_EQ(m.at(1), 'a');
  EXPECT_EQ(m[2], 'b');
  EXPECT_FALSE(m.emplace(2, 'd').second);
  EXPECT_EQ(m.begin()->first, 1);
}

TEST(FlatMap, WhatIsNotThereIsNotFound) {
  FlatMap<int, int> m;
  EXPECT_TRUE(m.empty());
  EXPECT_EQ(m.find(3), m.end());
  EXPECT_THROW(m.at(3), InternalError);
  EXPECT_EQ(m.erase(3), 0U);
  m[3] = 4;
  EXPECT_TRUE(m.contains(3));
  EXPECT_EQ(m.count(4), 0U);
  EXPECT_EQ(m.erase(3), 1U);
  EXPECT_TRUE(m.empty());
}

TEST(FlatMap, OwnsItsValues) {
  const auto value = std::make_shared<int>(1);
  FlatMap<int, std::shared_ptr<int>> m{{1, value}, {0, value}};
  FlatMap<int, std::shared_ptr<int>> copy = m;
  m.clear();
  EXPECT_EQ(value.use_count(), 3);
  copy.erase(0);
  EXPECT_EQ(value.use_count(), 2);
}

TEST(FlatMap, DoesWhatAMapDoes) {
  Rng rng(1);
  FlatMap<int64_t, int64_t> flat;
  std::map<int64_t, int64_t> tree;
  for (int64_t i = 0; i < 5000; ++i) {
    const auto key = rng.between(0, 63);
    switch (rng.between(0, 2)) {
      case 0:
        flat[key] = tree[key] = i;
        break;
      case 1:
        EXPECT_EQ(flat.erase(key), tree.erase(key));
        break;
      default:
        EXPECT_EQ(flat.contains(key), tree.contains(key));
        if (tree.contains(key)) EXPECT_EQ(flat.find(key)->second, tree[key]);
    }
    ASSERT_TRUE(std::equal(
        flat.begin(), flat.end(), tree.begin(), tree.end(),
        [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
  }
}

}  // namespace
}  // namespace tenon
