// SPDX-License-Identifier: Apache-2.0
#include "onnx/bound_value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon::onnx {
namespace {

StatedInput stated(ir::DType t, const graph::Shape& shape) {
  return {"x", t, true, shape, std::vector<std::string>(shape.size())};
}

std::string refusal(const StatedInput& in, const std::string& text) {
  try {
    parse_bound(in, text, "--bind x=" + text);
  } catch (const RequestError& e) {
    return e.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(BoundValue, NumbersTakeTypeAndShapeOfTheInput) {
  const ir::Array rate = parse_bound(stated(ir::kI64, {}), "16000", "");
  EXPECT_EQ(rate.dtype(), ir::kI64);
  EXPECT_EQ(rate.shape(), graph::Shape{});
  EXPECT_EQ(rate.get(0).i, 16000);
  EXPECT_EQ(parse_bound(stated(ir::kF32, {1, -1}), "-2.5", "").shape(), (graph::Shape{1, 1}));
  EXPECT_EQ(parse_bound(stated(ir::kI32, {1}), "1e3", "").get(0).i, 1000);
  EXPECT_EQ(parse_bound(stated(ir::kI64, {}), "-9223372036854775808", "").get(0).i, INT64_MIN);
  EXPECT_EQ(parse_bound(stated(ir::kBool, {}), "true", "").get(0).i, 1);
  EXPECT_TRUE(std::isinf(parse_bound(stated(ir::kF64, {}), "-inf", "").get_double(0)));
}

TEST(BoundValue, ListsAreNested) {
  const ir::Array flat = parse_bound(stated(ir::kI64, {-1}), "1, 2,3", "");
  EXPECT_EQ(flat.shape(), graph::Shape{3});
  EXPECT_EQ(flat.get(2).i, 3);
  const ir::Array deep = parse_bound(stated(ir::kF16, {2, 2}), "[[1,2],[3,4]]", "");
  EXPECT_EQ(deep.shape(), (graph::Shape{2, 2}));
  EXPECT_EQ(deep.get_double(3), 4);
  EXPECT_EQ(parse_bound(stated(ir::kF32, {-1}), "[]", "").shape(), graph::Shape{0});
  const StatedInput shapeless{"x", ir::kF32, false, {}, {}};
  EXPECT_EQ(parse_bound(shapeless, "[[1],[2]]", "").shape(), (graph::Shape{2, 1}));
}

TEST(BoundValue, WhatDoesNotFitIsRefused) {
  const StatedInput two = stated(ir::kI64, {2}), byte = stated(ir::kU8, {});
  EXPECT_TRUE(says(refusal(two, "1,2,3"), "a list of 3 does not fit input 'x', which is 2"));
  EXPECT_TRUE(says(refusal(two, "7"), "one value does not fit"));
  EXPECT_TRUE(says(refusal(two, "1,2.5"), "'2.5' is no i64"));
  EXPECT_TRUE(says(refusal(two, "[[1],2]"), "not nested alike"));
  EXPECT_TRUE(says(refusal(two, "[1,[2]]"), "not nested alike"));
  EXPECT_TRUE(says(refusal(two, "[1,2],3"), "behind its end"));
  for (const char* text : {"", "[", "[1,", "1,,2", "[1,2"}) {
    EXPECT_TRUE(says(refusal(two, text), "is not complete")) << text;
  }
  for (const char* text : {"256", "-1", "nan", "1e300", "x", "0x10"}) {
    EXPECT_TRUE(says(refusal(byte, text), "is no u8")) << text;
  }
  EXPECT_TRUE(says(refusal(stated(ir::kBool, {}), "yes"), "'yes' is no bool"));
  EXPECT_TRUE(says(refusal({"x", std::nullopt, false, {}, {}}, "1"), "no tensor of numbers"));
  EXPECT_TRUE(says(refusal(two, std::string(40, '[')), "too many brackets"));
}

}  // namespace
}  // namespace tenon::onnx
