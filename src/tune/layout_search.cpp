// SPDX-License-Identifier: Apache-2.0
#include "tune/layout_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "files/file.h"
#include "search/layout/layout_skeleton.h"
#include "support/check.h"
#include "tune/layout_screen.h"
#include "tune/task_times.h"

namespace tenon::tune {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kGuessedFlops = 1e11;  // per second, of what was not measured yet

constexpr int kFirstLayouts = 6;

// An operator whose layouts are searched.
struct Operator {
  TaskToTune given;
  double weight = 0;  // calls, of all models
  search::LayoutSpace layouts = {};
  std::unique_ptr<space::Space> space = {};  // of these
  std::unique_ptr<search::Strategy> strategy = {};
  std::unique_ptr<LayoutScreen> screen = {};
  int tried = 0;
  int since_better = 0;
  double default_s = kNever, best_s = kNever;
  bool done = false;

  // What it costs now; after a few layouts less and less. Several layouts of the dearest operators
  // tell more than one of each, which would be the one that it has.
  double hope() const {
    const double s = std::isfinite(best_s) ? best_s : given.task.flops / kGuessedFlops;
    return weight * s / (1 + std::max(0, tried - kFirstLayouts));
  }
};

}  // namespace

struct LayoutSearch::Impl {
  LayoutOptions options;
  std::shared_ptr<RunModel> shared;  // of the run; may be null
  const cost::CostModel* model;      // its own, or null
  Tell tell;
  TaskTimes times;
  Rng rng;
  std::vector<std::unique_ptr<Operator>> operators;
  plan::LayoutTimes layout_times;
  std::shared_ptr<search::Learner> learner;  // one for all operators; null: there is none

  Impl(const std::vector<TaskToTune>& tasks, const std::vector<ModelSpec>& models,
       const TunerOptions& tuner, const LayoutOptions& o, measure::Measurer& m, db::Database* d,
       const std::string& r, Tell f)
      : options(o),
        shared(tuner.model),
        model(shared != nullptr ? &shared->model() : nullptr),
        tell(std::move(f)),
        times(tuner, o.trials, o.rounds, m, d, r, tell),
        rng(tuner.seed) {
    search::LearnerOptions learning;
    learning.seed = tuner.seed;
    std::error_code ignored;
    if (std::filesystem::exists(options.learned, ignored)) learning.learned = options.learned;
    learner = search::make_learner(options.strategy, learning);
    for (size_t i = 0; i < tasks.size(); ++i) {
      double weight = 0;
      for (const ModelSpec& s : models) weight += s.weights[i];
      add(tasks[i], weight);
    }
  }

  void add(const TaskToTune& t, double weight) {
    auto layouts = search::make_layout_space(*t.task.dag, *t.task.target);
    if (!layouts) return;
    auto o = std::make_unique<Operator>(
        Operator{.given = t, .weight = weight, .layouts = std::move(*layouts)});
    o->space = search::make_edge_space(t.task, o->layouts);
    search::StrategyOptions s;
    s.layouts = &o->layouts;
    s.learner = learner;
    o->strategy = search::make_strategy(options.strategy, *o->space, nullptr, s);
    o->screen = std::make_unique<LayoutScreen>(
        *o->strategy, model, [this, of = o.get()](const space::Program& p) {
          auto edges = of->layouts.edges(search::point_of(p.choices, of->layouts));
          return edges ? std::optional(with_layout(*of, *edges)) : std::nullopt;
        });
    operators.push_back(std::move(o));
  }

  Operator* most_hopeful() const {
    Operator* best = nullptr;
    for (const auto& o : operators) {
      if (!o->done && (best == nullptr || o->hope() > best->hope())) best = o.get();
    }
    return best;
  }

  TaskToTune with_layout(const Operator& o, const search::LayoutSpace::Edges& edges) const {
    const task::Task& t = o.given.task;
    task::Task other = task::make_task(t.dag, edges, t.target);
    if (other.key == t.key) return o.given;
    const templates::Choice c =
        templates::choose(schedule::State(t.dag, t.target), {.fixed = edges,
                                                             .borders = false,
                                                             .accuracy = options.accuracy,
                                                             .without = options.without});
    return {std::move(other), c.trace, fmt::format("template {}", c.name)};
  }

