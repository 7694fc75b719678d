// SPDX-License-Identifier: Apache-2.0
#include "support/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>

#include "support/check.h"

namespace tenon {

Worker::Worker(std::vector<std::string> words) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  TENON_CHECK(pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0)
      << "no pipes: " << std::strerror(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const int error = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  TENON_CHECK(error == 0) << "cannot start a child: " << std::strerror(error);
}

Worker::~Worker() {
  if (pid_ > 0) end(false);
  close(from_);
}

void Worker::send(const std::string& line) const {
  const std::string text = line + "\n";
  static_cast<void>(!write(to_, text.data(), text.size()));
}

Worker::Answer Worker::receive(std::string& line, int seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Answer::kLine;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd p{from_, POLLIN, 0};
    if (left.count() <= 0 || poll(&p, 1, static_cast<int>(left.count())) == 0) {
      return Answer::kTimeout;
    }
    std::array<char, 4096> bytes{};
    const ssize_t n = read(from_, bytes.data(), bytes.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return Answer::kEnd;
    if (n > 0) buffer_.append(bytes.data(), static_cast<size_t>(n));
  }
}

int Worker::end(bool by_force) {
  if (by_force) kill(pid_, SIGKILL);
  close(to_);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

std::string ending(int status) {
  return WIFSIGNALED(status) ? fmt::format("killed by signal {}", strsignal(WTERMSIG(status)))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace tenon
