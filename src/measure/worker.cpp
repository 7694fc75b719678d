// SPDX-License-Identifier: Apache-2.0
#include "measure/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "support/check.h"
#include "support/process.h"

namespace tenon::measure {
namespace {

constexpr int kLives = 4;          // of one request whose process is killed by others
constexpr double kDyingS = 2;      // from the end of the channel to the end of the process
constexpr off_t kLastWords = 512;  // bytes of stderr

int open_memory(const char* name) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) throw UserError(fmt::format("cannot make shared memory: {}", strerror(errno)));
  return fd;
}

}  // namespace

Worker::Worker(std::string tool, std::vector<std::string> args, int calls,
               std::vector<std::string> settings)
    : tool_(std::move(tool)),
      args_(std::move(args)),
      settings_(std::move(settings)),
      calls_(calls),
      memory_(open_memory("tenon-memory")),
      errors_(open_memory("tenon-errors")) {}

Worker::~Worker() {
  stop();
  close(memory_);
  close(errors_);
}

void Worker::start() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    throw UserError(fmt::format("cannot make a socket: {}", strerror(errno)));
  }
  TENON_CHECK(ftruncate(errors_, 0) == 0 && lseek(errors_, 0, SEEK_SET) == 0);
  constexpr int kAbove = 10;  // the numbers in the child, so that none overwrites another
  const Inherited fds[] = {{fcntl(errors_, F_DUPFD_CLOEXEC, kAbove), STDERR_FILENO},
                           {fcntl(pair[1], F_DUPFD_CLOEXEC, kAbove), kChannel},
                           {fcntl(memory_, F_DUPFD_CLOEXEC, kAbove), kMemory}};
  std::vector<std::string> argv = {tool_};
  argv.insert(argv.end(), args_.begin(), args_.end());
  const std::scoped_lock lock(life_);
  const int error = spawn_process(pid_, argv, fds, settings_);
  for (const Inherited& fd : fds) close(fd.here);
  close(pair[1]);
  if (error != 0) {
    close(pair[0]);
    pid_ = -1;
    throw UserError(fmt::format("cannot start {}: {}", tool_, strerror(error)));
  }
  channel_ = pair[0];
  done_ = 0;
  if (over_) kill(pid_, SIGKILL);
}

void Worker::interrupt() {
  const std::scoped_lock lock(life_);
  over_ = true;
  if (pid_ > 0) kill(pid_, SIGKILL);
}

void Worker::stop() {
  const std::scoped_lock lock(life_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  if (channel_ >= 0) close(channel_);
  channel_ = -1;
}

int Worker::memory(int64_t bytes) {
  if (ftruncate(memory_, bytes) != 0) {
    throw UserError(fmt::format("no shared memory of {} bytes: {}", bytes, strerror(errno)));
  }
  return memory_;
}

std::string Worker::last_words() const {
  const off_t size = lseek(errors_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - kLastWords);
  std::string text(static_cast<size_t>(std::max<off_t>(0, size - from)), '\0');
  const ssize_t n = pread(errors_, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, n)));
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

Answer Worker::died() {
  Answer a;
  // The channel closes a moment before the process can be waited for; one that closed it and lives on is killed.
  int status = 0;
  bool ended = false;
  for (int i = 0; i < static_cast<int>(kDyingS * 1000) && !ended; ++i) {
    if (i > 0) usleep(1000);
    const std::scoped_lock lock(life_);
    ended = waitpid(pid_, &status, WNOHANG) == pid_;
    if (ended) pid_ = -1;
  }
  a.said = last_words();
  if (ended) {
    a.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    a.how = a.signal != 0 ? fmt::format("ended by signal {} ({})", a.signal, strsignal(a.signal))
                          : fmt::format("left with code {}", WEXITSTATUS(status));
  } else {
    a.how = "closed its channel";
  }
  if (!a.said.empty()) a.how += ": " + a.said;
  return a;
}

// Of the process, all threads together, up to now.
double Worker::cpu_s() const {
  clockid_t clock = 0;
  timespec now = {};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Got Worker::await(double limit_s, int threads) const {
  constexpr double kGlance = 0.02;
  const double before = cpu_s();
  const auto start = std::chrono::steady_clock::now();
  for (double left = limit_s;;) {
    const Got got = wait(channel_, std::max(left, kGlance));
    if (got != Got::kLate) return got;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    left = limit_s - (cpu_s() - before) / threads;
    if (left <= 0 || taken.count() >= kPatience * limit_s) return Got::kLate;
    left = std::min(left, kPatience * limit_s - taken.count());
  }
}

Answer Worker::ask(const Message& request, double limit_s, int threads) {
  if (pid_ < 0) start();
  ++done_;
  Answer a;
  Got got = send(channel_, request, kPatience * limit_s);
  if (got == Got::kMessage) got = await(limit_s, threads);
  if (got == Got::kMessage) got = receive(channel_, a.message, kPatience * limit_s);
  if (got == Got::kMessage) {
    a.kind = Answer::Kind::kMessage;
    return a;
  }
  if (got == Got::kLate) {
    a.kind = Answer::Kind::kLate;
  } else {
    a = died();
  }
  stop();
  return a;
}

Answer Worker::call(const Message& request, double limit_s, int threads) {
  if (pid_ > 0 && done_ >= calls_) stop();
  for (int life = 1;; ++life) {
    Answer a = ask(request, limit_s, threads);
    const bool killed = a.kind == Answer::Kind::kDied && a.signal == SIGKILL;
    if (!killed || life == kLives || over_) return a;
  }
}

}  // namespace tenon::measure
