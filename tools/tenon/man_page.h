// SPDX-License-Identifier: Apache-2.0
// Manual pages in the language of man(7), made from the tree of options that the parser uses.
//
//   man_pages(root) == {{"tenon.1", ".TH ..."}, {"tenon-compile.1", ".TH ..."}, ...}
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace tenon::tools {

// By file name: one of the whole, and one of each command with all its verbs.
std::map<std::string, std::string> man_pages(const CLI::App& root);

}  // namespace tenon::tools
