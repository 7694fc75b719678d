// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end, or to a deadline.
#pragma once

#include <string>
#include <vector>

namespace tenon {

struct ProcessResult {
  int status = 0;     // exit code; -1: killed by a signal
  bool late = false;  // was stopped at the deadline
  std::string out;    // what it wrote to standard output
  std::string err;    // the end of what it wrote to standard error
};

// argv[0] is the path of the program. In a process group of its own: an interrupt at the terminal does not reach it,
// and all of it ends with the deadline. Throws UserError if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& argv, double limit_s);

}  // namespace tenon
