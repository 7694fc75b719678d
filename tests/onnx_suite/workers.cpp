// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/workers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "support/check.h"

namespace tenon::onnx_suite {
namespace {

using Json = nlohmann::json;

std::string to_line(const Outcome& o) {
  const Json j{{"name", o.name},
               {"status", static_cast<int>(o.status)},
               {"reason", o.reason},
               {"bound", o.bound},
               {"seconds", o.seconds}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Outcome from_line(const std::string& line) {
  const Json j = Json::parse(line);
  return {j.at("name"), static_cast<Status>(j.at("status").get<int>()), j.at("reason"),
          j.at("bound").get<std::vector<std::string>>(), j.at("seconds")};
}

// A child process of this program with both ends of its pipes.
class Child {
 public:
  Child(Mode mode, int64_t memory) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    TENON_CHECK(pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0)
        << "no pipes: " << std::strerror(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<std::string> words{"onnx_suite",           "--child", "--memory",
                                   std::to_string(memory), "--mode",  std::string(to_string(mode))};
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
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) end(false);
    close(from_);
  }

  void send(const Case& c) const {
    const std::string line = c.name + "\t" + c.folder + "\n";
    // A child that is gone shows when its answer is read.
    static_cast<void>(!write(to_, line.data(), line.size()));
  }

  enum class Answer { kLine, kEnd, kTimeout };
  Answer receive(std::string& line, int seconds) {
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

  // How it ended, as wait() says; killed first on request.
  int end(bool by_force) {
    if (by_force) kill(pid_, SIGKILL);
    close(to_);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string buffer_;
};

std::string ending(int status) {
  return WIFSIGNALED(status) ? fmt::format("killed by signal {}", strsignal(WTERMSIG(status)))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

Outcome run_in(std::optional<Child>& child, const Case& c, Mode mode, const Limits& limits) {
  if (!child) child.emplace(mode, limits.memory);
  child->send(c);
  std::string line;
  const Child::Answer answer = child->receive(line, limits.seconds);
  if (answer == Child::Answer::kLine) return from_line(line);
  const bool hung = answer == Child::Answer::kTimeout;
  const int status = child->end(hung);
  child.reset();
  if (hung) {
    return {c.name, Status::kHung, fmt::format("no answer in {} s", limits.seconds), {}, 0};
  }
  return {c.name, Status::kCrashed, ending(status), {}, 0};
}

}  // namespace

std::vector<Outcome> run_cases(const std::vector<Case>& cases, Mode mode, const Limits& limits,
                               const std::function<void(const Outcome&)>& done) {
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<Outcome> outcomes(cases.size());
  std::atomic<size_t> next{0};
  std::mutex one_at_a_time;
  const auto work = [&] {
    std::optional<Child> child;
    for (size_t i = next++; i < cases.size(); i = next++) {
      outcomes[i] = run_in(child, cases[i], mode, limits);
      const std::lock_guard lock(one_at_a_time);
      done(outcomes[i]);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < limits.children; ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  return outcomes;
}

int run_child(Mode mode, int64_t memory) {
  if (memory > 0) {
    const rlimit limit{static_cast<rlim_t>(memory), static_cast<rlim_t>(memory)};
    setrlimit(RLIMIT_AS, &limit);
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    const size_t tab = line.find('\t');
    TENON_CHECK(tab != std::string::npos) << "no tab in '" << line << "'";
    std::cout << to_line(run_case({line.substr(0, tab), line.substr(tab + 1)}, mode)) << std::endl;
  }
  return 0;
}

}  // namespace tenon::onnx_suite
