// SPDX-License-Identifier: Apache-2.0
// Text that comes from models, compilers and other machines, made safe to stand in a page or in Markdown.
#pragma once

#include <string>
#include <string_view>

namespace tenon::report {

// For text and for attributes in double quotes: & < > " ' are written as entities, bytes that are not UTF-8 and control
// characters other than line ends and tabs as U+FFFD.
std::string escape_html(std::string_view text);

// For running text and cells of tables: markup characters with a backslash, line ends as spaces.
std::string escape_markdown(std::string_view text);

}  // namespace tenon::report
