// SPDX-License-Identifier: Apache-2.0
#include "plan/programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/accuracy.h"
#include "plan/lean.h"
#include "schedule/trace.h"
#include "support/parallel.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::plan {
namespace {

struct Decision {
  schedule::Trace trace;
  std::string origin;
  From from = From::kRule;
  std::string choices;
  Verdict verdict;
  std::vector<schedule::Algorithm> without;  // that were found to be too inaccurate
  std::optional<task::Program> program;      // of a trace that was given
  std::string refused;                       // why one that was given is not, in a sentence

  // Of the algorithm, where it is another than the direct one; 0 otherwise.
  double other_error() const {
    return verdict.error && verdict.error->other ? verdict.error->error.relative : 0;
  }
};

class Decider {
 public:
  explicit Decider(const Options& options) : options_(options) {}

  // A program with an algorithm that the accuracy allows and that is none of `without`; `why` says
  // of these why not.
  Decision decide(const task::Task& t, std::vector<schedule::Algorithm> without = {},
                  const std::string& why = "") const {
    const schedule::State initial(t.dag, t.target);
    Decision d;
    d.without = std::move(without);
    if (options_.lean) {
      const auto inflating = inflating_algorithms();
      d.without.insert(d.without.end(), inflating.begin(), inflating.end());
    }
    if (given(initial, t, why, d) || known(initial, t, why, d)) return d;
    if (options_.schedule) {
      choose(initial, t, d);
    } else {
      d.origin = "definition";
      d.verdict = errors_.judge(options_.accuracy, initial, {});
    }
    return d;
  }

 private:
  // The program that the plan has for the task, unless it may not serve it or rounds too much.
  bool given(const schedule::State& initial, const task::Task& t, const std::string& why,
             Decision& d) const {
    const TaskPlan* plan = options_.plan.find(t.key);
    if (plan == nullptr) plan = options_.plan.find(t.exact_key);
    if (plan != nullptr) d.refused = plan->refused;
    if (plan != nullptr && plan->has_program) {
      task::Served served = task::serve_text(t, plan->trace);
      if (!served) {
        d.refused = "its schedule is refused: " + served.why;
      } else if (take(initial, *std::move(served.program), why, d)) {
        d.origin = plan->origin;
        d.choices = plan->choices;
        d.from = plan->from;
        return true;
      }
    }
    if (options_.frozen) throw missing(t, plan, d);
    return false;
  }

  // What is not accurate enough, or cannot serve, is no reason to say anything: nobody asked for it.
  bool known(const schedule::State& initial, const task::Task& t, const std::string& why,
             Decision& d) const {
    if (!options_.schedule || !options_.known) return false;
    const std::string refused = d.refused;
    for (const KnownProgram& k : options_.known(t)) {
      task::Served served = task::serve(t, k.trace);
      if (!served || !take(initial, *std::move(served.program), why, d)) continue;
      d.origin = to_string(k.from);
      d.from = k.from;
      d.refused = refused;
      return true;
    }
    d.refused = refused;
    return false;
  }

  bool take(const schedule::State& initial, task::Program program, const std::string& why,
            Decision& d) const {
    if (options_.lean) {
      if (const std::string fat = why_not_lean(program.trace); !fat.empty()) {
        d.refused = "its schedule is refused: " + fat;
        return false;
      }
    }
    d.verdict = errors_.judge(options_.accuracy, initial, program.trace);
    if (is_without(d)) d.verdict.refused = why;
    if (!d.verdict.refused.empty()) {
      d.refused = "its schedule is not accurate enough: " + d.verdict.refused;
      return false;
    }
    d.trace = program.trace;
    d.program = std::move(program);
    return true;
  }

  static bool is_without(const Decision& d) {
    if (!d.verdict.error || !d.verdict.error->other) return false;
    return std::find(d.without.begin(), d.without.end(), *d.verdict.error->other) !=
           d.without.end();
  }

  MissingSchedule missing(const task::Task& t, const TaskPlan* plan, const Decision& d) const {
    const std::string name = fmt::format("task {} ({})", t.key, t.dag->name);
    if (plan != nullptr) {
      return MissingSchedule(fmt::format("{}: {}", name, d.refused),
                             "without --frozen it gets its default schedule");
    }
    return MissingSchedule("no schedule for " + name,
                           options_.plan.tasks.empty()
                               ? "neither a lock file nor records were given"
                               : "those given are of another model, target or version");
  }

