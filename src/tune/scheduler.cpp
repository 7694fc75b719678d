// SPDX-License-Identifier: Apache-2.0
// Zheng et al., "Ansor" (OSDI 2020), section 6: spend the next round where the objective is
// predicted to fall most.
#include "tune/scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "support/check.h"

namespace tenon::tune {
namespace {

// Stands for "nothing has run yet": large, and still finite in sums.
constexpr double kUntuned = 1e10;
constexpr double kStep = 1e-4;  // seconds, for the derivative of the objective
constexpr int kExpelAfter = 5;  // rounds more than any other of the group

}  // namespace

struct TaskScheduler::State {
  std::vector<double> flops;
  std::vector<ModelSpec> models;
  SchedulerOptions options;
  std::vector<double> best;                  // per task
  std::vector<std::vector<double>> history;  // best after each round
  std::vector<char> dead;
  std::vector<int> since_gain;
  std::vector<int> group;                 // index of the tag; -1: expelled
  std::vector<std::vector<int>> members;  // per group

  size_t size() const { return best.size(); }

  // A task that stopped improving is taken at what it reached.
  double latency(size_t model, const std::vector<double>& g) const {
    double total = 0;
    for (size_t i = 0; i < size(); ++i) total += models[model].weights[i] * g[i];
    return total;
  }

  double objective(const std::vector<double>& g) const {
    double sum = 0;
    double product = 1;
    for (size_t m = 0; m < models.size(); ++m) {
      const double l = latency(m, g);
      sum += options.objective == Objective::kTargets ? std::max(l, models[m].target_s) : l;
      product *= models[m].reference_s / l;
    }
    if (options.objective != Objective::kSpeedup) return sum;
    return -std::pow(product, 1.0 / static_cast<double>(models.size()));
  }

  // df/dg by a finite difference; a task that stopped early no longer moves f4.
  double slope(size_t i) const {
    if (options.objective == Objective::kEarlyStop && stopped(i)) return 0;
    std::vector<double> lower = best;
    lower[i] = std::max(0.0, lower[i] - kStep);
    const double moved = best[i] - lower[i];
    return moved > 0 ? (objective(best) - objective(lower)) / moved : 0;
  }

  bool stopped(size_t i) const {
    return options.early_stop > 0 && since_gain[i] >= options.early_stop;
  }

  // What the last rounds brought, per round; 0 while there are too few.
  double trend(size_t i) const {
    const auto window = static_cast<size_t>(options.window);
    const auto& h = history[i];
    if (h.size() <= window) return 0;
    return (h.back() - h[h.size() - 1 - window]) / options.window;
  }

  // The speed of the fastest task that is alike.
  double best_speed(size_t i) const {
    double speed = 0;
    if (group[i] < 0) return speed;
    for (const int k : members[static_cast<size_t>(group[i])]) {
      const auto other = static_cast<size_t>(k);
      if (best[other] < kUntuned) speed = std::max(speed, flops[other] / best[other]);
    }
    return speed;
  }

  // How much one more round is expected to change the latency of the task: a negative number.
  double expected_change(size_t i) const {
    const double rounds = std::max(1.0, static_cast<double>(history[i].size()));
    double hope = -best[i] / rounds;
    if (const double speed = best_speed(i); speed > 0) {
      hope = std::min(hope, options.beta * flops[i] / speed - best[i]);
    }
    return options.alpha * trend(i) + (1 - options.alpha) * hope;
  }

  double gradient(size_t i) const { return std::abs(slope(i) * expected_change(i)); }

  // Similar in form but not in speed: its group would only mislead about it.
  void expel(size_t i) {
    if (group[i] < 0 || best[i] >= kUntuned) return;
    auto& list = members[static_cast<size_t>(group[i])];
    if (list.size() < 2) return;
    size_t most = 0;
    for (const int k : list) {
      if (static_cast<size_t>(k) != i)
        most = std::max(most, history[static_cast<size_t>(k)].size());
    }
    const bool late = history[i].size() >= most + kExpelAfter;
    if (late && flops[i] / best[i] < best_speed(i) / options.beta) {
      std::erase(list, static_cast<int>(i));
      group[i] = -1;
    }
  }
};

TaskScheduler::TaskScheduler(std::vector<double> flops, std::vector<std::string> tags,
                             std::vector<ModelSpec> models, const SchedulerOptions& options)
    : state_(std::make_shared<State>()) {
  State& s = *state_;
  const size_t n = flops.size();
  TENON_CHECK(tags.size() == n && !models.empty()) << "tasks without tags or models";
  for (const ModelSpec& m : models) {
    TENON_CHECK(m.weights.size() == n) << "a model without weights for its tasks";
    TENON_CHECK(options.objective != Objective::kSpeedup || m.reference_s > 0)
        << "a model without a reference time";
  }
  s.flops = std::move(flops);
  s.models = std::move(models);
  s.options = options;
  s.best.assign(n, kUntuned);
  s.history.resize(n);
  s.dead.assign(n, 0);
  s.since_gain.assign(n, 0);
  std::map<std::string, int> groups;
  for (size_t i = 0; i < n; ++i) {
    const auto [it, first] = groups.emplace(tags[i], static_cast<int>(groups.size()));
    if (first) s.members.emplace_back();
    s.group.push_back(it->second);
    s.members[static_cast<size_t>(it->second)].push_back(static_cast<int>(i));
  }
}

int TaskScheduler::next(Rng& rng) {
  State& s = *state_;
  std::vector<int> alive_tasks;
  for (size_t i = 0; i < s.size(); ++i) {
    if (!alive(static_cast<int>(i))) continue;
    if (s.history[i].empty()) return static_cast<int>(i);  // a first round for each
    alive_tasks.push_back(static_cast<int>(i));
  }
  if (alive_tasks.empty()) return -1;
  if (rng.chance(s.options.epsilon)) return rng.pick(alive_tasks);
  std::vector<int> best;
  double most = -1;
  for (const int i : alive_tasks) {
    const double g = s.gradient(static_cast<size_t>(i));
    if (g > most) best.clear();
    if (g >= most) best.push_back(i);
    most = std::max(most, g);
  }
  return rng.pick(best);
}

void TaskScheduler::report(int task, double best_s) {
  State& s = *state_;
  const auto i = static_cast<size_t>(task);
  const double now = std::min(s.best[i], std::isfinite(best_s) ? best_s : kUntuned);
  s.since_gain[i] = now < s.best[i] ? 0 : s.since_gain[i] + 1;
  s.best[i] = now;
  s.history[i].push_back(now);
  s.expel(i);
}

void TaskScheduler::improve(int task, double best_s) {
  State& s = *state_;
  const auto i = static_cast<size_t>(task);
  if (!(best_s < s.best[i])) return;
  s.best[i] = best_s;
  s.since_gain[i] = 0;
  if (!s.history[i].empty()) s.history[i].back() = best_s;
  s.expel(i);
}

void TaskScheduler::kill(int task) { state_->dead[static_cast<size_t>(task)] = 1; }

double TaskScheduler::objective() const { return state_->objective(state_->best); }

bool TaskScheduler::alive(int task) const {
  const auto i = static_cast<size_t>(task);
  return state_->dead[i] == 0 && !state_->stopped(i);
}

int TaskScheduler::rounds(int task) const {
  return static_cast<int>(state_->history[static_cast<size_t>(task)].size());
}

}  // namespace tenon::tune
