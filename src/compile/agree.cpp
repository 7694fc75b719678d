// SPDX-License-Identifier: Apache-2.0
#include "compile/agree.h"

#include <algorithm>

#include "compile/kernels.h"
#include "schedule/trace.h"
#include "support/parallel.h"
#include "templates/algorithm_choice.h"

namespace tenon::compile {
namespace {

// As slow as this against the size's own program the weights of another are not worth it.
constexpr double kMostSlower = 1.25;

// Answers by rule, but for the width of panels of weights, which is another program's where it can be.
class PanelsOf : public space::Decider {
 public:
  explicit PanelsOf(const space::Choices& other) : other_(other) {}
  int64_t decide(const space::Hole& hole) override {
    if (hole.name != "nb" && hole.name != "kb") return hole.rule;
    for (const space::Choice& c : other_) {
      if (c.hole == hole.id && hole.domain.contains(c.value)) return c.value;
    }
    return hole.rule;
  }

 private:
  const space::Choices& other_;
};

std::string packing_of(const schedule::State& s) {
  std::string text;
  for (const te::Input& in : s.dag().inputs) {
    if (!in.constant) continue;
    const schedule::Stage& stage = s.stage(s.find(in.tensor.name()));
    text += in.tensor.name() + ": " + how_packed({stage.layout, stage.transform}) + "\n";
  }
  return text;
}

// Time in flops of one core, as templates estimate it.
double time_of(const schedule::State& s) {
  double flops = 0, weights = 0;
  for (const schedule::StageId id : s.order()) {
    const schedule::Stage& stage = s.stage(id);
    if (stage.constant) {
      weights += static_cast<double>(stage.buffer->elements() * stage.buffer.dtype().bytes());
    } else if (!stage.is_input() && stage.place != schedule::Place::kInlined) {
      flops += te::flops(*stage.op);
    }
  }
  return templates::overlapped(flops, weights, s.target().cpu());
}

// 0: the definition.
int64_t algorithm_of(const plan::TaskPlan& p) {
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    if (row.name == p.algorithm) return 1 + static_cast<int64_t>(row.algorithm);
  }
  return 0;
}

const templates::Template* template_of(const target::Target& t, const std::string& origin) {
  for (const templates::Template& row : templates::templates(t)) {
    if (origin == "template " + std::string(row.name)) return &row;
  }
  return nullptr;
}

// The steps of a template for one task with the algorithm of another, and the choices that led to them.
struct Written {
  schedule::Trace trace;
  space::Choices choices;
};

std::optional<Written> write(const templates::Template& by, const task::Task& t,
                             const plan::TaskPlan& like, templates::Accuracy accuracy,
                             space::Decider& decider) {
  space::Builder b(schedule::State(t.dag, t.target), decider);
  const templates::Request request{.fixed = t.edges,
                                   .borders = false,
                                   .accuracy = accuracy,
                                   .without = {},
                                   .algorithm = algorithm_of(like)};
  if (!by.write(b, request) || b.refused()) return std::nullopt;
  return Written{b.take_trace(), b.take_choices()};
}

// What is decided about one task of a size, which is to pack weights like a task of the largest.
struct Case {
  plan::NetworkTask& task;
  plan::TaskPlan& plan;
  const plan::NetworkTask& like;
  const plan::TaskPlan& like_plan;
  const std::string& packing;  // of the largest
};

// A program that packs weights like the other; nothing where the template has none.
std::optional<task::Program> program_like(const Case& c, templates::Accuracy accuracy) {
  const templates::Template* by = template_of(*c.task.task.target, c.like_plan.origin);
  if (by == nullptr) return std::nullopt;
  space::ByRule rule;
  const auto other = write(*by, c.like.task, c.like_plan, accuracy, rule);
  if (!other) return std::nullopt;
  PanelsOf panels(other->choices);
  auto written = write(*by, c.task.task, c.like_plan, accuracy, panels);
  if (!written) return std::nullopt;
  task::Served served = task::serve(c.task.task, std::move(written->trace));
  if (!served || packing_of(served->state) != c.packing) return std::nullopt;
  return std::move(served.program);
}

void agree(const Case& c, plan::Errors& errors, const plan::Options& options) {
  if (c.plan.from != plan::From::kRule || c.like_plan.from != plan::From::kRule) return;
  if (c.packing.empty()) return;
  c.task.program = program_of(c.task);
  if (packing_of(c.task.program->state) == c.packing) return;
  auto program = program_like(c, options.accuracy);
  if (!program || time_of(program->state) > kMostSlower * time_of(c.task.program->state)) return;
  const schedule::State initial(c.task.task.dag, c.task.task.target);
  const plan::Verdict verdict = errors.judge(options.accuracy, initial, program->trace);
  if (!verdict.refused.empty()) return;
  c.plan.trace = schedule::to_text(program->trace, initial);
  c.plan.choices.clear();
  c.plan.origin = c.like_plan.origin;
  if (verdict.error) {
    c.plan.algorithm = verdict.error->algorithm;
    c.plan.error = verdict.error->error.relative;
  }
  c.task.trace = program->trace;
  c.task.program = std::move(program);
}

double error_of(const plan::Network& n) {
  double sum = 0;
  for (const int32_t t : n.task_of) sum += n.plan.tasks[static_cast<size_t>(t)].error;
  return sum;
}

}  // namespace

Agreement::Agreement(const plan::Network& largest, const plan::Options& options)
    : largest_(largest), options_(options) {
  for (size_t step = 0; step < largest.task_of.size(); ++step) {
    tasks_.emplace(largest.call_of(step), static_cast<size_t>(largest.task_of[step]));
  }
  packing_.resize(largest.tasks.size());
  for_each_parallel(packing_.size(), options.threads, [&](size_t i) {
    const plan::NetworkTask& t = largest.tasks[i];
    const bool any = std::any_of(t.task.dag->inputs.begin(), t.task.dag->inputs.end(),
                                 [](const te::Input& in) { return in.constant; });
    if (any) packing_[i] = packing_of(program_of(t).state);
  });
}

void Agreement::apply(plan::Network& n) {
  std::vector<size_t> like(n.tasks.size(), largest_.tasks.size());
  for (size_t step = n.task_of.size(); step-- > 0;) {
    const auto it = tasks_.find(n.call_of(step));
    if (it != tasks_.end()) like[static_cast<size_t>(n.task_of[step])] = it->second;
  }
  const std::vector<plan::NetworkTask> tasks = n.tasks;
  const std::vector<plan::TaskPlan> plans = n.plan.tasks;
  for_each_parallel(n.tasks.size(), options_.threads, [&](size_t i) {
    if (like[i] == largest_.tasks.size()) return;
    agree({n.tasks[i], n.plan.tasks[i], largest_.tasks[like[i]], largest_.plan.tasks[like[i]],
           packing_[like[i]]},
          errors_, options_);
  });
  const double error = error_of(n);
  if (error > plan::most_in_network(options_.accuracy) && error > n.plan.error) {
    n.tasks = tasks;
    n.plan.tasks = plans;
  } else {
    n.plan.error = error;
  }
}

}  // namespace tenon::compile
