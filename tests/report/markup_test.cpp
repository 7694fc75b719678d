// SPDX-License-Identifier: Apache-2.0
#include "report/page/markup.h"

#include <gtest/gtest.h>

namespace tenon::report {
namespace {

TEST(Markup, Html) {
  const struct {
    std::string given, written;
  } kCases[] = {
      {"", ""},
      {"conv bias relu", "conv bias relu"},
      {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
      {"a\"b'c&d", "a&quot;b&#39;c&amp;d"},
      {"two\nlines\tand a tab", "two\nlines\tand a tab"},
      {"caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80"},
      {"\x1b[31m", "\xEF\xBF\xBD[31m"},
      {"\xC2\x9B"
       "31m",
       "\xEF\xBF\xBD"
       "31m"},
      {"\xE2\x80\xAEtxt", "\xEF\xBF\xBDtxt"},  // from right to left
      {std::string("nul\0nul", 7), "nul\xEF\xBF\xBDnul"},
      {"\xFF<", "\xEF\xBF\xBD&lt;"},
      {"cut \xE2\x86", "cut \xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xC0\xBCscript>", "\xEF\xBF\xBD\xEF\xBF\xBDscript&gt;"},  // '<' written too long
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},   // half of a pair
      {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // beyond the last
  };
  for (const auto& c : kCases) EXPECT_EQ(escape_html(c.given), c.written) << c.given;
}

TEST(Markup, Markdown) {
  EXPECT_EQ(escape_markdown("a|b"), "a\\|b");
  EXPECT_EQ(escape_markdown("<b>*x*</b>"), "\\<b\\>\\*x\\*\\</b\\>");
  EXPECT_EQ(escape_markdown("two\nlines"), "two lines");
  EXPECT_EQ(escape_markdown("\x1b[2J\xFF"), "\\\\u001b\\[2J\\\\xff");
  EXPECT_EQ(escape_markdown("`rm`"), "\\`rm\\`");
}

}  // namespace
}  // namespace tenon::report
