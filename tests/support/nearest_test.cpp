// SPDX-License-Identifier: Apache-2.0
#include "support/nearest.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Nearest, CountsEdits) {
  const struct {
    const char *a, *b;
    int distance;
  } rows[] = {
      {"", "", 0},      {"", "abc", 3},    {"abc", "abc", 0},        {"abc", "acb", 1},
      {"abc", "ab", 1}, {"abc", "xbc", 1}, {"kitten", "sitting", 3}, {"explain", "expalin", 1},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(edit_distance(row.a, row.b), row.distance) << row.a << " " << row.b;
    EXPECT_EQ(edit_distance(row.b, row.a), row.distance) << row.a << " " << row.b;
  }
}

TEST(Nearest, SaysWhatMayBeMeant) {
  const std::vector<std::string> words = {"bench", "compare", "compile", "resnet18", "resnet50"};
  EXPECT_EQ(did_you_mean("becnh", words, "-"), "did you mean 'bench'?");
  EXPECT_EQ(did_you_mean("resnet", words, "-"), "did you mean 'resnet18' or 'resnet50'?");
  EXPECT_EQ(did_you_mean("comp", words, "-"), "did you mean 'compare' or 'compile'?");
  EXPECT_EQ(did_you_mean("zebra", words, "-"), "-");
  EXPECT_EQ(did_you_mean("", words, "-"), "-");
  EXPECT_EQ(did_you_mean("sede", {"seed", "seed"}, "-"), "did you mean 'seed'?");
}

}  // namespace
}  // namespace tenon
