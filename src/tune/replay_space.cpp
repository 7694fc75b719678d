// SPDX-License-Identifier: Apache-2.0
#include "tune/replay_space.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "history/task_history.h"
#include "measure/at_once.h"
#include "search/space/spaces.h"
#include "support/check.h"
#include "support/parallel.h"
#include "task/serve.h"
#include "tune/tuner.h"

namespace tenon::tune {
namespace {

using space::Program;

// Populations of the size that a whole space deserves would hold each recorded program many times.
constexpr size_t kLeastPopulation = 64, kMostPopulation = 512;

// The holes are those of the space that the programs come from, with the values that were recorded:
// each answer leaves the programs that took it, until one is left.
class RecordedSkeleton : public space::Skeleton {
 public:
  explicit RecordedSkeleton(std::shared_ptr<const ReplaySpace> r) : r_(std::move(r)) {}

  void write(space::Builder& b) const override {
    std::vector<size_t> left(r_->programs().size());
    std::iota(left.begin(), left.end(), size_t{0});
    for (size_t at = 0; left.size() > 1; ++at) left = ask(b, left, at);
    const Program& p = r_->programs()[left.front()];
    b.start_from(p.state, p.trace);
  }

 private:
  const space::Choice& choice(size_t program, size_t at) const {
    return r_->programs()[program].choices[at];
  }

  std::vector<size_t> ask(space::Builder& b, const std::vector<size_t>& left, size_t at) const {
    std::map<int64_t, double> values;  // and how many programs took each
    for (const size_t p : left) ++values[choice(p, at).value];
    std::vector<int64_t> all;
    for (const auto& [value, n] : values) all.push_back(value);
    const auto by_count = [&](const space::Domain& d) {
      std::vector<double> w;
      for (size_t i = 0; i < d.size(); ++i) w.push_back(values.at(d.at(i)));
      return w;
    };
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      const size_t p = r_->index_of(schedule::hash(trace));
      if (std::find(left.begin(), left.end(), p) == left.end()) return std::nullopt;
      return choice(p, at).value;
    };
    const space::Choice& oldest = choice(left.front(), at);
    const int64_t taken = b.ask(oldest.hole, "recorded", space::Domain::of(std::move(all)),
                                oldest.value, by_count, read);
    std::vector<size_t> out;
    for (const size_t p : left) {
      if (choice(p, at).value == taken) out.push_back(p);
    }
    return out;
  }

  std::shared_ptr<const ReplaySpace> r_;
};

class ReplayMeasurer : public measure::AtOnce {
 public:
  ReplayMeasurer(std::shared_ptr<const ReplaySpace> r,
                 std::function<void(const task::Measurement&)> seen)
      : r_(std::move(r)), seen_(std::move(seen)) {}

  std::string target(const target::Target&) const override { return any().target; }
  std::string protocol() const override { return any().protocol; }

  measure::Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    using Kind = measure::Verdict::Kind;
    const task::Measurement m = answer(t, trace);
    if (m.outcome == task::Outcome::kOk) return {};
    return {m.outcome == task::Outcome::kWrong ? Kind::kWrong : Kind::kUndecided, m.error};
  }

  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces, double) override {
    std::vector<task::Measurement> out;
    for (const schedule::Trace& trace : traces) out.push_back(one(t, trace));
    return out;
  }

 protected:
  task::Measurement one(const task::Task& t, const schedule::Trace& trace) override {
    task::Measurement m = answer(t, trace);
    if (seen_) seen_(m);
    return m;
  }

 private:
  const task::Measurement& any() const { return *r_->find(r_->programs().front().trace); }

  task::Measurement answer(const task::Task& t, const schedule::Trace& trace) const {
    if (const task::Measurement* m = r_->find(trace)) {
      task::Measurement copy = *m;
      copy.verified = false;  // whoever asks verifies again
      return copy;
    }
    task::Measurement m;
    m.task = t.key;
    m.target = any().target;
    m.protocol = any().protocol;
    m.trace = schedule::to_json(trace);
    m.outcome = task::Outcome::kRefused;
    m.error = "not on record";
    return m;
  }

  std::shared_ptr<const ReplaySpace> r_;
  std::function<void(const task::Measurement&)> seen_;
};

