// SPDX-License-Identifier: Apache-2.0
// The benchmark's side of a worker: this program started once more, with cores of its own.
//
//   Lane lane(arguments);
//   Json answer = lane.ask({{"do", "finals"}, ...});   // waits for it
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon::quality {

class Lane {
 public:
  // argv[0] is the program. Throws UserError if it cannot be started.
  explicit Lane(std::vector<std::string> argv);
  ~Lane();  // its input ends, and so does it
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // A worker that ends before it answers is an answer with "error"; the next question starts another.
  nlohmann::json ask(const nlohmann::json& question);

 private:
  void start();
  void end();

  std::vector<std::string> argv_;
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

// So many sets of cores that have none in common, all of the same size.
std::vector<std::vector<int>> split_cores(const std::vector<int>& cores, int lanes);

}  // namespace tenon::quality
