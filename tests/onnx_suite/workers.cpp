// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/workers.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "runtime/cuda/driver.h"
#include "support/check.h"
#include "support/worker.h"
#include "target/target.h"

namespace tenon::onnx_suite {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string to_line(const Outcome& o) {
  const Json j{{"name", o.name},       {"status", static_cast<int>(o.status)},
               {"reason", o.reason},   {"bound", o.bound},
               {"seconds", o.seconds}, {"open", o.open}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Outcome from_line(const std::string& line) {
  const Json j = Json::parse(line);
  return {j.at("name"),    static_cast<Status>(j.at("status").get<int>()),
          j.at("reason"),  j.at("bound").get<std::vector<std::string>>(),
          j.at("seconds"), j.at("open").get<std::vector<std::string>>()};
}

std::vector<std::string> command(const How& how, const Limits& limits) {
  std::vector<std::string> words = limits.program;
  words.insert(words.end(), {"--child", "--memory", std::to_string(limits.memory), "--mode",
                             std::string(to_string(how.mode)), "--target", how.target});
  return words;
}

Outcome run_in(std::optional<Worker>& child, const Case& c, const How& how, const Limits& limits) {
  if (!child) child.emplace(command(how, limits));
  child->send(c.name + "\t" + c.folder);
  std::string line;
  const Worker::Answer answer = child->receive(line, limits.seconds);
  if (answer == Worker::Answer::kLine) return from_line(line);
  const bool hung = answer == Worker::Answer::kTimeout;
  const int status = child->end(hung);
  child.reset();
  if (hung) {
    return {c.name, Status::kHung, fmt::format("no answer in {} s", limits.seconds), {}, 0, {}};
  }
  return {c.name, Status::kCrashed, ending(status), {}, 0, {}};
}

}  // namespace

std::vector<Outcome> run_cases(const std::vector<Case>& cases, const How& how, const Limits& limits,
                               const std::function<void(const Outcome&)>& done) {
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<Outcome> outcomes(cases.size());
  const Clock::time_point start = Clock::now();
  std::atomic<size_t> next{0};
  std::mutex one_at_a_time;
  const auto work = [&] {
    std::optional<Worker> child;
    for (size_t i = next++; i < cases.size(); i = next++) {
      outcomes[i] = seconds_since(start) < limits.deadline_s
                        ? run_in(child, cases[i], how, limits)
                        : Outcome{cases[i].name, Status::kHung, "no time was left", {}, 0, {}};
      const std::lock_guard lock(one_at_a_time);
      done(outcomes[i]);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < limits.children; ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  return outcomes;
}

namespace {

// Until the process ends.
void keep_card(const target::Target& t) {
  namespace cuda = runtime::cuda;
  if (t.is_cpu()) return;
  char sentence[runtime::kSentenceBytes] = "";
  const cuda::Driver* driver = cuda::open_driver(sentence);
  if (driver == nullptr) return;  // each case will say so
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  if (driver->DeviceGet(&device, 0) == cuda::kSuccess) {
    driver->DevicePrimaryCtxRetain(&context, device);
  }
}

}  // namespace

int run_child(const How& how, int64_t memory) {
  if (memory > 0) {
    const rlimit limit{static_cast<rlim_t>(memory), static_cast<rlim_t>(memory)};
    setrlimit(RLIMIT_AS, &limit);
  }
  keep_card(target::parse_target(how.target));
  std::string line;
  while (std::getline(std::cin, line)) {
    const size_t tab = line.find('\t');
    TENON_CHECK(tab != std::string::npos) << "no tab in '" << line << "'";
    std::cout << to_line(run_case({line.substr(0, tab), line.substr(tab + 1)}, how)) << std::endl;
  }
  return 0;
}

}  // namespace tenon::onnx_suite