  // By the templates: the fastest algorithm, or the next one while its error is too large.
  void choose(const schedule::State& initial, const task::Task& t, Decision& d) const {
    while (true) {
      const templates::Choice choice = templates::choose(initial, {.fixed = t.edges,
                                                                   .borders = false,
                                                                   .accuracy = options_.accuracy,
                                                                   .without = d.without});
      d.origin = fmt::format("template {}", choice.name);
      d.trace = choice.trace;
      d.verdict = errors_.judge(options_.accuracy, initial, d.trace);
      if (d.verdict.refused.empty()) return;
      d.without.push_back(*d.verdict.error->other);
    }
  }

  const Options& options_;
  mutable Errors errors_;
};

// Of all steps together; layers are taken to hand on the errors of those before them as they are.
double network_error(const std::vector<Decision>& decisions, const std::vector<int32_t>& task_of) {
  double sum = 0;
  for (const int32_t t : task_of) {
    const Decision& d = decisions[static_cast<size_t>(t)];
    if (d.verdict.error) sum += d.verdict.error->error.relative;
  }
  return sum;
}

// The decision whose other algorithm adds most to the network's error; -1 if all are direct.
int largest_error(const std::vector<Decision>& decisions, const std::vector<int32_t>& task_of) {
  std::vector<double> sums(decisions.size(), 0);
  for (const int32_t t : task_of) {
    sums[static_cast<size_t>(t)] += decisions[static_cast<size_t>(t)].other_error();
  }
  const auto it = std::max_element(sums.begin(), sums.end());
  return it == sums.end() || *it == 0 ? -1 : static_cast<int>(it - sums.begin());
}

void find_tasks(Network& n, const Options& options) {
  const auto target = std::make_shared<const target::Target>(options.target);
  std::map<std::string, int32_t> known;
  for (const PlannedCall& c : n.layouts.calls) {
    task::Task t = task::make_task(c.dag, c.edges, target);
    const auto [it, first] = known.emplace(t.exact_key, static_cast<int32_t>(n.tasks.size()));
    if (first) n.tasks.push_back({std::move(t), {}});
    n.task_of.push_back(it->second);
  }
}

// What adds most gives way until all layers together round little enough. What was given as a whole
// (frozen) stays.
void bound_network(const Network& n, const Options& options, const Decider& decider,
                   std::vector<Decision>& decisions) {
  const double most = most_in_network(options.accuracy);
  for (double sum = 0; !options.frozen && (sum = network_error(decisions, n.task_of)) > most;) {
    const int worst = largest_error(decisions, n.task_of);
    if (worst < 0) break;
    const auto i = static_cast<size_t>(worst);
    const KernelError& e = *decisions[i].verdict.error;
    const std::string why = fmt::format(
        "computed by {} it is off by {:.1e} of the largest value, and all layers together by "
        "{:.1e}; --accuracy {} allows {:.1e}",
        e.algorithm, e.error.relative, sum, to_string(options.accuracy), most);
    std::vector<schedule::Algorithm> without = decisions[i].without;
    without.push_back(*e.other);
    decisions[i] = decider.decide(n.tasks[i].task, std::move(without), why);
  }
}

TaskPlan plan_of(const task::Task& t, const Decision& d) {
  TaskPlan p;
  p.task = t.key;
  p.te = te::to_text(*t.dag);
  p.edges = task::edges_text(t.edges);
  p.trace = schedule::to_text(d.trace, schedule::State(t.dag, t.target));
  p.choices = d.choices;
  p.origin = d.origin;
  p.from = d.from;
  p.refused = d.refused;
  if (d.verdict.error) {
    p.algorithm = d.verdict.error->algorithm;
    p.error = d.verdict.error->error.relative;
    p.direct_error = d.verdict.error->error.direct;
    p.allowed = d.verdict.allowed;
  }
  return p;
}

}  // namespace

void decide_programs(Network& n, const Options& options) {
  find_tasks(n, options);
  const Decider decider(options);
  std::vector<Decision> decisions(n.tasks.size());
  for_each_parallel(decisions.size(), options.threads,
                    [&](size_t i) { decisions[i] = decider.decide(n.tasks[i].task); });
  bound_network(n, options, decider, decisions);
  n.plan.error = network_error(decisions, n.task_of);
  for (size_t i = 0; i < decisions.size(); ++i) {
    n.plan.tasks.push_back(plan_of(n.tasks[i].task, decisions[i]));
    n.tasks[i].trace = std::move(decisions[i].trace);
    n.tasks[i].program = std::move(decisions[i].program);
  }
  if (!options.warn) return;
  for (const std::string& damaged : options.plan.nameless) options.warn(damaged);
  for (size_t i = 0; i < n.tasks.size(); ++i) {
    if (n.plan.tasks[i].refused.empty()) continue;
    options.warn(fmt::format("task {} ({}): {}", n.tasks[i].task.key, n.tasks[i].task.dag->name,
                             n.plan.tasks[i].refused));
  }
}

}  // namespace tenon::plan
