// SPDX-License-Identifier: Apache-2.0
// The plan of each model of a session, and what becomes of a model by a plan: a decided network,
// its tasks, a program to write.
//
//   Networks networks(models, compile_options);
//   networks.plans[0].pairs = chosen;
//   NetworkTasks tasks = networks.tasks("*");   // of all models, equal ones once
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "tune/session.h"

namespace tenon::tune {

// Programs that were tuned, by task.
using Programs = std::map<std::string, plan::TaskPlan>;

struct NetworkTasks {
  std::vector<TaskToTune> tasks;                // those to tune
  std::vector<ModelSpec> specs;                 // per model: how often it calls each of them
  std::vector<std::vector<std::string>> steps;  // per model, per step: key of its task
  std::vector<std::vector<std::string>> nodes;  // per task: what it computes, by the models' names

  bool has(const std::string& key) const;
};

class Networks {
 public:
  // Both must outlive it.
  Networks(const std::vector<Model>& models, const compile::Options& options);

  // Pairs and layouts as the searches decided. Programs come on top.
  std::vector<plan::NetworkPlan> plans;

  size_t size() const { return models_.size(); }
  const Model& model(size_t m) const { return models_[m]; }
  // What every model begins with.
  const plan::NetworkPlan& first_plan() const { return options_.plan; }
  bool replanned(size_t m) const;
  // Empty: as they were.
  void take_layouts(size_t m, const plan::CallDecisions& chosen);

  // What a plan makes of a model; nothing is lowered.
  plan::Network decide(size_t m, const plan::NetworkPlan& plan,
                       const plan::LayoutTimes& layout_times = {}) const;
  // Safe beside others, whatever becomes of `plans` meanwhile.
  artifact::Program build(size_t m, const plan::NetworkPlan& plan) const;
  // The plan of the model with these programs on top.
  plan::NetworkPlan plan_with(size_t m, const Programs& programs) const;

  // Those whose label or key matches the glob. Throws UserError if none does.
  NetworkTasks tasks(const std::string& glob) const;
  std::vector<std::string> steps(size_t m) const;

 private:
  const std::vector<Model>& models_;
  const compile::Options& options_;
};

}  // namespace tenon::tune
