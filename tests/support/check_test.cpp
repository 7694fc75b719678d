// SPDX-License-Identifier: Apache-2.0
#include "support/check.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon {
namespace {

std::string message_of(void (*f)()) {
  try {
    f();
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}

TEST(Check, PassesWithoutEvaluatingTheMessage) {
  int evaluated = 0;
  const auto count = [&] { return ++evaluated; };
  TENON_CHECK(2 > 1) << count();
  EXPECT_EQ(evaluated, 0);
}

TEST(Check, FailureNamesPlaceConditionAndMessage) {
  const std::string text = message_of([] { TENON_CHECK(1 > 2) << "loop " << 7; });
  EXPECT_NE(text.find("check_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("1 > 2"), std::string::npos) << text;
  EXPECT_NE(text.find("loop 7"), std::string::npos) << text;
}

TEST(Check, IsOneStatementUnderElse) {
  bool reached = false;
  const bool outer = reached;
  if (outer)
    TENON_CHECK(false);
  else
    reached = true;
  EXPECT_TRUE(reached);
}

TEST(Check, DcheckFollowsTheBuild) {
  int evaluated = 0;
  const auto check = [&] { TENON_DCHECK(++evaluated > 1) << "never mind"; };
#ifdef NDEBUG
  check();
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_THROW(check(), InternalError);
  EXPECT_EQ(evaluated, 1);
#endif
}

TEST(UserError, RendersWhatIsKnownOfThePlace) {
  const struct {
    UserError error;
    const char* text;
  } rows[] = {
      {UserError("no"), "no"},
      {UserError("no", "try yes"), "no (try yes)"},
      {UserError("a.te", 3, 14, "no"), "a.te:3:14: no"},
      {UserError("a.te", 3, 0, "no", "try yes"), "a.te:3: no (try yes)"},
      {UserError("a.te", 0, 0, "no"), "a.te: no"},
      {UserError("", 3, 14, "no"), "3:14: no"},
  };
  for (const auto& row : rows) {
    EXPECT_STREQ(row.error.what(), row.text);
  }
  EXPECT_EQ(rows[2].error.line(), 3);
  EXPECT_EQ(rows[2].error.column(), 14);
}

}  // namespace
}  // namespace tenon
