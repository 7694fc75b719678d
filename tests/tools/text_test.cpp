// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/text.h"

#include <gtest/gtest.h>

#include "support/check.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {
namespace {

TEST(Text, ShapesForPeople) {
  EXPECT_EQ(shape_text({}), "scalar");
  EXPECT_EQ(shape_text({1, 3, 224}), "1x3x224");
}

TEST(Text, LengthsOfTime) {
  const struct {
    const char* text;
    double seconds;
  } rows[] = {{"90", 90},     {"300s", 300},  {"5m", 300},       {"1h30m", 5400}, {"1h2m3s", 3723},
              {"0.5h", 1800}, {"10ms", 0.01}, {"250us", 250e-6}, {"2s500ms", 2.5}};
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(parse_duration(row.text, "--budget"), row.seconds) << row.text;
  }
  for (const char* bad : {"", "0", "0s", "m", "5 m", "-5m", "5x", "5m5", "5s5m", "5m5m", "1..5s",
                          "1e3s", "five minutes", "5min", ".", "nan", "inf"}) {
    EXPECT_THROW(parse_duration(bad, "--budget"), UserError) << bad;
  }
}

TEST(Text, ListsOfNumbers) {
  EXPECT_EQ(parse_percentiles("50,90,99.9"), (std::vector<double>{50, 90, 99.9}));
  EXPECT_EQ(parse_counts("--threads", "1,2,16"), (std::vector<int>{1, 2, 16}));
  for (const char* bad : {"", "x", "50,", "0", "-1", "101", "1e", "nan"}) {
    if (std::string(bad) == "50,") {
      continue;  // a trailing comma does no harm
    }
    EXPECT_THROW(parse_percentiles(bad), UserError) << bad;
  }
  for (const char* bad : {"", "0", "1.5", "2000", "a"}) {
    EXPECT_THROW(parse_counts("--threads", bad), UserError) << bad;
  }
}

TEST(ModelOptions, ShapesInBothSpellings) {
  // Every axis has one size.
  const auto parse_shapes = [](const std::vector<std::string>& texts) {
    std::map<std::string, graph::Shape> shapes;
    for (const auto& [name, axes] : tools::parse_shapes(texts)) {
      shapes[name] = {};
      for (const onnx::Sizes& sizes : axes) {
        EXPECT_EQ(sizes.size(), 1U);
        shapes[name].push_back(sizes[0]);
      }
    }
    return shapes;
  };
  using Shapes = std::map<std::string, graph::Shape>;
  EXPECT_EQ(parse_shapes({"x:1x3x224x224"}), (Shapes{{"x", {1, 3, 224, 224}}}));
  EXPECT_EQ(parse_shapes({"x[1,3,224,224]"}), (Shapes{{"x", {1, 3, 224, 224}}}));
  EXPECT_EQ(parse_shapes({"a:2x5,b[3,4]", "c:7"}),
            (Shapes{{"a", {2, 5}}, {"b", {3, 4}}, {"c", {7}}}));
  EXPECT_EQ(parse_shapes({"input:0:1x3"}), (Shapes{{"input:0", {1, 3}}}));
  EXPECT_EQ(parse_shapes({"scalar[]"}), (Shapes{{"scalar", {}}}));
  EXPECT_EQ(parse_dims({"batch=1,seq=128", "n=0"}),
            (std::map<std::string, onnx::Sizes>{{"batch", {1}}, {"seq", {128}}, {"n", {0}}}));
  for (const char* bad :
       {"x", "x:", "x:1x", "x:axb", ":1x3", "x[1,", "x:-1", "x:1x99999999999999999999"}) {
    if (std::string(bad) == "x:") {
      continue;  // a scalar
    }
    EXPECT_THROW(parse_shapes({bad}), UserError) << bad;
  }
  for (const char* bad : {"batch", "=3", "batch=", "batch=x", "batch=-1"}) {
    EXPECT_THROW(parse_dims({bad}), UserError) << bad;
  }
}

TEST(ModelOptions, SeveralSizes) {
  using Dims = std::map<std::string, onnx::Sizes>;
  EXPECT_EQ(parse_dims({"batch=1..4,seq=16..64:16"}),
            (Dims{{"batch", {1, 2, 3, 4}}, {"seq", {16, 32, 48, 64}}}));
  EXPECT_EQ(parse_dims({"n=8,2,2,4,m=1"}), (Dims{{"n", {2, 4, 8}}, {"m", {1}}}));
  using Shapes = std::map<std::string, std::vector<onnx::Sizes>>;
  EXPECT_EQ(parse_shapes({"x:1..3x5"}), (Shapes{{"x", {{1, 2, 3}, {5}}}}));
  EXPECT_EQ(parse_shapes({"x[1|4,8..16:4]"}), (Shapes{{"x", {{1, 4}, {8, 12, 16}}}}));
  EXPECT_EQ(parse_shapes({"x:0:2..6:2"}), (Shapes{{"x:0", {{2, 4, 6}}}}));
  for (const char* bad : {"n=4..1", "n=1..", "n=..2", "n=1..8:0", "n=1..9999999", "n=1,", "3"}) {
    EXPECT_THROW(parse_dims({bad}), UserError) << bad;
  }
}

}  // namespace
}  // namespace tenon::tools
