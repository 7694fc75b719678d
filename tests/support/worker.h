// SPDX-License-Identifier: Apache-2.0
// A child process of this program that answers every line with a line. When it dies or takes too long, that one answer
// is missing and another worker goes on.
//
//   Worker w({"onnx_suite", "--child"});
//   w.send("node/test_abs");
//   if (w.receive(line, 60) != Worker::Answer::kLine) ... w.end(true)
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tenon {

class Worker {
 public:
  // The words of its command line; the program is the one that runs now.
  explicit Worker(std::vector<std::string> words);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  // Without the end of the line. That a worker is gone shows when its answer is read.
  void send(const std::string& line) const;

  enum class Answer { kLine, kEnd, kTimeout };
  Answer receive(std::string& line, int seconds);

  // How it ended, as wait() says; killed first on request.
  int end(bool by_force);

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string buffer_;
};

// "killed by signal Aborted" or "exit code 3", from what end() gave.
std::string ending(int status);

}  // namespace tenon
