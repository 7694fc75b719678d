// SPDX-License-Identifier: Apache-2.0
// The built program under test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/run_command.h"

namespace tenon::testing {

using Args = std::vector<std::string>;

inline Outcome tenon(Args args, const std::string& in = "") {
  args.insert(args.begin(), TENON_BINARY);
  return run_command(args, in);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One line on stderr, nothing on stdout.
inline void expect_error(const Outcome& o, int exit_code, const std::string& message) {
  EXPECT_EQ(o.exit_code, exit_code) << message << "\n" << o.err;
  EXPECT_EQ(o.out, "") << message;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_EQ(o.err.rfind("tenon: error: ", 0), 0U) << o.err;
  EXPECT_TRUE(contains(o.err, message)) << o.err << "does not say: " << message;
}

inline void expect_user_error(const Outcome& o, const std::string& message) {
  expect_error(o, 2, message);
}

}  // namespace tenon::testing
