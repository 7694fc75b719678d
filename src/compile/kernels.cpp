// SPDX-License-Identifier: Apache-2.0
#include "compile/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "compile/accuracy.h"
#include "lower/lower.h"
#include "schedule/trace.h"
#include "support/parallel.h"
#include "task/serve.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::compile {

namespace {

// How a kernel is computed.
struct Decision {
  schedule::Trace trace;
  std::string origin;
  std::optional<KernelError> error;
  std::vector<schedule::Algorithm> without;  // that were found to be too inaccurate
  std::optional<task::Program> program;      // of a schedule that was given
  std::string refused;                       // why one that was given is not, in a sentence
};

class Maker {
 public:
  explicit Maker(const Options& options)
      : options_(options), target_(std::make_shared<const target::Target>(options.target)) {}

  task::Task task(const PlannedCall& c) const { return task::make_task(c.dag, c.edges, target_); }

  // The schedule of a call, with an algorithm that the accuracy allows and that is none of `without`.
  Decision decide(const PlannedCall& c, const task::Task& task,
                  std::vector<schedule::Algorithm> without = {}) const {
    const schedule::State initial(c.dag, target_);
    Decision d;
    d.without = std::move(without);
    if (given(initial, task, d)) return d;
    if (!options_.schedule) {
      d.origin = "definition";
      d.error = errors_.of(initial, {});
      return d;
    }
    choose(initial, c, d);
    return d;
  }

  Scheduled make(const PlannedCall& c, const task::Task& task, Decision d) const {
    const schedule::State initial(c.dag, target_);
    Scheduled s;
    s.kernel.task = task.key;
    s.kernel.te = te::to_text(*c.dag);
    s.kernel.edges = task::edges_text(c.edges);
    s.kernel.flops = task.flops;
    s.kernel.bytes = task.bytes;
    s.kernel.origin = d.origin;
    if (d.error) {
      s.kernel.algorithm = d.error->algorithm;
      s.kernel.error = d.error->error.relative;
      s.kernel.direct_error = d.error->error.direct;
    }
    s.kernel.trace = schedule::to_text(d.trace, initial);
    if (!d.program) {
      task::Served served = task::serve(task, d.trace);
      TENON_CHECK(bool(served)) << "a chosen schedule is refused: " << served.why;
      d.program = std::move(served.program);
    }
    s.kernel.function = lower::lower(d.program->state, d.program->bounds);
    s.kernel.function.in_place = c.in_place;
    s.edges = edges_of(d.program->state);
    return s;
  }

 private:
  // A schedule that was given for the task, unless it may not serve it or rounds worse than is allowed.
  bool given(const schedule::State& initial, const task::Task& task, Decision& d) const {
    if (const auto it = options_.refused.find(task.key); it != options_.refused.end()) {
      d.refused = it->second;
    }
    const auto it = options_.schedules.find(task.key);
    if (it != options_.schedules.end()) {
      task::Served served = task::serve_text(task, it->second.trace);
      if (!served) d.refused = "its schedule is refused: " + served.why;
      if (served && take(initial, *std::move(served.program), d)) {
        d.origin = it->second.origin;
        return true;
      }
    }
    if (options_.frozen) throw missing(task, d);
    return false;
  }

  // False: it rounds worse than is allowed.
  bool take(const schedule::State& initial, task::Program program, Decision& d) const {
    d.trace = program.trace;
    d.error = errors_.of(initial, d.trace);
    if (allowed(d)) d.program = std::move(program);
    return d.program.has_value();
  }

  MissingSchedule missing(const task::Task& task, const Decision& d) const {
    const std::string name = fmt::format("task {} ({})", task.key, task.dag->name);
    if (!d.refused.empty()) {
      return MissingSchedule(fmt::format("{}: {}", name, d.refused),
                             "without --frozen it gets its default schedule");
    }
    if (options_.schedules.contains(task.key)) {
      return MissingSchedule(fmt::format("the schedule of {} is less accurate than {}", name,
                                         to_string(options_.accuracy)),
                             fmt::format("its algorithm is {}", d.error->algorithm));
    }
    return MissingSchedule("no schedule for " + name,
                           options_.schedules.empty()
                               ? "neither a lock file nor records were given"
                               : "those given are of another model, target or version");
  }

