// SPDX-License-Identifier: Apache-2.0
// A network whose tensors are stored in blocks of channels between its tasks, small enough to be compiled and run a
// thousand times, and the question whether a program of it is right.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compile/compile.h"

namespace tenon::fuzz {

class SmallNetwork {
 public:
  SmallNetwork();

  compile::Options options() const;                              // for this machine
  const artifact::Program& program() const { return program_; }  // by default schedules

  // Empty, or how far the program's answer is from the interpreter's. One that was asked about before is not run again.
  std::string wrong(const artifact::Program& p);
  artifact::Program compiled(const compile::Options& o) const;
  plan::Network network() const;                // what program() was built of
  size_t run() const { return right_.size(); }  // programs that were not alike

 private:
  graph::Graph graph_;
  std::vector<ir::Array> inputs_, expected_;
  artifact::Program program_;
  std::set<std::string> right_;  // lock files of programs that were right
};

}  // namespace tenon::fuzz
