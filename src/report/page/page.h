// SPDX-License-Identifier: Apache-2.0
// The frame of every page: one file that fetches nothing, with our style, and our script or none.
#pragma once

#include <string>

namespace tenon::report {

// `title` is text, `body` is HTML that goes into <main>.
std::string page(const std::string& title, const std::string& body);
// The same without a script.
std::string still_page(const std::string& title, const std::string& body);

// A card with a heading; `note` is HTML and may be empty.
std::string section(const char* id, const char* title, const std::string& note,
                    const std::string& body);

}  // namespace tenon::report
