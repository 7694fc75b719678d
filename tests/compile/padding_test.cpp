// SPDX-License-Identifier: Apache-2.0
#include "compile/padding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compile/size_models.h"

namespace tenon::compile {
namespace {

// Of a model at two sizes of a dimension that every input has along `axis`.
std::optional<Padding> padding(const std::string& bytes, const std::string& dim, size_t axis,
                               std::map<std::string, std::string> others = {}) {
  const auto at = [&](int64_t size) {
    std::map<std::string, std::string> dims = others;
    dims[dim] = std::to_string(size);
    return Sized(bytes, dims).at({});
  };
  const graph::Graph padded = at(24);
  std::vector<std::vector<bool>> has;
  for (const graph::ValueId v : padded.inputs) {
    has.emplace_back(padded.value(v).shape.size(), false);
    has.back()[axis] = true;
  }
  const auto found = find_padding(at(17), padded, 17, 24, has);
  EXPECT_EQ(found, find_padding(at(2), padded, 2, 24, has)) << "the same for every size";
  return found;
}

int products(const Padding& p) {
  int count = 0;
  for (const Limit& l : p.limits) count += l.product ? 1 : 0;
  return count;
}

TEST(Padding, SumsOfAttentionStopAtTheSize) {
  const auto found = padding(attention_block(), "seq", 1, {{"batch", "2"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(products(*found), 1) << "softmax(s) v";
  ASSERT_EQ(found->limits.size(), 2U);
  EXPECT_EQ(found->limits[0].axis, 2U) << "of s, whose rows may be anything beyond the size";
  EXPECT_EQ(found->limits[0].value, -INFINITY);
  EXPECT_EQ(found->outputs, (std::vector<std::vector<bool>>{{false, true, false}}));
}

TEST(Padding, SumsAndExtremesHaveTheirOwnValues) {
  const auto found = padding(masked_attention(), "seq", 1, {{"batch", "2"}});
  ASSERT_TRUE(found);
  std::vector<double> values;
  for (const Limit& l : found->limits) {
    if (!l.product) values.push_back(l.value);
  }
  EXPECT_EQ(values, (std::vector<double>{-INFINITY, 0, -INFINITY})) << "softmax, sum, largest";
  EXPECT_EQ(found->outputs[1], (std::vector<bool>{false, false}));
}

TEST(Padding, ThroughReshapesAndBesideConstants) {
  EXPECT_TRUE(padding(positions(), "seq", 1, {{"batch", "2"}}));
  EXPECT_TRUE(padding(scaled_rows(), "seq", 0));
}

TEST(Padding, NotWhereTheSizeIsPartOfTheComputation) {
  EXPECT_FALSE(padding(embedding_mean(), "seq", 1, {{"batch", "2"}})) << "divides by it";
  EXPECT_FALSE(padding(last_row(), "seq", 0));
  EXPECT_FALSE(padding(joined_rows(), "seq", 0)) << "an output of another size";
  EXPECT_FALSE(padding(sound(), "samples", 2)) << "zeros stand behind the last sample";
  EXPECT_FALSE(padding(batch_in_numbers(), "batch", 0));
}

}  // namespace
}  // namespace tenon::compile
