// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/workers.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "support/check.h"
#include "support/worker.h"

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

std::vector<std::string> command(Mode mode, int64_t memory) {
  return {"onnx_suite",           "--child", "--memory",
          std::to_string(memory), "--mode",  std::string(to_string(mode))};
}

Outcome run_in(std::optional<Worker>& child, const Case& c, Mode mode, const Limits& limits) {
  if (!child) child.emplace(command(mode, limits.memory));
  child->send(c.name + "\t" + c.folder);
  std::string line;
  const Worker::Answer answer = child->receive(line, limits.seconds);
  if (answer == Worker::Answer::kLine) return from_line(line);
  const bool hung = answer == Worker::Answer::kTimeout;
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
    std::optional<Worker> child;
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
