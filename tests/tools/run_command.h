// SPDX-License-Identifier: Apache-2.0
// Runs a program and keeps what it printed.
#pragma once

#include <string>
#include <vector>

namespace tenon::testing {

struct Outcome {
  int exit_code = -1;  // -1: could not be started, or ended by a signal
  std::string out;
  std::string err;
};

// `args[0]` is the program; `in` is its standard input.
Outcome run_command(const std::vector<std::string>& args, const std::string& in = "");

}  // namespace tenon::testing
