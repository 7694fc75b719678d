// SPDX-License-Identifier: Apache-2.0
// Which task to spend the next round on: Ansor's gradient scheduling over one or several models.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/rng.h"

namespace tenon::tune {

enum class Objective : uint8_t {
  kSum,        // f1: total latency of all models
  kTargets,    // f2: a model that reached its latency target counts no more
  kSpeedup,    // f3: geometric mean of speed-ups over references
  kEarlyStop,  // f4: a task that stopped improving counts as it is
};

struct ModelSpec {
  std::vector<double> weights;  // per task: calls in this model
  double target_s = 0;          // kTargets
  double reference_s = 0;       // kSpeedup
};

struct SchedulerOptions {
  Objective objective = Objective::kSum;
  double alpha = 0.2, beta = 2;
  int window = 3;
  double epsilon = 0.05;
  int early_stop = 0;  // rounds without gain after which a task is left alone; 0: never
};

class TaskScheduler {
 public:
  TaskScheduler(std::vector<double> flops, std::vector<std::string> tags,
                std::vector<ModelSpec> models, const SchedulerOptions& options);
  int next(Rng& rng);                    // -1: all tasks are dead
  void report(int task, double best_s);  // after a round; infinity while nothing ran
  // A verdict came after the report of its round: the last round of the task is as good as this.
  void improve(int task, double best_s);
  void kill(int task);       // nothing left to try
  double objective() const;  // of the best times so far
  bool alive(int task) const;
  int rounds(int task) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tenon::tune
