// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tenon::plan {
namespace {

struct Name {
  From from;
  std::string_view text;
};
constexpr Name kNames[] = {{From::kRule, "rule"},       {From::kLock, "lock"},
                           {From::kRecord, "record"},   {From::kTable, "table"},
                           {From::kInstant, "instant"}, {From::kMeasured, "measured"},
                           {From::kGiven, "given"}};

}  // namespace

std::string_view to_string(From from) {
  for (const Name& n : kNames) {
    if (n.from == from) return n.text;
  }
  return "";
}

std::optional<From> parse_from(std::string_view text) {
  for (const Name& n : kNames) {
    if (n.text == text) return n.from;
  }
  return std::nullopt;
}

const TaskPlan* NetworkPlan::find(const std::string& task) const {
  const auto it =
      std::find_if(tasks.begin(), tasks.end(), [&](const TaskPlan& t) { return t.task == task; });
  return it == tasks.end() ? nullptr : &*it;
}

TaskPlan* NetworkPlan::find(const std::string& task) {
  return const_cast<TaskPlan*>(std::as_const(*this).find(task));
}

void NetworkPlan::set(TaskPlan program) {
  if (TaskPlan* known = find(program.task)) {
    *known = std::move(program);
  } else {
    tasks.push_back(std::move(program));
  }
}

void NetworkPlan::add(const NetworkPlan& other) {
  for (const TaskPlan& theirs : other.tasks) {
    TaskPlan* mine = find(theirs.task);
    if (mine == nullptr) {
      tasks.push_back(theirs);
    } else if (!mine->has_program) {
      const std::string told = mine->refused;
      *mine = theirs;
      mine->refused = told;
    }
  }
}

TaskPlan no_program(const std::string& task, const std::string& why) {
  TaskPlan t;
  t.task = task;
  t.refused = why;
  t.has_program = false;
  return t;
}

NetworkPlan without_rules(const NetworkPlan& plan) {
  NetworkPlan out = plan;
  std::erase_if(out.tasks,
                [](const TaskPlan& t) { return t.from == From::kRule && t.refused.empty(); });
  return out;
}

std::string target_name(const target::Target& t) {
  if (!t.is_cpu()) return t.device + " " + t.gpu().processor;
  if (t.name != "host") return t.name;
  return t.arch == target::Arch::kX86_64 ? t.cpu().processor : "aarch64";
}

double rounded(double error) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1e", error);
  return std::strtod(text, nullptr);
}

}  // namespace tenon::plan
