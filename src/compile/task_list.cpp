// SPDX-License-Identifier: Apache-2.0
#include "compile/task_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compile/compile.h"
#include "plan/text.h"
#include "support/check.h"
#include "support/nearest.h"

namespace tenon::compile {
namespace {

using Json = nlohmann::json;

// Everything but what the model's steps tell.
TaskText task_text(const plan::TaskPlan& t, const std::string& kernel, double flops) {
  return {kernel,      t.task,  t.origin,       t.te,  t.edges, t.trace,
          t.algorithm, t.error, t.direct_error, flops, 0,       {}};
}

// Lock files of earlier versions do not tell them.
void add_errors(const Json& manifest, TaskText& task) {
  for (const Json& k : manifest.value("kernels", Json::array())) {
    if (k.value("name", "") != task.kernel) continue;
    task.algorithm = k.value("algorithm", "");
    task.error = k.value("error", 0.0);
    task.direct_error = k.value("direct_error", 0.0);
  }
}

}  // namespace

TaskList list_tasks(const plan::Network& n, const target::Target& target) {
  TaskList list{n.plan.name, target, {}};
  for (size_t i = 0; i < n.tasks.size(); ++i) {
    list.tasks.push_back(task_text(n.plan.tasks[i], kernel_name(n, i), n.tasks[i].task.flops));
  }
  for (size_t step = 0; step < n.task_of.size(); ++step) {
    TaskText& task = list.tasks[static_cast<size_t>(n.task_of[step])];
    const std::vector<std::string>& nodes = n.layouts.calls[step].nodes;
    task.calls += 1;
    task.nodes.insert(task.nodes.end(), nodes.begin(), nodes.end());
  }
  return list;
}

namespace {

// The manifest names kernels and nodes, the lock file beside it holds expressions and traces.
TaskList list_steps(TaskList list, const std::vector<artifact::StepInfo>& steps,
                    const std::string& manifest_text, const std::filesystem::path& folder) {
  const Json manifest = Json::parse(manifest_text);
  const plan::NetworkPlan plan =
      plan::read_lock((folder / (list.model + ".lock")).string(), plan::target_name(list.target));
  for (const artifact::StepInfo& step : steps) {
    auto it = std::find_if(list.tasks.begin(), list.tasks.end(),
                           [&](const TaskText& t) { return t.kernel == step.kernel; });
    if (it == list.tasks.end()) {
      const plan::TaskPlan* task = plan.find(step.task);
      list.tasks.push_back(task_text(task != nullptr ? *task : plan::TaskPlan{.task = step.task},
                                     step.kernel, step.flops));
      it = list.tasks.end() - 1;
      add_errors(manifest, *it);
    }
    it->calls += 1;
    it->nodes.insert(it->nodes.end(), step.nodes.begin(), step.nodes.end());
  }
  return list;
}

}  // namespace

TaskList list_tasks(const artifact::Model& model) {
  return list_steps({model.name(), target::parse_target(model.target()), {}}, model.steps(),
                    model.manifest(), model.directory());
}

TaskList list_tasks(const artifact::ManifestFile& file) {
  return list_steps({file.name, target::parse_target(file.target), {}}, artifact::steps_of(file),
                    file.text, file.directory());
}

const TaskText& find_task(const TaskList& list, const std::string& name) {
  std::vector<std::string> names;
  for (const TaskText& task : list.tasks) {
    const bool has_node = std::find(task.nodes.begin(), task.nodes.end(), name) != task.nodes.end();
    if (task.kernel == name || task.task == name || has_node) {
      return task;
    }
    names.push_back(task.kernel);
    names.insert(names.end(), task.nodes.begin(), task.nodes.end());
  }
  throw UserError(fmt::format("{} has no kernel, task or node '{}'", list.model, name),
                  did_you_mean(name, names, "without --task all of them are listed"));
}

}  // namespace tenon::compile
