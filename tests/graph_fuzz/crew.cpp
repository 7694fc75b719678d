// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/crew.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "graph_fuzz/case_files.h"
#include "support/sanitized.h"

namespace tenon::graph_fuzz {
namespace {

using Json = nlohmann::json;

constexpr rlim_t kMemory = rlim_t{6} << 30;

std::string to_line(const Verdict& v) {
  const Json j{{"status", static_cast<int>(v.status)},
               {"reason", v.reason},
               {"nodes", v.nodes},
               {"elements", v.elements},
               {"disturbed", v.disturbed},
               {"open", v.open}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Verdict from_line(const std::string& line) {
  const Json j = Json::parse(line);
  return {static_cast<Status>(j.at("status").get<int>()),
          j.at("reason"),
          j.at("nodes"),
          j.at("elements"),
          j.at("disturbed"),
          j.at("open")};
}

Verdict judge_seed(uint64_t seed, double special) {
  try {
    const Case c = draw_case({seed, special});
    const std::string why = invalid(c);
    if (!why.empty()) return {Status::kError, "the drawn model is not valid: " + why, 0, 0, 0, 0};
    return judge(c, draw_route(seed));
  } catch (const NodeRefused& e) {
    return {Status::kRefused, e.what(), 0, 0, 0, 0};
  } catch (const std::exception& e) {
    return {Status::kError, fmt::format("while drawing: {}", e.what()), 0, 0, 0, 0};
  }
}

Verdict judge_folder(const std::string& folder, uint64_t route_seed) {
  try {
    return judge(read_case(folder), draw_route(route_seed));
  } catch (const std::exception& e) {
    return {Status::kError, e.what(), 0, 0, 0, 0};
  }
}

}  // namespace

Verdict Judge::seed(uint64_t seed) { return ask(fmt::format("{}", seed)); }

Verdict Judge::folder(const std::string& folder, uint64_t route_seed) {
  return ask(fmt::format("{}\t{}", route_seed, folder));
}

Verdict Judge::ask(const std::string& line) {
  if (!worker_)
    worker_.emplace(Names{"graph_fuzz", "--child", fmt::format("--special={}", special_)});
  worker_->send(line);
  std::string answer;
  const Worker::Answer how = worker_->receive(answer, seconds_);
  if (how == Worker::Answer::kLine) return from_line(answer);
  const bool hung = how == Worker::Answer::kTimeout;
  const int status = worker_->end(hung);
  worker_.reset();
  if (hung) return {Status::kHung, fmt::format("no answer in {} s", seconds_), 0, 0, 0, 0};
  return {Status::kCrashed, ending(status), 0, 0, 0, 0};
}

void judge_seeds(uint64_t first, int64_t runs, const Limits& limits, double special,
                 const std::function<bool(uint64_t seed, const Verdict&)>& take) {
  std::signal(SIGPIPE, SIG_IGN);
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex one_at_a_time;
  const auto work = [&] {
    Judge judge(limits.seconds, special);
    for (int64_t i = next++; i < runs && !stop; i = next++) {
      const uint64_t seed = first + static_cast<uint64_t>(i);
      const Verdict v = judge.seed(seed);
      const std::lock_guard lock(one_at_a_time);
      if (!stop && !take(seed, v)) stop = true;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < limits.jobs; ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
}

int serve(double special) {
  // The sanitizers reserve address space without end.
  const rlimit limit{kMemory, kMemory};
  if (!kSanitized) setrlimit(RLIMIT_AS, &limit);
  std::string line;
  while (std::getline(std::cin, line)) {
    const size_t tab = line.find('\t');
    const uint64_t seed = std::stoull(line);
    const Verdict v = tab == std::string::npos ? judge_seed(seed, special)
                                               : judge_folder(line.substr(tab + 1), seed);
    std::cout << to_line(v) << std::endl;
  }
  return 0;
}

}  // namespace tenon::graph_fuzz