  // By the templates: the fastest algorithm, or the next one while its error is too large.
  void choose(const schedule::State& initial, const PlannedCall& c, Decision& d) const {
    while (true) {
      const templates::Choice choice = templates::choose(initial, {.fixed = c.edges,
                                                                   .borders = false,
                                                                   .accuracy = options_.accuracy,
                                                                   .without = d.without});
      d.origin = fmt::format("template {}", choice.name);
      d.trace = choice.trace;
      d.error = errors_.of(initial, d.trace);
      if (allowed(d)) return;
      d.without.push_back(*d.error->other);
    }
  }

  // The direct algorithm always is.
  bool allowed(const Decision& d) const {
    if (!d.error || !d.error->other) return true;
    const auto it = std::find(d.without.begin(), d.without.end(), *d.error->other);
    return it == d.without.end() && allows(options_.accuracy, d.error->error);
  }

  static std::map<std::string, Stored> edges_of(const schedule::State& s) {
    std::map<std::string, Stored> edges;
    const te::ComputeDag& dag = s.dag();
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      const schedule::Stage& st = s.stage(static_cast<schedule::StageId>(i));
      edges.emplace(dag.inputs[i].tensor.name(), Stored{st.layout, st.transform});
    }
    return edges;
  }

  const Options& options_;
  std::shared_ptr<const target::Target> target_;
  mutable Errors errors_;
};

// Of all calls together; layers are taken to hand on the errors of those before them as they are.
double network_error(const std::vector<Decision>& decisions, const std::vector<int32_t>& of_call) {
  double sum = 0;
  for (const int32_t k : of_call) {
    const Decision& d = decisions[static_cast<size_t>(k)];
    if (d.error) sum += d.error->error.relative;
  }
  return sum;
}

// The decision whose other algorithm adds most to the network's error; -1 if all are direct.
int largest_error(const std::vector<Decision>& decisions, const std::vector<int32_t>& of_call) {
  std::vector<double> sums(decisions.size(), 0);
  for (const int32_t k : of_call) {
    const auto& e = decisions[static_cast<size_t>(k)].error;
    if (e && e->other) sums[static_cast<size_t>(k)] += e->error.relative;
  }
  const auto it = std::max_element(sums.begin(), sums.end());
  return it == sums.end() || *it == 0 ? -1 : static_cast<int>(it - sums.begin());
}

void tell_refused(const std::vector<task::Task>& tasks, const std::vector<Decision>& decisions,
                  const Options& options) {
  for (size_t i = 0; options.warn && i < tasks.size(); ++i) {
    if (decisions[i].refused.empty()) continue;
    options.warn(
        fmt::format("task {} ({}): {}", tasks[i].key, tasks[i].dag->name, decisions[i].refused));
  }
}

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
  std::vector<Decision> decisions(distinct.size());
  for_each_parallel(distinct.size(), options.threads,
                    [&](size_t i) { decisions[i] = maker.decide(*distinct[i], tasks[i]); });
  tell_refused(tasks, decisions, options);
  while (!options.frozen &&
         network_error(decisions, set.of_call) > most_in_network(options.accuracy)) {
    const int worst = largest_error(decisions, set.of_call);
    if (worst < 0) break;
    const auto i = static_cast<size_t>(worst);
    std::vector<schedule::Algorithm> without = decisions[i].without;
    without.push_back(*decisions[i].error->other);
    decisions[i] = maker.decide(*distinct[i], tasks[i], std::move(without));
  }
  set.error = network_error(decisions, set.of_call);
  set.kernels.resize(distinct.size());
  std::atomic<size_t> done{0};
  std::mutex lock;
  for_each_parallel(distinct.size(), options.threads, [&](size_t i) {
    set.kernels[i] = maker.make(*distinct[i], tasks[i], std::move(decisions[i]));
    set.kernels[i].kernel.name = fmt::format("k{}_{}", i, identifier(distinct[i]->dag->name));
    set.kernels[i].kernel.function.name = set.kernels[i].kernel.name;
    if (!options.progress) return;
    const std::scoped_lock guard(lock);
    options.progress("schedule", ++done, distinct.size());
  });
  return set;
}

}  // namespace tenon::compile
