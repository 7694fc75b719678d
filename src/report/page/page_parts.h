// SPDX-License-Identifier: Apache-2.0
// Files that are part of this program because every page holds them.
#pragma once

#include <string_view>

namespace tenon::report {

std::string_view page_style();   // page.css
std::string_view page_script();  // page.js

}  // namespace tenon::report
