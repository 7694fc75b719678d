// SPDX-License-Identifier: Apache-2.0
#include "support/plug_in.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(PlugIn, OfAMissingFileSaysWhy) {
  const Interface i = plug_in_interface("/nonexistent/libx.so", "api");
  EXPECT_EQ(i.functions, nullptr);
  EXPECT_NE(i.why.find("/nonexistent/libx.so"), std::string::npos) << i.why;
}

TEST(PlugIn, OfAnotherLibrarySaysWhatItLacks) {
  const Interface i = plug_in_interface("libm.so.6", "tenon_no_such_api");
  EXPECT_EQ(i.functions, nullptr);
  EXPECT_NE(i.why.find("tenon_no_such_api"), std::string::npos) << i.why;
}

}  // namespace
}  // namespace tenon
