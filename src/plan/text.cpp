// SPDX-License-Identifier: Apache-2.0
#include "plan/text.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/file.h"
#include "support/check.h"

namespace tenon::plan {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json to_json(const CallDecisions& d) {
  return {{"from", to_string(d.from)}, {"calls", Json(d.calls)}};
}

Json to_json(const TaskPlan& t) {
  Json j = {{"task", t.task}, {"from", to_string(t.from)}, {"origin", t.origin}};
  if (!t.algorithm.empty()) {
    j["algorithm"] = t.algorithm;
    j["error"] = rounded(t.error);
    j["direct_error"] = rounded(t.direct_error);
    j["allowed"] = rounded(t.allowed);
  }
  if (!t.refused.empty()) j["refused"] = t.refused;
  j["te"] = t.te;
  j["edges"] = t.edges;
  if (!t.choices.empty()) j["choices"] = t.choices;
  j["trace"] = t.trace;
  return j;
}

From read_from(const Json& j, From otherwise) {
  const auto it = j.find("from");
  if (it == j.end()) return otherwise;
  return parse_from(it->get<std::string>()).value_or(otherwise);
}

// {"from": "measured", "calls": {"p1": "d1"}}; the first schema has calls alone: {..} or ["p1"].
CallDecisions read_calls(const Json& plan, const char* name) {
  CallDecisions d;
  const auto it = plan.find(name);
  if (it == plan.end()) return d;  // files of early versions
  const bool first = plan.at("schema") == kFirstLockSchema;
  const Json& calls = first ? *it : it->at("calls");
  if (calls.is_array()) {
    for (const Json& call : calls) d.calls[call.get<std::string>()] = "";
  } else {
    d.calls = calls.get<std::map<std::string, std::string>>();
  }
  d.from = first ? (d.calls.empty() ? From::kRule : From::kLock) : read_from(*it, From::kLock);
  return d;
}

void read_program(const Json& j, TaskPlan& t) {
  t.trace = j.at("trace").get<std::string>();
  t.origin = j.at("origin").get<std::string>();
  t.from = read_from(j, From::kLock);
  t.te = j.value("te", "");
  t.edges = j.value("edges", "");
  t.choices = j.value("choices", "");
  t.algorithm = j.value("algorithm", "");
  t.error = j.value("error", 0.0);
  t.direct_error = j.value("direct_error", 0.0);
  t.allowed = j.value("allowed", 0.0);
}

void read_task(const Json& j, const std::string& file, NetworkPlan& plan) {
  TaskPlan t;
  try {
    t.task = j.at("task").get<std::string>();
    read_program(j, t);
  } catch (const Json::exception& e) {
    if (t.task.empty()) {
      plan.nameless.push_back(file + ": a task has no name that can be read: " + e.what());
      return;
    }
    t = no_program(t.task, "its entry is damaged: " + std::string(e.what()));
  }
  plan.set(std::move(t));
}

void read_accuracy(const Json& j, NetworkPlan& plan) {
  const auto it = j.find("accuracy");
  if (it == j.end()) return;
  plan.accuracy = it->value("level", "");
  plan.error = it->value("error", 0.0);
}

fs::path lock_file_of(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".lock") return entry.path();
  }
  throw UserError(path.string(), 0, 0, "there is no lock file in this folder");
}

Json to_json(const NetworkPlan& plan) {
  Json j = {{"schema", kLockSchema},
            {"name", plan.name},
            {"tenon", TENON_VERSION},
            {"target", plan.target}};
  if (!plan.accuracy.empty()) {
    j["accuracy"] = {{"level", plan.accuracy}, {"error", rounded(plan.error)}};
  }
  j["pairs"] = to_json(plan.pairs);
  j["layouts"] = to_json(plan.layouts);
  j["tasks"] = Json::array();
  for (const TaskPlan& t : plan.tasks) j["tasks"].push_back(to_json(t));
  return j;
}

NetworkPlan read_plan(const Json& j, const std::string& file) {
  const Json& schema = j.at("schema");
  if (schema != kLockSchema && schema != kFirstLockSchema) {
    throw UserError(
        file, 0, 0,
        std::string("this is no lock file of schema ") + kLockSchema + " or " + kFirstLockSchema);
  }
  NetworkPlan plan;
  plan.name = j.value("name", "");
  plan.target = j.value("target", "");
  read_accuracy(j, plan);
  plan.pairs = read_calls(j, "pairs");
  plan.layouts = read_calls(j, "layouts");
  for (const Json& task : j.at("tasks").get_ref<const Json::array_t&>()) {
    read_task(task, file, plan);
  }
  return plan;
}

std::vector<NetworkPlan> read_levels(const std::string& path) {
  const std::string file = lock_file_of(path).string();
  return parse_levels(files::read_file(file), file);
}

const NetworkPlan* level_of(const std::vector<NetworkPlan>& levels, const std::string& target) {
  const auto it = std::find_if(levels.begin(), levels.end(),
                               [&](const NetworkPlan& p) { return p.target == target; });
  return it == levels.end() ? nullptr : &*it;
}

}  // namespace

std::string to_text(const NetworkPlan& plan) { return to_text(std::vector<NetworkPlan>{plan}); }

std::string to_text(const std::vector<NetworkPlan>& levels) {
  Json j = to_json(levels.back());
  for (size_t i = 0; i + 1 < levels.size(); ++i) j["levels"].push_back(to_json(levels[i]));
  // Names from files are bytes of any kind; JSON wants UTF-8.
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<NetworkPlan> parse_levels(const std::string& text, const std::string& file) {
  std::vector<NetworkPlan> levels;
  try {
    const Json j = Json::parse(text);
    NetworkPlan best = read_plan(j, file);
    if (const auto it = j.find("levels"); it != j.end()) {
      for (const Json& level : it->get_ref<const Json::array_t&>()) {
        levels.push_back(read_plan(level, file));
      }
    }
    levels.push_back(std::move(best));
  } catch (const Json::exception& e) {
    throw UserError(file, 0, 0, std::string("this is no lock file: ") + e.what());
  }
  return levels;
}

NetworkPlan parse(const std::string& text, const std::string& file) {
  return std::move(parse_levels(text, file).back());
}

NetworkPlan read_lock(const std::string& path, const std::string& target) {
  const std::vector<NetworkPlan> levels = read_levels(path);
  const NetworkPlan* own = level_of(levels, target);
  return own != nullptr ? *own : levels.back();
}

std::optional<NetworkPlan> read_level(const std::string& path, const std::string& target,
                                      const std::vector<std::string>& targets) {
  const std::vector<NetworkPlan> levels = read_levels(path);
  if (const NetworkPlan* own = level_of(levels, target)) return *own;
  const bool of_others = std::any_of(targets.begin(), targets.end(), [&](const std::string& t) {
    return level_of(levels, t) != nullptr;
  });
  if (of_others || target != targets.back()) return std::nullopt;
  return levels.back();
}

}  // namespace tenon::plan