// Nothing if the trace cannot be read or may not serve the task.
std::optional<Program> read_program(const task::Task& t, const std::string& json) {
  try {
    const schedule::Trace trace = schedule::trace_from_json(json);
    auto state = schedule::replay(schedule::State(t.dag, t.target), trace);
    if (!state) return std::nullopt;
    auto bounds = task::check_serves(t, *state, schedule::BoundsFor::kSearch);
    if (!bounds) return std::nullopt;
    return Program{{},
                   trace,
                   std::move(state.value()),
                   schedule::hash(trace),
                   std::make_shared<const schedule::Bounds>(std::move(bounds.value()))};
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

namespace {

// What tells the programs of a space apart from each other, and those that it does not know from
// all others.
space::Choices choices_of(const space::Space& s, const Program& p, size_t index) {
  const space::HoleId known_here{space::HoleKind::kSwitch, 0, -1};
  auto known = s.recognise(p.trace);
  if (!known) return {{known_here, 1 + static_cast<int64_t>(index)}};
  known->made.insert(known->made.begin(), {known_here, 0});
  return std::move(known->made);
}

}  // namespace

ReplaySpace::ReplaySpace(task::Task t, const std::vector<task::Measurement>& measurements)
    : task_(std::move(t)), best_s_(std::numeric_limits<double>::infinity()) {
  history::TaskHistory history;
  for (const task::Measurement& m : measurements) history.add(m);
  std::set<std::string> seen;
  for (const task::Measurement& m : measurements) {
    if (!seen.insert(m.trace).second) continue;
    auto c = read_program(task_, m.trace);
    if (!c || !by_hash_.emplace(c->hash, programs_.size()).second) {
      ++left_out_;
      continue;
    }
    outcomes_.push_back(*history.find(m.trace));
    outcomes_.back().trace = schedule::to_json(c->trace);
    if (outcomes_.back().outcome == task::Outcome::kOk) {
      best_s_ = std::min(best_s_, outcomes_.back().median_s);
    }
    programs_.push_back(*std::move(c));
  }
  const auto space = search::make_space("joint", task_);
  for_each_parallel(programs_.size(), 0,
                    [&](size_t i) { programs_[i].choices = choices_of(*space, programs_[i], i); });
}

const task::Measurement* ReplaySpace::find(const schedule::Trace& trace) const {
  const size_t at = index_of(schedule::hash(trace));
  return at == kNowhere ? nullptr : &outcomes_[at];
}

size_t ReplaySpace::index_of(uint64_t trace_hash) const {
  const auto it = by_hash_.find(trace_hash);
  return it == by_hash_.end() ? kNowhere : it->second;
}

std::unique_ptr<space::Space> replay_space(std::shared_ptr<const ReplaySpace> recorded) {
  if (recorded->programs().empty()) return nullptr;
  const task::Task& t = recorded->task();
  return std::make_unique<space::Space>(t, std::make_unique<RecordedSkeleton>(std::move(recorded)));
}

std::unique_ptr<measure::Measurer> replay_measurer(
    std::shared_ptr<const ReplaySpace> recorded,
    std::function<void(const task::Measurement&)> seen) {
  TENON_CHECK(!recorded->programs().empty()) << "nothing on record";
  return std::make_unique<ReplayMeasurer>(std::move(recorded), std::move(seen));
}

std::vector<double> replay(const std::shared_ptr<const ReplaySpace>& recorded,
                           const ReplayOptions& o) {
  std::vector<double> best;
  const auto seen = [&](const task::Measurement& m) {
    const double before = best.empty() ? std::numeric_limits<double>::infinity() : best.back();
    best.push_back(m.outcome == task::Outcome::kOk ? std::min(before, m.median_s) : before);
  };
  const auto measurer = replay_measurer(recorded, seen);
  TunerOptions t;
  t.seed = o.seed;
  t.strategy = o.strategy;
  t.cost_model = o.cost_model;
  t.trials = o.trials;
  t.round =
      o.round > 0 ? o.round : std::clamp<int64_t>(o.trials / 10, 1, measure::Measurer::kRound);
  t.threads = o.threads;
  t.clock = [] { return 0.0; };  // how long things take decides nothing here
  t.search.population = std::clamp(recorded->programs().size(), kLeastPopulation, kMostPopulation);
  t.make_space = [&](const task::Task&) { return replay_space(recorded); };
  TaskTuner tuner({{recorded->task(), recorded->programs().front().trace, "recorded"}},
                  {{.weights = {1}}}, t, *measurer, nullptr, "replay", nullptr);
  while (std::ssize(best) < o.trials && tuner.step(nullptr)) {
  }
  return best;
}

}  // namespace tenon::tune
