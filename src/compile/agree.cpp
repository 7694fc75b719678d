// SPDX-License-Identifier: Apache-2.0
#include "compile/agree.h"

#include <algorithm>

#include "compile/kernels.h"
#include "schedule/trace.h"
#include "space/recognise.h"
#include "support/parallel.h"
#include "templates/algorithm_choice.h"

namespace tenon::compile {
namespace {

// The share of a size's estimated time that it may lose for weights that are stored once.
constexpr double kMostLost = 0.1;

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

double weights_of(const schedule::State& s) {
  double bytes = 0;
  for (const schedule::StageId id : s.order()) {
    const schedule::Stage& stage = s.stage(id);
    if (!stage.constant) continue;
    bytes += static_cast<double>(stage.buffer->elements() * stage.buffer.dtype().bytes());
  }
  return bytes;
}

// Time in flops of one core, as templates estimate it.
double time_of(const schedule::State& s) {
  double flops = 0;
  for (const schedule::StageId id : s.order()) {
    const schedule::Stage& stage = s.stage(id);
    const bool computed = !stage.is_input() && stage.place != schedule::Place::kInlined;
    if (computed) flops += te::flops(*stage.op);
  }
  return templates::overlapped(flops, weights_of(s), s.target().cpu());
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

// A template with an algorithm that is given.
class ByTemplate : public space::Skeleton {
 public:
  ByTemplate(const templates::Template& by, const task::Task& t, const plan::TaskPlan& like,
             templates::Accuracy accuracy)
      : by_(by),
        request_{.fixed = t.edges,
                 .borders = false,
                 .accuracy = accuracy,
                 .without = {},
                 .algorithm = algorithm_of(like)} {}
  void write(space::Builder& b) const override { fits(b); }
  bool fits(space::Builder& b) const { return by_.write(b, request_).has_value() && !b.refused(); }

 private:
  const templates::Template& by_;
  templates::Request request_;
};

// Finds the choices that led a template to the program of a task; nothing where no rule gave it. The rule need not have
// decided all of them (steady.h), so that they are read from the program.
std::optional<space::Choices> choices_of(const plan::NetworkTask& t, const plan::TaskPlan& p,
                                         templates::Accuracy accuracy) {
  const templates::Template* by = template_of(*t.task.target, p.origin);
  if (by == nullptr || p.from != plan::From::kRule) return std::nullopt;
  const schedule::State initial(t.task.dag, t.task.target);
  return space::recognise(ByTemplate(*by, t.task, p, accuracy), initial, t.trace);
}

// It holds what is decided about one task of a size, which is to pack weights like a task of the largest.
struct Case {
  plan::NetworkTask& task;
  plan::TaskPlan& plan;
  const plan::TaskPlan& like_plan;
  const Packing& packing;  // of the largest
};

// A program that packs weights like the other; nothing where the template has none.
std::optional<task::Program> program_like(const Case& c, templates::Accuracy accuracy) {
  const templates::Template* by = template_of(*c.task.task.target, c.like_plan.origin);
  PanelsOf panels(*c.packing.choices);
  space::Builder b(schedule::State(c.task.task.dag, c.task.task.target), panels);
  if (!ByTemplate(*by, c.task.task, c.like_plan, accuracy).fits(b)) return std::nullopt;
  task::Served served = task::serve(c.task.task, b.take_trace());
  if (!served || packing_of(served->state) != c.packing.how) return std::nullopt;
  return std::move(served.program);
}

std::optional<Offer> find_offer(const Case& c, plan::Errors& errors, const plan::Options& options) {
  if (c.plan.from != plan::From::kRule || !c.packing.choices) return {};
  if (packing_of(c.task.program->state) == c.packing.how) return {};
  auto program = program_like(c, options.accuracy);
  if (!program) return {};
  const schedule::State initial(c.task.task.dag, c.task.task.target);
  plan::Verdict verdict = errors.judge(options.accuracy, initial, program->trace);
  if (!verdict.refused.empty()) return {};
  const schedule::State& own = c.task.program->state;
  const double lost = time_of(program->state) - time_of(own);
  return Offer{0, *std::move(program), std::move(verdict), lost, weights_of(own), 0};
}

void take(Offer offer, const std::string& origin, plan::NetworkTask& task, plan::TaskPlan& plan) {
  const schedule::State initial(task.task.dag, task.task.target);
  plan.trace = schedule::to_text(offer.program.trace, initial);
  plan.choices.clear();
  plan.origin = origin;
  if (offer.verdict.error) {
    plan.algorithm = offer.verdict.error->algorithm;
    plan.error = offer.verdict.error->error.relative;
  }
  task.trace = offer.program.trace;
  task.program = std::move(offer.program);
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
    if (!any) return;
    packing_[i].how = packing_of(program_of(t).state);
    packing_[i].choices = choices_of(t, largest.plan.tasks[i], options.accuracy);
  });
}

std::vector<size_t> Agreement::tasks_like(const plan::Network& n) const {
  std::vector<size_t> like(n.tasks.size(), largest_.tasks.size());
  for (size_t step = n.task_of.size(); step-- > 0;) {
    const auto it = tasks_.find(n.call_of(step));
    if (it != tasks_.end()) like[static_cast<size_t>(n.task_of[step])] = it->second;
  }
  return like;
}

void Agreement::apply(plan::Network& n) {
  const std::vector<size_t> like = tasks_like(n);
  std::vector<std::optional<Offer>> offers(n.tasks.size());
  std::vector<double> times(n.tasks.size());
  for_each_parallel(n.tasks.size(), options_.threads, [&](size_t i) {
    n.tasks[i].program = program_of(n.tasks[i]);
    times[i] = time_of(n.tasks[i].program->state);
    if (like[i] == largest_.tasks.size()) return;
    offers[i] =
        find_offer({n.tasks[i], n.plan.tasks[i], largest_.plan.tasks[like[i]], packing_[like[i]]},
                   errors_, options_);
    if (offers[i]) offers[i]->task = i;
  });
  double left = 0;
  for (const int32_t t : n.task_of) {
    left += kMostLost * times[static_cast<size_t>(t)];
    if (auto& offer = offers[static_cast<size_t>(t)]) ++offer->steps;
  }
  take_cheapest(n, like, std::move(offers), left);
}

// The task that loses least time for its bytes comes first.
void Agreement::take_cheapest(plan::Network& n, const std::vector<size_t>& like,
                              std::vector<std::optional<Offer>> offers, double left) {
  std::erase_if(offers, [](const auto& o) { return !o; });
  std::sort(offers.begin(), offers.end(),
            [](const auto& a, const auto& b) { return a->lost * b->saved < b->lost * a->saved; });
  const std::vector<plan::NetworkTask> tasks = n.tasks;
  const std::vector<plan::TaskPlan> plans = n.plan.tasks;
  for (std::optional<Offer>& o : offers) {
    const double lost = o->lost * o->steps;
    if (lost > left) continue;
    left -= std::max(0.0, lost);
    const size_t i = o->task;
    take(*std::move(o), largest_.plan.tasks[like[i]].origin, n.tasks[i], n.plan.tasks[i]);
  }
  const double error = error_of(n);
  if (error > plan::most_in_network(options_.accuracy) && error > n.plan.error) {
    n.tasks = tasks;
    n.plan.tasks = plans;
  } else {
    n.plan.error = error;
  }
}

}  // namespace tenon::compile
