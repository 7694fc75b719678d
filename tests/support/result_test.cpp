// SPDX-License-Identifier: Apache-2.0
#include "support/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace tenon {
namespace {

Result<int64_t> divide(int64_t a, int64_t b) {
  if (b == 0 || a % b != 0) {
    return Illegal{.code = IllegalCode::kBadFactor, .value = b, .limit = a};
  }
  return a / b;
}

Result<void> check_even(int64_t a) {
  TENON_TRY(divide(a, 2));
  return {};
}

Result<std::string> halve(int64_t a) {
  TENON_TRY(check_even(a));
  return std::to_string(a / 2);
}

TEST(Result, HoldsAValueOrAReason) {
  const Result<int64_t> good = divide(12, 4);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 3);
  const Result<int64_t> bad = divide(12, 5);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.illegal().code, IllegalCode::kBadFactor);
  EXPECT_EQ(bad.illegal().value, 5);
  EXPECT_EQ(bad.illegal().limit, 12);
}

TEST(Result, TryHandsTheReasonOnAcrossTypes) {
  EXPECT_TRUE(check_even(4));
  EXPECT_EQ(*halve(4), "2");
  const Result<std::string> bad = halve(7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.illegal().value, 2);
  EXPECT_EQ(bad.illegal().limit, 7);
}

TEST(Result, ValueOfARefusalIsABug) {
  const Result<int64_t> bad = divide(1, 0);
  EXPECT_THROW((void)bad.value(), InternalError);
  EXPECT_THROW((void)*bad, InternalError);
}

TEST(Result, ReasonOfASuccessIsABug) {
  EXPECT_THROW((void)divide(4, 2).illegal(), InternalError);
  EXPECT_THROW((void)check_even(4).illegal(), InternalError);
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> r(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = *std::move(r);
  EXPECT_EQ(*taken, 5);
}

TEST(Illegal, EveryCodeHasANameAndASentence) {
  std::set<std::string_view> names;
  std::set<std::string_view> sentences;
  int count = 0;
#define TENON_ILLEGAL(code, sentence)                         \
  EXPECT_EQ(illegal_name(IllegalCode::code), #code);          \
  EXPECT_FALSE(illegal_sentence(IllegalCode::code).empty());  \
  EXPECT_NE(illegal_sentence(IllegalCode::code).back(), '.'); \
  names.insert(illegal_name(IllegalCode::code));              \
  sentences.insert(illegal_sentence(IllegalCode::code));      \
  ++count;
#include "support/illegal.def"
#undef TENON_ILLEGAL
  EXPECT_EQ(names.size(), static_cast<size_t>(count));
  EXPECT_EQ(sentences.size(), static_cast<size_t>(count));
  EXPECT_LT(count, 256) << "a code is stored in one byte";
}

TEST(Illegal, SentencesUseOnlyKnownHoles) {
  const std::set<std::string> known = {"stage", "loop",  "other",     "value",
                                       "limit", "scope", "intrinsic", "algorithm"};
#define TENON_ILLEGAL(code, sentence)                                                            \
  for (size_t at = 0; (at = std::string_view(sentence).find('{', at)) != std::string_view::npos; \
       ++at) {                                                                                   \
    const size_t end = std::string_view(sentence).find('}', at);                                 \
    ASSERT_NE(end, std::string_view::npos) << #code;                                             \
    EXPECT_TRUE(known.count(std::string(sentence).substr(at + 1, end - at - 1)))                 \
        << #code << ": " << sentence;                                                            \
  }
#include "support/illegal.def"
#undef TENON_ILLEGAL
}

}  // namespace
}  // namespace tenon