  // The best of its loops; infinity if none ran.
  double seconds_of(const TaskToTune& t, const std::function<bool()>& stop) {
    const bool first = !times.knows(t.task.key);
    const double s = times.seconds_of(t, stop);
    if (first && std::isfinite(s)) {
      layout_times.tasks[task::key_of(*t.task.dag)].push_back({t.task.edges, s});
    }
    return s;
  }

  // The layouts that the network has now come first.
  bool step(const std::function<bool()>& stop) {
    Operator* o = most_hopeful();
    if (o == nullptr) return false;
    std::optional<space::Program> p;
    if (o->tried > 0) {
      p = o->screen->next(rng);
      if (!p) {
        o->done = true;
        return true;
      }
    }
    double s = kNever;
    try {
      s = try_one(*o, p, stop);
    } catch (const InternalError& e) {
      // A fault of ours costs this layout, not the night's work.
      tell(events::Fault{o->given.task.key, e.what()});
    }
    if (stop && stop()) return true;  // perhaps cut short: no reward
    if (p) o->strategy->tell(std::vector<search::Tried>{{*p, s}});
    ++o->tried;
    o->since_better = s < o->best_s ? 0 : o->since_better + 1;
    o->best_s = std::min(o->best_s, s);
    o->done = o->since_better >= options.patience;
    return true;
  }

  // Whoever reads the file meanwhile sees the old one or the new one.
  void keep_learned() const {
    if (options.learned.empty() || learner == nullptr) return;
    files::replace_file(options.learned, [&](const std::string& file) { learner->save(file); });
  }

  double try_one(Operator& o, const std::optional<space::Program>& p,
                 const std::function<bool()>& stop) {
    search::LayoutSpace::Edges edges = o.given.task.edges;
    search::LayoutSpace::Point point;
    if (p) {
      point = search::point_of(p->choices, o.layouts);
      auto asked = o.layouts.edges(point);
      if (!asked) return kNever;
      edges = std::move(asked.value());
    }
    const TaskToTune t = with_layout(o, edges);
    const double s = seconds_of(t, stop);
    if (!p) o.default_s = s;
    tell(events::LayoutTried{.task = o.given.task.key,
                             .label = o.given.task.label,
                             .point = p ? o.layouts.text(point) : "as it was",
                             .edges = task::edges_text(edges),
                             .s = s,
                             .default_s = o.default_s,
                             .best_s = std::min(s, o.best_s),
                             .tried = o.tried + 1});
    return s;
  }
};

LayoutSearch::LayoutSearch(const std::vector<TaskToTune>& tasks,
                           const std::vector<ModelSpec>& models, const TunerOptions& tuner,
                           const LayoutOptions& options, measure::Measurer& measurer,
                           db::Database* db, const std::string& run, Tell tell)
    : impl_(std::make_unique<Impl>(
          tasks, models, tuner, options, measurer, db, run,
          tell ? std::move(tell) : [](const events::Event&) {})) {}
LayoutSearch::~LayoutSearch() = default;

bool LayoutSearch::step(const std::function<bool()>& stop) { return impl_->step(stop); }
const plan::LayoutTimes& LayoutSearch::layout_times() const { return impl_->layout_times; }
int64_t LayoutSearch::measured() const { return impl_->times.measured(); }
int64_t LayoutSearch::screened() const {
  int64_t n = 0;
  for (const auto& o : impl_->operators) n += o->screen->screened();
  return n;
}
double LayoutSearch::gained_s() const {
  double s = 0;
  for (const auto& o : impl_->operators) {
    if (std::isfinite(o->default_s)) s += o->weight * (o->default_s - o->best_s);
  }
  return s;
}
void LayoutSearch::keep_learned() const { impl_->keep_learned(); }

}  // namespace tenon::tune
