// SPDX-License-Identifier: Apache-2.0
// Compilers and compiled programs, run from tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "artifact/programs.h"

namespace tenon::artifact {

using Words = std::vector<std::string>;

// C99 without any warning.
extern const Words kStrictC;

// Both look for args[0] in PATH and fail the test unless it exits with 0.
void run_ok(Words args, const Words& more = {});
std::string output_of(Words args);

void write_text(const std::filesystem::path& path, const std::string& text);

// What examples/c_api prints for a network: its answer to inputs of ones.
std::string expected_print(const Chain& net);

}  // namespace tenon::artifact
