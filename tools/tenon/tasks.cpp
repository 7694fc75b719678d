// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "files/file.h"
#include "support/nearest.h"
#include "tools/tenon/json.h"

namespace tenon::tools {
namespace {

TaskList tasks_of(const artifact::Program& program) {
  TaskList list{program.name, program.target, {}};
  for (const artifact::Kernel& k : program.kernels) {
    list.tasks.push_back({k.name,
                          k.task,
                          k.origin,
                          k.te,
                          k.edges,
                          k.trace,
                          k.algorithm,
                          k.error,
                          k.direct_error,
                          k.flops,
                          0,
                          {}});
  }
  for (const artifact::Step& step : program.steps) {
    TaskText& task = list.tasks[static_cast<size_t>(step.kernel)];
    task.calls += 1;
    task.nodes.insert(task.nodes.end(), step.nodes.begin(), step.nodes.end());
  }
  return list;
}

void add_errors(const Json& manifest, TaskText& task) {
  for (const Json& k : manifest.value("kernels", Json::array())) {
    if (k.value("name", "") != task.kernel) continue;
    task.algorithm = k.value("algorithm", "");
    task.error = k.value("error", 0.0);
    task.direct_error = k.value("direct_error", 0.0);
  }
}

// The manifest names kernels and nodes, the lock file beside it holds expressions and traces.
TaskList tasks_of(const artifact::Model& model) {
  const Json manifest = Json::parse(model.manifest());
  TaskList list{model.name(), target::parse_target(model.target()), {}};
  for (const artifact::StepInfo& step : model.steps()) {
    auto it = std::find_if(list.tasks.begin(), list.tasks.end(),
                           [&](const TaskText& t) { return t.kernel == step.kernel; });
    if (it == list.tasks.end()) {
      list.tasks.push_back(
          {step.kernel, step.task, step.origin, "", "", "", "", 0, 0, step.flops, 0, {}});
      it = list.tasks.end() - 1;
      add_errors(manifest, *it);
    }
    it->calls += 1;
    it->nodes.insert(it->nodes.end(), step.nodes.begin(), step.nodes.end());
  }
  const std::string file = (model.directory() / (model.name() + ".lock")).string();
  try {
    const Json lock = Json::parse(files::read_file(file));
    for (const Json& entry : lock.at("tasks")) {
      for (TaskText& task : list.tasks) {
        if (task.task == entry.at("task").get<std::string>()) {
          task.te = entry.at("te").get<std::string>();
          task.edges = entry.at("edges").get<std::string>();
          task.trace = entry.at("trace").get<std::string>();
        }
      }
    }
  } catch (const Json::exception& error) {
    throw UserError(file, 0, 0, fmt::format("this is no lock file: {}", error.what()));
  }
  return list;
}

}  // namespace

TaskList load_tasks(const ModelOptions& options, const Console& console) {
  return is_artifact(options.path) ? tasks_of(artifact::Model::load(options.path))
                                   : tasks_of(compile_model(options, "", console).program);
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

}  // namespace tenon::tools
