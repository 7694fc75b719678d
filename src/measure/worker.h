// SPDX-License-Identifier: Apache-2.0
// A tool in another process: asked, waited for, killed when late, started again when needed. It begins on the CPUs of the
// thread that calls it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "measure/wire.h"

namespace tenon::measure {

struct Answer {
  enum class Kind : uint8_t { kMessage, kLate, kDied };
  Kind kind = Kind::kDied;
  Message message;
  int signal = 0;    // kDied: what ended it; 0: it left by itself
  std::string said;  // kDied: the last line it wrote to stderr
  std::string how;   // kDied: "ended by signal 11 (Segmentation fault): said"
};

class Worker {
 public:
  // Nothing is started before the first call. `calls`: after so many the process is replaced by a fresh one. `settings`
  // are those of spawn_process.
  Worker(std::string tool, std::vector<std::string> args, int calls,
         std::vector<std::string> settings = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // One request, one answer. Late is what has used limit_s of CPU time on each of `threads`, or taken kPatience times
  // as long by the clock: on a busy machine a good candidate is not slow because others run. A process that others
  // killed is asked again, in a new life, a few times. Throws UserError if the tool cannot be started.
  Answer call(const Message& request, double limit_s, int threads = 1);
  bool fresh() const { return pid_ < 0 || done_ >= calls_; }  // the next call begins a life
  // Kills the process, if there is one, and waits for its end.
  void stop();
  // From another thread: kills the process, and a call that waits for it comes back; none is started again.
  void interrupt();
  // The shared memory, made `bytes` long; a descriptor that stays the worker's.
  int memory(int64_t bytes);

 private:
  void start();
  Answer ask(const Message& request, double limit_s, int threads);
  Got await(double limit_s, int threads) const;
  double cpu_s() const;
  Answer died();
  std::string last_words() const;

  std::string tool_;
  std::vector<std::string> args_;
  std::vector<std::string> settings_;
  int calls_;
  int done_ = 0;
  std::mutex life_;  // of the process: held where it begins, is killed or is waited for
  std::atomic<bool> over_ = false;
  pid_t pid_ = -1;
  int channel_ = -1;
  int memory_;  // these two outlive the process: the caller's inputs are there for the next one
  int errors_;
};

}  // namespace tenon::measure
