// SPDX-License-Identifier: Apache-2.0
#include "bench/search/quality/worker.h"

#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/search/cases.h"
#include "measure/cores.h"
#include "support/check.h"
#include "tune/random_tasks.h"

namespace tenon::quality {
namespace {

using Json = nlohmann::json;

// JSON has no infinity.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json numbers(const std::vector<double>& xs) {
  Json out = Json::array();
  for (const double x : xs) out.push_back(number(x));
  return out;
}

constexpr uint64_t kRandomTasks = 4711;

class Worker {
 public:
  explicit Worker(const WorkerOptions& o) : o_(o), target_(target::host_target()) {
    target_.cpu().cores = o.threads;
    if (!o.sim) device_ = make_device();
  }

  Json answer(const Json& job) {
    const task::Task t = task_named(job.at("task"));
    if (job.at("do") == "finals") return finals(t, job);
    return search_for(t, job);
  }

 private:
  // "random7": of random shapes, by a seed that nothing is gathered with.
  task::Task task_named(const std::string& name) const {
    if (!name.starts_with("random")) return search::make_case(name, target_, false);
    const int64_t number = std::stoll(name.substr(6));
    return tune::random_tasks({.count = number + 1, .seed = kRandomTasks}, target_)
        .at(static_cast<size_t>(number))
        .task;
  }

  std::unique_ptr<measure::Measurer> make_device() const {
    task::Protocol protocol;
    protocol.threads = o_.threads;
    if (o_.sim) {
      measure::SimOptions sim;
      sim.protocol = protocol;
      return measure::sim_measurer(sim);
    }
    measure::DeviceOptions d;
    d.protocol = protocol;
    d.build_tool = o_.build_tool;
    d.run_tool = o_.run_tool;
    return measure::device_measurer(d);
  }

  measure::Measurer& device() {
    if (device_ == nullptr) device_ = make_device();
    return *device_;
  }

  Json search_for(const task::Task& t, const Json& job) {
    using Clock = std::chrono::steady_clock;
    const Arm* arm = find_arm(job.at("arm"));
    TENON_CHECK(arm != nullptr);
    const auto end = Clock::now() + std::chrono::duration<double>(job.at("left_s").get<double>());
    SearchOptions s;
    s.trials = job.at("trials");
    s.seed = job.at("seed");
    s.round = o_.round;
    s.threads = o_.sim ? 1 : static_cast<int>(o_.cpus.size());
    s.given = o_.given;
    s.sim = o_.sim;
    s.population = o_.population;
    const SearchResult r = search(*arm, t, s, device(), [&] { return Clock::now() >= end; });
    return {{"complete", r.complete},
            {"curve_s", numbers(r.curve)},
            {"at_s", numbers(r.at_s)},
            {"best", r.best},
            {"best_s", number(r.best_s)},
            {"failed", r.failed},
            {"wrong", r.wrong},
            {"key", t.key},
            {"label", t.label},
            {"flops", t.flops},
            {"protocol", device().protocol()},
            {"target", device().target(*t.target)}};
  }

  Json finals(const task::Task& t, const Json& job) {
    std::vector<schedule::Trace> traces;
    for (const std::string trace : job.at("traces")) {
      traces.push_back(schedule::trace_from_json(trace));
    }
    Json out = Json::array();
    for (const task::Measurement& m : device().finals(t, traces, job.at("seconds"))) {
      out.push_back(has_time(m) ? Json{{"s", m.median_s}, {"low_s", m.low_s}, {"high_s", m.high_s}}
                                : Json(nullptr));
    }
    return {{"finals", out}};
  }

  const WorkerOptions& o_;
  target::Target target_;
  std::unique_ptr<measure::Measurer> device_;
};

}  // namespace

int serve(const WorkerOptions& options) {
  const measure::KeepTo here(options.cpus);
  Worker worker(options);
  std::string line;
  while (std::getline(std::cin, line)) {
    Json answer;
    try {
      answer = worker.answer(Json::parse(line));
    } catch (const std::exception& e) {
      answer = {{"error", e.what()}};
    }
    std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace tenon::quality
