// SPDX-License-Identifier: Apache-2.0
#include "tools/run_command.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tenon::testing {
namespace {

// A file without a name: unlike a pipe it never fills up, so the parent can just wait.
class Spool {
 public:
  explicit Spool(const std::string& text = "") : file_(tmpfile()) {
    fwrite(text.data(), 1, text.size(), file_);
    rewind(file_);
  }
  ~Spool() { fclose(file_); }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  int descriptor() const { return fileno(file_); }
  std::string read() const {
    rewind(file_);
    std::string text;
    for (int c = fgetc(file_); c != EOF; c = fgetc(file_)) {
      text.push_back(static_cast<char>(c));
    }
    return text;
  }

 private:
  FILE* file_;
};

}  // namespace

Outcome run_command(const std::vector<std::string>& args, const std::string& in) {
  const Spool input(in);
  const Spool out;
  const Spool err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& arg : args) {
    argv.push_back(const_cast<char*>(arg.c_str()));
  }
  argv.push_back(nullptr);
  Outcome outcome;
  pid_t pid = 0;
  if (posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0) {
    int status = 0;
    waitpid(pid, &status, 0);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  outcome.out = out.read();
  outcome.err = err.read();
  return outcome;
}

}  // namespace tenon::testing
