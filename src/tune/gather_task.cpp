// SPDX-License-Identifier: Apache-2.0
#include "tune/gather_task.h"

#include <algorithm>
#include <utility>

#include "neural/models.h"
#include "search/space/spaces.h"
#include "search/strategy/scoring.h"
#include "support/check.h"
#include "support/hash.h"
#include "task/serve.h"
#include "tune/measured.h"

namespace tenon::tune {
namespace {

using space::Program;
using task::Measurement;
using task::Outcome;

constexpr size_t kDrawsAtOnce = 16;  // part of what the draws depend on
constexpr int kMostDry = 8;          // then the space is taken to be exhausted
// Of searches that a value function leads: each is small, the more of them the noisier.
constexpr int kMostGuided = 64;
constexpr size_t kGuidedWidth = 4, kFromOneSearch = 6;
constexpr double kMoreNoise = 0.03, kMostNoise = 0.5;

uint64_t seed_of(uint64_t seed, const std::string& key, int purpose) {
  return Hasher().add(seed).add(key).add(purpose).value();
}

}  // namespace

GatherTask::GatherTask(TaskToGather given, const GatherOptions& options, int threads)
    : given_(std::move(given)),
      options_(options),
      threads_(threads),
      space_(search::make_space(options.space, given_.task.task)),
      model_(std::make_unique<RunModel>(
          neural::make_model(options.cost_model, options.seed, {.cache = {}, .threads = threads}))),
      draws_(seed_of(options.seed, task().key, 0)),
      searches_(seed_of(options.seed, task().key, 1)) {
  if (space_ == nullptr) return;
  options_.search.threads = threads;
  strategy_ = search::make_strategy(options.strategy, *space_, &model_->model(), options_.search);
}

std::optional<Program> GatherTask::adopt(const std::string& trace,
                                         const std::string& choices) const {
  const task::Served served = task::serve_json(task(), trace);
  if (!served) return std::nullopt;
  if (space_ == nullptr) {
    return Program{{}, served->trace, served->state, schedule::hash(served->trace), nullptr};
  }
  auto p = space_->adopt(served->trace, read_choices(choices));
  return p ? std::optional(std::move(p.value())) : std::nullopt;
}

void GatherTask::tell(std::span<const search::Tried> tried) {
  for (const search::Tried& t : tried) model_->add(task(), t.program, t.seconds);
  if (strategy_ != nullptr) strategy_->tell(tried);
}

void GatherTask::read(const std::vector<Measurement>& records) {
  std::vector<search::Tried> tried;
  for (const Measurement& m : records) {
    history_.add(m);
    if (!traces_.insert(m.trace).second) continue;
    if (auto p = adopt(m.trace, m.choices)) tried.push_back({*std::move(p), seconds_of(m)});
  }
  tell(tried);
  // To search again what was searched before would be a waste.
  searches_ = Rng(seed_of(options_.seed, task().key, 1) + traces_.size());
}

void GatherTask::learn(std::span<const Program> programs, const std::vector<Measurement>& got) {
  TENON_CHECK(programs.size() == got.size());
  std::vector<search::Tried> tried;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].outcome == Outcome::kUndecided) continue;
    history_.add(got[i]);
    if (!traces_.insert(got[i].trace).second) continue;
    tried.push_back({programs[i], seconds_of(got[i])});
  }
  tell(tried);
}

bool GatherTask::take(const Program& p) {
  const std::string trace = schedule::to_json(p.trace);
  return !traces_.contains(trace) && asked_.insert(trace).second;
}

void GatherTask::take_listed(size_t n, std::vector<Program>& out) {
  for (; listed_ < given_.list->size() && out.size() < n; ++listed_) {
    const ListedProgram& l = (*given_.list)[listed_];
    if (traces_.contains(l.trace)) continue;
    auto p = adopt(l.trace, l.choices);
    if (!p) {
      ++refused_;
    } else if (take(*p)) {
      out.push_back(*std::move(p));
    }
  }
}

void GatherTask::take_default(std::vector<Program>& out) {
  if (std::exchange(default_given_, true)) return;
  auto p = adopt(schedule::to_json(given_.task.start), "");
  if (!p || !take(*p)) return;
  if (space_ != nullptr) {
    if (auto known = space_->recognise(p->trace)) p->choices = std::move(known->made);
  }
  out.push_back(*std::move(p));
}

// The rules' program of each algorithm: random draws of an algorithm say little of how good it is, and draws and searches
// alike have few.
void GatherTask::take_first(size_t n, std::vector<Program>& out) {
  if (!first_) {
    first_.emplace();
    for (Program& p : space_->first()) first_->push_back(std::move(p));
  }
  for (; !first_->empty() && out.size() < n; first_->pop_front()) {
    if (take(first_->front())) out.push_back(std::move(first_->front()));
  }
}

// The first so many distinct draws, whatever is known of them, are this task's random programs.
void GatherTask::take_random(size_t n, std::vector<Program>& out) {
  const auto wanted =
      static_cast<size_t>(options_.random_share * static_cast<double>(options_.programs));
  while (out.size() < n && dry_ < kMostDry) {
    if (drawn_.empty()) {
      if (draws_known_.size() >= wanted) return;
      for (Program& p : search::sample_many(*space_, kDrawsAtOnce, draws_, threads_)) {
        if (draws_known_.size() >= wanted || !draws_known_.insert(p.hash).second) continue;
        drawn_.push_back(std::move(p));
      }
      dry_ = drawn_.empty() ? dry_ + 1 : 0;
      continue;
    }
    if (take(drawn_.front())) out.push_back(std::move(drawn_.front()));
    drawn_.pop_front();
  }
}

void GatherTask::take_searched(size_t n, std::vector<Program>& out) {
  model_->train();
  while (out.size() < n) {
    std::vector<Program> proposed = strategy_->propose(n - out.size(), searches_);
    if (proposed.empty()) return;
    for (Program& p : proposed) {
      if (take(p)) out.push_back(std::move(p));
    }
  }
}

// The first goes by the function alone, later ones with more and more noise.
void GatherTask::take_guided(size_t n, std::vector<Program>& out) {
  if (maker_ == nullptr) {
    const auto by_rule = value::look_at(*space_, {});
    if (!by_rule) return;
    maker_ = std::make_unique<value::RowMaker>(task(), by_rule->program);
  }
  for (; out.size() < n && guided_ < kMostGuided; ++guided_) {
    value::BeamOptions how;
    how.width = kGuidedWidth;
    how.noise = std::min(kMostNoise, kMoreNoise * guided_);
    how.seed = seed_of(options_.seed, task().key, 2) + static_cast<uint64_t>(guided_);
    how.threads = threads_;
    for (value::Found& f : value::beam(*space_, *maker_, *options_.value, how, kFromOneSearch)) {
      if (out.size() < n && take(f.look.program)) out.push_back(std::move(f.look.program));
    }
  }
}

std::vector<Program> GatherTask::next(size_t n) {
  std::vector<Program> out;
  if (given_.list) {
    take_listed(n, out);
    return out;
  }
  n = std::min(n, static_cast<size_t>(std::max<int64_t>(0, options_.programs - known())));
  if (n == 0) return out;
  take_default(out);
  if (space_ == nullptr) return out;
  take_first(n, out);
  take_random(n, out);
  if (options_.value != nullptr) take_guided(n, out);
  if (out.empty()) take_searched(n, out);
  return out;
}

}  // namespace tenon::tune
