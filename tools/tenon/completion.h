// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, made from the tree of options that the parser uses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tenon::tools {

std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);
std::string fish_completion(const CLI::App& root);

}  // namespace tenon::tools
