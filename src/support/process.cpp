// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "support/check.h"

extern char** environ;

namespace tenon {
namespace {

constexpr off_t kLastWords = 2000;

// A file without a name: a program that writes much never waits for its reader.
class Sink {
 public:
  explicit Sink(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) throw UserError(fmt::format("cannot make memory: {}", strerror(errno)));
  }
  ~Sink() { close(fd_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  int fd() const { return fd_; }

  std::string text(off_t most) const {
    const off_t size = lseek(fd_, 0, SEEK_END);
    const off_t from = most > 0 && size > most ? size - most : 0;
    std::string s(static_cast<size_t>(size - from), '\0');
    size_t got = 0;
    while (got < s.size()) {
      const ssize_t n = pread(fd_, s.data() + got, s.size() - got, from + static_cast<off_t>(got));
      if (n <= 0) break;
      got += static_cast<size_t>(n);
    }
    s.resize(got);
    return s;
  }

 private:
  int fd_;
};

}  // namespace

int spawn_process(pid_t& pid, const std::vector<std::string>& argv,
                  std::span<const Inherited> fds) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  for (const Inherited& fd : fds) posix_spawn_file_actions_adddup2(&actions, fd.here, fd.there);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  const int error = posix_spawn(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

ProcessResult run_process(const std::vector<std::string>& argv, double limit_s) {
  using Clock = std::chrono::steady_clock;
  TENON_CHECK(!argv.empty());
  const Sink out("tenon-out");
  const Sink err("tenon-err");
  pid_t pid = -1;
  const Inherited fds[] = {{out.fd(), STDOUT_FILENO}, {err.fd(), STDERR_FILENO}};
  if (const int error = spawn_process(pid, argv, fds); error != 0)
    throw UserError(fmt::format("cannot start {}: {}", argv[0], strerror(error)));
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
  ProcessResult r;
  int status = 0;
  for (;;) {
    const pid_t done = waitpid(pid, &status, r.late ? 0 : WNOHANG);
    if (done == pid || (done < 0 && errno != EINTR)) break;
    if (!r.late && Clock::now() >= end) {
      r.late = true;
      kill(-pid, SIGKILL);
      continue;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  kill(-pid, SIGKILL);  // whatever it left behind
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  r.out = out.text(0);
  r.err = err.text(kLastWords);
  return r;
}

}  // namespace tenon
