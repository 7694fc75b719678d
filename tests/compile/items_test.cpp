// SPDX-License-Identifier: Apache-2.0
#include "compile/items.h"

#include <gtest/gtest.h>

#include "compile/size_models.h"

namespace tenon::compile {
namespace {

bool apart(const std::string& bytes, const std::map<std::string, std::string>& others = {}) {
  const auto at = [&](int64_t batch) {
    std::map<std::string, std::string> dims = others;
    dims["batch"] = std::to_string(batch);
    return Sized(bytes, dims).at({});
  };
  const graph::Graph one = at(1);
  bool all = true;
  for (const int64_t items : {2, 3, 7}) {
    const std::vector<bool> has(one.inputs.size(), true);
    std::vector<bool> two = has;
    if (has.size() == 3) two[2] = false;  // a bias
    all = all && items_are_apart(one, at(items), items, two);
  }
  return all;
}

TEST(Items, OfNetworksThatLookAtOneItemAtATime) {
  EXPECT_TRUE(apart(batch_cnn()));
  EXPECT_TRUE(apart(batch_mlp()));
  EXPECT_TRUE(apart(two_inputs()));
  EXPECT_TRUE(apart(attention_block(), {{"seq", "5"}}));
  EXPECT_TRUE(apart(embedding_mean(), {{"seq", "3"}}));
}

TEST(Items, MixedOrCounted) {
  EXPECT_FALSE(apart(mixing_batch()));
  EXPECT_FALSE(apart(batch_in_numbers()));
  EXPECT_FALSE(apart(batch_lstm())) << "they do not lie one behind the other";
}

}  // namespace
}  // namespace tenon::compile
