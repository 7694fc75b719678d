// SPDX-License-Identifier: Apache-2.0
// Starts other programs, or runs one to its end or to a deadline.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace tenon {

// A descriptor of this process, and its number in the new one.
struct Inherited {
  int here = -1, there = -1;
};

// A setting for compilers, which ask for much memory within a moment: in large pages, where the system has some for
// whoever wants them, and in few steps. ptxas takes a seventh less time so. The first is for programs that take memory from
// glibc, the second for those that take it from jemalloc; others take no notice.
inline const std::vector<std::string> kMemoryInLargePages = {
    "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864",
    "MALLOC_CONF=thp:always",
};

// argv[0] is the path of the program. In a process group of its own: an interrupt at the terminal does not reach it.
// Standard input and output are empty unless they are among `fds`. It gets this process's environment, and of `settings`,
// each a NAME=value, those that the environment does not name. Returns 0, or the number of the error.
int spawn_process(pid_t& pid, const std::vector<std::string>& argv, std::span<const Inherited> fds,
                  std::span<const std::string> settings = {});

struct ProcessResult {
  int status = 0;     // exit code; -1: killed by a signal
  bool late = false;  // was stopped at the deadline
  std::string out;    // what it wrote to standard output
  std::string err;    // the end of what it wrote to standard error
};

// As above; all of its process group ends with the deadline. Throws UserError if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& argv, double limit_s,
                          std::span<const std::string> settings = {});

}  // namespace tenon
