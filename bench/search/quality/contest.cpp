// SPDX-License-Identifier: Apache-2.0
#include "bench/search/quality/contest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "bench/search/cases.h"
#include "bench/search/quality/lane.h"
#include "measure/cores.h"
#include "support/check.h"
#include "target/target.h"

namespace tenon::quality {
namespace {

using Json = nlohmann::json;

class Watch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A question and where its answer goes.
struct Job {
  Json question;
  std::function<void(Json answer)> take;  // one at a time
};

std::string group_of(const std::string& task) {
  for (const search::Case& c : search::cases()) {
    if (task == c.name) return search::to_string(c.group);
  }
  return "given";
}

Json arm_row(const Arm& a) {
  return {{"name", a.name},
          {"space", a.space},
          {"strategy", a.strategy},
          {"model", a.cost_model},
          {"history", a.history},
          {"transplant", a.transplant},
          {"templates", a.start != Start::kSpace}};
}

class Contest {
 public:
  Contest(const ContestOptions& o, const std::string& program) : o_(o) {
    const auto sets = split_cores(measure::usable_cores(), lanes());
    for (const std::vector<int>& cpus : sets) {
      lanes_.push_back(std::make_unique<Lane>(arguments(program, cpus)));
    }
    cores_ = sets.empty() ? 0 : sets[0].size();
    pick_arms();
  }

  Json run() {
    search_all();
    finals_of_all();
    return document();
  }

 private:
  int lanes() const {
    const auto cores = static_cast<int>(measure::usable_cores().size());
    return o_.lanes > 0 ? o_.lanes : std::max(1, cores / 2);
  }

  std::vector<std::string> arguments(const std::string& program,
                                     const std::vector<int>& cpus) const {
    const WorkerOptions& w = o_.worker;
    std::vector<std::string> out = {program, "--worker", "--cpus",
                                    fmt::format("{}", fmt::join(cpus, ","))};
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) out.insert(out.end(), {option, value});
    };
    add("--threads", std::to_string(w.threads));
    add("--round", std::to_string(w.round));
    add("--population", w.population > 0 ? std::to_string(w.population) : "");
    add("--history", fmt::format("{}", fmt::join(w.given.history, ",")));
    add("--programs", w.given.programs);
    add("--value", w.given.value);
    add("--build-tool", w.build_tool);
    add("--run-tool", w.run_tool);
    if (w.sim) out.emplace_back("--sim");
    return out;
  }

  void pick_arms() {
    for (const std::string& name : o_.arms) {
      const Arm* a = find_arm(name);
      if (a == nullptr) throw UserError(fmt::format("there is no arm {}", name));
      const std::string why = why_missing(*a, o_.worker.given);
      if (why.empty()) {
        arms_.push_back(a);
      } else {
        missing_.push_back({{"arm", name}, {"why", why}});
      }
    }
  }

  // ---- lanes ---------------------------------------------------------------------------------------

  // Each lane takes the next job when it is done with one, until it is too late to begin another.
  void deal(const std::vector<Job>& jobs, const std::function<bool()>& late) {
    std::mutex mutex;
    size_t next = 0;
    const auto work = [&](Lane& lane) {
      for (;;) {
        const Job* job = nullptr;
        {
          const std::lock_guard lock(mutex);
          if (next == jobs.size() || late()) return;
          job = &jobs[next++];
        }
        Json question = job->question;
        question["left_s"] = searches_end() - watch_.seconds();
        Json answer = lane.ask(question);
        const std::lock_guard lock(mutex);
        job->take(std::move(answer));
      }
    };
    std::vector<std::thread> threads;
    for (auto& lane : lanes_) threads.emplace_back(work, std::ref(*lane));
    for (std::thread& t : threads) t.join();
    unbegun_ += std::ssize(jobs) - static_cast<int64_t>(next);
  }

  // Finals of all tasks, and a moment for what is in flight.
  double searches_end() const {
    if (o_.deadline_s <= 0) return 1e9;
    const double rounds =
        std::ceil(static_cast<double>(o_.tasks.size()) / static_cast<double>(lanes_.size()));
    return std::max(o_.deadline_s - rounds * (o_.finals_s + 1) - 2, o_.deadline_s / 2);
  }

  // ---- searches ------------------------------------------------------------------------------------

  // Seed by seed, so that whatever is done when the time is up compares.
  void search_all() {
    std::vector<Job> jobs;
    for (int64_t seed = o_.first_seed; seed < o_.first_seed + o_.seeds; ++seed) {
      for (const std::string& task : o_.tasks) {
        for (const Arm* a : arms_) {
          if (*a->strategy == '\0' && seed > 1) continue;  // it knows no chance
          jobs.push_back({{{"do", "search"},
                           {"arm", a->name},
                           {"task", task},
                           {"seed", seed},
                           {"trials", o_.trials}},
                          [this, a, task, seed, number = jobs.size()](Json answer) {
                            take_search(number, a->name, task, seed, std::move(answer));
                          }});
        }
      }
    }
    all_ = std::ssize(jobs);
    deal(jobs, [&] { return watch_.seconds() >= searches_end(); });
  }

