// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(25557032), "25,557,032");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(time_text(12.34e-6), "12.3 us");
  EXPECT_EQ(time_text(4.7112e-3), "4.711 ms");
  EXPECT_EQ(time_text(12.345), "12.35 s");
  EXPECT_EQ(bytes_text(640), "640 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.5 * (1 << 30)), "3.5 GiB");
}

TEST(Text, Durations) {
  EXPECT_EQ(duration_text(0), "0:00.0");
  EXPECT_EQ(duration_text(-1), "0:00.0");
  EXPECT_EQ(duration_text(3.17), "0:03.2");
  EXPECT_EQ(duration_text(9.96), "0:10");
  EXPECT_EQ(duration_text(59.7), "1:00");
  EXPECT_EQ(duration_text(723), "12:03");
  EXPECT_EQ(duration_text(7259), "2:00:59");
}

TEST(Text, TextOfOthersDoesNoHarm) {
  const struct {
    std::string given, shown;
  } kCases[] = {
      {"", ""},
      {"conv_1/relu:0", "conv_1/relu:0"},
      {"caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80"},
      {"C:\\model", "C:\\model"},
      {"a\nerror: b", "a\\nerror: b"},
      {"a\rb\tc", "a\\rb\\tc"},
      {"\x1b[2J\x07", "\\u001b[2J\\u0007"},
      {std::string("nul\0nul", 7), "nul\\u0000nul"},
      {"del\x7f", "del\\u007f"},
      {"\xC2\x9B"
       "31m",
       "\\u009b31m"},  // one character that begins a command
      {"\xE2\x80\xAE"
       "cod.exe",
       "\\u202ecod.exe"},  // from right to left
      {"\xE2\x81\xA6x\xE2\x81\xA9", "\\u2066x\\u2069"},
      {"a\xE2\x80\xA8"
       "b",
       "a\\u2028b"},  // a line's end
      {"\xFFx\x9B", "\\xffx\\x9b"},
      {"cut \xE2\x86", "cut \\xe2\\x86"},
      {"\xC0\x8A", "\\xc0\\x8a"},  // a line's end, written too long
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(escaped(c.given), c.shown);
    EXPECT_EQ(escaped(c.shown), c.shown) << "what was escaped stays";
  }
  EXPECT_EQ(escaped_lines("a\n\tb\r\x1b[0m\n"), "a\n\tb\\r\\u001b[0m\n");
  EXPECT_EQ(escaped_lines("{\"name\": \"\x7f\"}"), "{\"name\": \"\\u007f\"}") << "JSON stays JSON";
}

}  // namespace
}  // namespace tenon
