// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

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

// Waits for the end of a process without asking again and again, which costs a core that builds beside it.
class Watch {
 public:
  explicit Watch(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~Watch() {
    if (fd_ >= 0) close(fd_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Until the process ends, for so long at most; a moment where the system cannot tell (before Linux 5.3).
  void wait(double seconds) const {
    constexpr double kMoment = 0.002, kLongest = 3600;
    const double s = fd_ < 0 ? kMoment : std::clamp(seconds, 0.0, kLongest);
    pollfd ended = {fd_, POLLIN, 0};
    poll(&ended, 1, static_cast<int>(std::ceil(s * 1e3)));
  }

 private:
  int fd_;
};

// A setting counts only where this process was not started with one of that name.
std::vector<char*> environment_with(std::span<const std::string> settings) {
  std::vector<char*> all;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) all.push_back(*e);
  for (const std::string& s : settings) {
    const std::string name = s.substr(0, s.find('='));
    if (getenv(name.c_str()) == nullptr) all.push_back(const_cast<char*>(s.c_str()));
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

int spawn_process(pid_t& pid, const std::vector<std::string>& argv, std::span<const Inherited> fds,
                  std::span<const std::string> settings) {
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
  const std::vector<char*> environment = environment_with(settings);
  const int error =
      posix_spawn(&pid, args[0], &actions, &attributes, args.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

ProcessResult run_process(const std::vector<std::string>& argv, double limit_s,
                          std::span<const std::string> settings) {
  using Clock = std::chrono::steady_clock;
  TENON_CHECK(!argv.empty());
  const Sink out("tenon-out");
  const Sink err("tenon-err");
  pid_t pid = -1;
  const Inherited fds[] = {{out.fd(), STDOUT_FILENO}, {err.fd(), STDERR_FILENO}};
  if (const int error = spawn_process(pid, argv, fds, settings); error != 0)
    throw UserError(fmt::format("cannot start {}: {}", argv[0], strerror(error)));
  const Watch watch(pid);
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
    watch.wait(std::chrono::duration<double>(end - Clock::now()).count());
  }
  kill(-pid, SIGKILL);  // whatever it left behind
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  r.out = out.text(0);
  r.err = err.text(kLastWords);
  return r;
}

}  // namespace tenon
