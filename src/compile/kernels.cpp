// SPDX-License-Identifier: Apache-2.0
#include "compile/kernels.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "lower/lower.h"
#include "schedule/trace.h"
#include "support/parallel.h"
#include "task/task.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::compile {

namespace {

class Maker {
 public:
  explicit Maker(const Options& options)
      : options_(options), target_(std::make_shared<const target::Target>(options.target)) {}

  task::Task task(const PlannedCall& c) const { return task::make_task(c.dag, c.edges, target_); }

  Scheduled make(const PlannedCall& c, const task::Task& task) const {
    const schedule::State initial(c.dag, target_);
    Scheduled s;
    s.kernel.task = task.key;
    s.kernel.te = te::to_text(*c.dag);
    s.kernel.edges = task::edges_text(c.edges);
    s.kernel.flops = task.flops;
    s.kernel.bytes = task.bytes;
    const schedule::Trace trace = trace_of(initial, c, task.key, s.kernel.origin);
    s.kernel.trace = schedule::to_text(trace, initial);
    const auto state = schedule::replay(initial, trace);
    TENON_CHECK(bool(state)) << "a chosen schedule was refused: "
                             << schedule::render_illegal(initial, state.illegal());
    auto f = lower::lower(*state);
    TENON_CHECK(bool(f)) << "a chosen schedule does not lower: "
                         << schedule::render_illegal(*state, f.illegal());
    s.kernel.function = std::move(f.value());
    s.kernel.function.in_place = c.in_place;
    s.edges = edges_of(*state);
    return s;
  }

 private:
  schedule::Trace trace_of(const schedule::State& initial, const PlannedCall& c,
                           const std::string& task, std::string& origin) const {
    const auto it = options_.schedules.find(task);
    if (it != options_.schedules.end()) {
      origin = it->second.origin;
      return schedule::parse_trace(it->second.trace, initial, "lock file, task " + task);
    }
    if (options_.frozen) {
      throw MissingSchedule(fmt::format("no schedule for task {} ({})", task, c.dag->name),
                            options_.schedules.empty()
                                ? "neither a lock file nor records were given"
                                : "those given are of another model, target or version");
    }
    if (!options_.schedule) {
      origin = "definition";
      return {};
    }
    const templates::Choice choice = templates::choose(
        initial, {.fixed = c.edges, .borders = false, .given = {}, .accuracy = options_.accuracy});
    origin = fmt::format("template {}", choice.name);
    return choice.trace;
  }

  static std::map<std::string, Stored> edges_of(const schedule::State& s) {
    std::map<std::string, Stored> edges;
    const te::ComputeDag& dag = s.dag();
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      const schedule::Stage& st = s.stage(static_cast<schedule::StageId>(i));
      TENON_CHECK(st.stored_in < 0) << "store_at of " << dag.inputs[i].tensor.name();
      edges.emplace(dag.inputs[i].tensor.name(), Stored{st.layout, st.transform});
    }
    return edges;
  }

  const Options& options_;
  std::shared_ptr<const target::Target> target_;
};

}  // namespace

KernelSet make_kernels(const LayoutPlan& plan, const Options& options) {
  KernelSet set;
  std::map<std::string, int32_t> known;
  std::vector<const PlannedCall*> distinct;
  std::vector<task::Task> tasks;
  const Maker maker(options);
  for (const PlannedCall& c : plan.calls) {
    task::Task task = maker.task(c);
    const auto [it, first] = known.emplace(task.key, static_cast<int32_t>(distinct.size()));
    if (first) {
      distinct.push_back(&c);
      tasks.push_back(std::move(task));
    }
    set.of_call.push_back(it->second);
  }
  set.kernels.resize(distinct.size());
  std::atomic<size_t> done{0};
  std::mutex lock;
  for_each_parallel(distinct.size(), options.threads, [&](size_t i) {
    set.kernels[i] = maker.make(*distinct[i], tasks[i]);
    set.kernels[i].kernel.name = fmt::format("k{}_{}", i, identifier(distinct[i]->dag->name));
    set.kernels[i].kernel.function.name = set.kernels[i].kernel.name;
    if (!options.progress) return;
    const std::scoped_lock guard(lock);
    options.progress("schedule", ++done, distinct.size());
  });
  return set;
}

}  // namespace tenon::compile
