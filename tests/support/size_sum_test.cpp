// SPDX-License-Identifier: Apache-2.0
#include "support/size_sum.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

const std::set<std::string> kNames = {"past", "seq", "batch-size", "2d"};

TEST(SizeSum, ReadsSumsOfDimensions) {
  const std::map<std::string, int64_t> sizes = {
      {"past", 5}, {"seq", 3}, {"batch-size", 2}, {"2d", 7}};
  const std::pair<const char*, int64_t> cases[] = {{"past + 1", 6},
                                                   {"past+1", 6},
                                                   {"past + seq", 8},
                                                   {"seq * 2", 6},
                                                   {"2*seq", 6},
                                                   {"1 + past + 2 * seq * 3", 24},
                                                   {"past - 1", 4},
                                                   {"batch-size + past", 7},
                                                   {"batch-size - seq + 4", 3},
                                                   {"past + seq - past", 3},
                                                   {"10 - seq", 7},
                                                   {"past * 0 + seq", 3}};
  for (const auto& [text, value] : cases) {
    const auto sum = parse_size_sum(text, kNames);
    ASSERT_TRUE(sum) << text;
    EXPECT_EQ(sum->at(sizes), value) << text;
    if (sum->factors.size() > 1 || sum->constant != 0) {
      EXPECT_EQ(parse_size_sum(sum->text(), kNames), sum) << sum->text();
    }
  }
}

TEST(SizeSum, LeavesOtherNamesAlone) {
  for (const char* text :
       {"", "past", "batch-size", "other + 1", "past + other", "past +", "+ 1", "past * seq",
        "past / 2", "floor(past) + 1", "3", "3 + 4", "past - past", "past + 99999999999999999999",
        "past * 1048576 * 1048576", "past ++ 1"}) {
    EXPECT_FALSE(parse_size_sum(text, kNames)) << text;
  }
}

TEST(SizeSum, PutsSizesInAndIsWritten) {
  const SizeSum sum = *parse_size_sum("past + 2 * seq + 1", kNames);
  EXPECT_EQ(sum.text(), "past + 2 * seq + 1");
  EXPECT_EQ(sum.with({{"past", 4}}).text(), "2 * seq + 5");
  EXPECT_EQ(sum.with({{"past", 4}, {"seq", 1}}).text(), "7");
  EXPECT_EQ(parse_size_sum("9 - seq", kNames)->text(), "0 - seq + 9");
  EXPECT_FALSE(sum.at({{"past", 4}}));
}

}  // namespace
}  // namespace tenon