  void take_search(size_t number, const char* arm, const std::string& task, int64_t seed,
                   Json answer) {
    ++done_;
    if (answer.contains("error")) {
      problems_.push_back({{"arm", arm}, {"task", task}, {"seed", seed}, {"why", answer["error"]}});
    } else if (!answer.at("complete")) {
      ++cut_;
    } else {
      trials_ += std::ssize(answer.at("curve_s"));
      answer["arm"] = arm;
      answer["task"] = task;
      answer["seed"] = seed;
      tell(fmt::format("{} of {}  {}  {}  seed {}", done_, all_, task, arm, seed));
      runs_[number] = std::move(answer);
    }
  }

  void tell(const std::string& text) const {
    if (!o_.quiet) fmt::print(stderr, "{:>6.1f} s  {}\n", watch_.seconds(), text);
  }

  // ---- finals --------------------------------------------------------------------------------------

  std::vector<std::string> bests_of(const std::string& task) const {
    std::vector<std::string> out;
    for (const auto& [number, r] : runs_) {
      if (r.at("task") != task || r.at("best") == "") continue;
      const std::string best = r.at("best");
      if (std::find(out.begin(), out.end(), best) == out.end()) out.push_back(best);
    }
    return out;
  }

  void finals_of_all() {
    std::vector<Job> jobs;
    for (const std::string& task : o_.tasks) {
      const std::vector<std::string> traces = bests_of(task);
      if (traces.empty()) continue;
      jobs.push_back(
          {{{"do", "finals"}, {"task", task}, {"traces", traces}, {"seconds", o_.finals_s}},
           [this, task, traces](Json answer) { take_finals(task, traces, std::move(answer)); }});
    }
    deal(jobs, [] { return false; });
  }

  void take_finals(const std::string& task, const std::vector<std::string>& traces, Json answer) {
    if (answer.contains("error")) {
      problems_.push_back({{"task", task}, {"why", answer["error"]}});
      return;
    }
    for (size_t i = 0; i < traces.size(); ++i) finals_[task][traces[i]] = answer["finals"][i];
    tell(fmt::format("finals of {}: {} programs", task, traces.size()));
  }

  // ---- the document ----------------------------------------------------------------------------------

  Json task_row(const std::string& task) {
    Json row = {{"name", task}, {"group", group_of(task)}, {"best_known_s", nullptr}};
    for (const auto& [number, r] : runs_) {
      if (r.at("task") != task) continue;
      for (const char* field : {"key", "label", "flops"}) row[field] = r.at(field);
    }
    for (const auto& [trace, f] : finals_[task]) {
      if (f.is_null()) continue;
      const double s = f.at("s");
      if (row["best_known_s"].is_null() || s < row["best_known_s"].get<double>()) {
        row["best_known_s"] = s;
      }
    }
    return row;
  }

  Json document() {
    Json tasks = Json::array(), arm_rows = Json::array(), runs = Json::array();
    for (const std::string& task : o_.tasks) tasks.push_back(task_row(task));
    for (const Arm* a : arms_) arm_rows.push_back(arm_row(*a));
    Json facts = Json::object();
    for (auto& [number, r] : runs_) {
      const Json& f = finals_[r.at("task")][r.at("best")];
      r["final_s"] = f.is_null() ? Json(nullptr) : f.at("s");
      for (const char* field : {"protocol", "target"}) facts[field] = r.at(field);
      for (const char* field : {"best", "key", "label", "flops", "protocol", "target"}) {
        r.erase(field);
      }
      runs.push_back(r);
    }
    return {{"schema", "tenon.quality/1"},
            {"machine", facts},
            {"trials", o_.trials},
            {"round", o_.worker.round},
            {"seeds", o_.seeds},
            {"lanes", lanes_.size()},
            {"cores_per_lane", cores_},
            {"seconds", watch_.seconds()},
            {"measured", trials_},
            {"searches", {{"asked", all_}, {"cut", cut_}, {"unbegun", unbegun_}}},
            {"arms", arm_rows},
            {"missing", missing_},
            {"problems", problems_},
            {"tasks", tasks},
            {"runs", runs}};
  }

  const ContestOptions& o_;
  Watch watch_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t cores_ = 0;
  std::vector<const Arm*> arms_;
  Json missing_ = Json::array(), problems_ = Json::array();
  std::map<size_t, Json> runs_;  // by the number of the job, whichever lane was quicker
  std::map<std::string, std::map<std::string, Json>> finals_;  // by task and trace
  int64_t all_ = 0, done_ = 0, cut_ = 0, unbegun_ = 0, trials_ = 0;
};

}  // namespace

Json contest(const ContestOptions& options, const std::string& program) {
  return Contest(options, program).run();
}

}  // namespace tenon::quality
