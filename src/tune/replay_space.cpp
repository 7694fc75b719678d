// SPDX-License-Identifier: Apache-2.0
#include "tune/replay_space.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "search/trace_mutation.h"
#include "support/check.h"
#include "support/parallel.h"
#include "tune/task_history.h"
#include "tune/tuner.h"

namespace tenon::tune {
namespace {

using search::Candidate;

constexpr size_t kNeighbours = 16;
constexpr size_t kCompared = 4096;  // of many thousand programs each is compared with so many
// Populations of the size that a whole space deserves would hold each recorded program many times.
constexpr size_t kLeastPopulation = 64, kMostPopulation = 512;

size_t common(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  size_t n = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j])
      ++n, ++i, ++j;
    else if (a[i] < b[j])
      ++i;
    else
      ++j;
  }
  return n;
}

std::vector<uint64_t> step_hashes(const schedule::Trace& trace) {
  std::vector<uint64_t> hashes;
  for (const schedule::Step& s : trace) hashes.push_back(schedule::hash(s));
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

std::vector<size_t> nearest(size_t self, const std::vector<std::vector<uint64_t>>& steps) {
  const size_t n = steps.size();
  const size_t stride = n / kCompared + 1;
  std::vector<std::pair<size_t, size_t>> all;  // differing steps, program
  for (size_t k = 1; k < n; k += stride) {
    const size_t other = (self + k) % n;
    const size_t shared = common(steps[self], steps[other]);
    all.emplace_back(steps[self].size() + steps[other].size() - 2 * shared, other);
  }
  const size_t most = std::min(kNeighbours, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
  std::vector<size_t> out;
  for (size_t i = 0; i < most; ++i) out.push_back(all[i].second);
  return out;
}

class ReplaySearchSpace : public search::Space {
 public:
  explicit ReplaySearchSpace(std::shared_ptr<const ReplaySpace> r) : r_(std::move(r)) {}
  std::string_view name() const override { return "recorded"; }
  size_t sketches() const override { return 1; }

  Result<Candidate> sample(Rng& rng) const override { return rng.pick(r_->programs()); }

  Result<Candidate> mutate(const Candidate& c, Rng& rng) const override {
    const size_t at = r_->index_of(c.hash);
    if (at == ReplaySpace::kNowhere || r_->near(at).empty()) return nothing();
    return r_->programs()[rng.pick(r_->near(at))];
  }

  Result<Candidate> cross(const Candidate& a, const Candidate& b, Rng& rng) const override {
    const size_t i = r_->index_of(a.hash), j = r_->index_of(b.hash);
    if (i == ReplaySpace::kNowhere || j == ReplaySpace::kNowhere || i == j) return nothing();
    std::set<size_t> children(r_->near(i).begin(), r_->near(i).end());
    children.insert(r_->near(j).begin(), r_->near(j).end());
    std::vector<size_t> of_both;
    for (const size_t c : children) {
      if (c != i && c != j && r_->shared_steps(c, i) > 0 && r_->shared_steps(c, j) > 0) {
        of_both.push_back(c);
      }
    }
    if (of_both.empty()) return nothing();
    return r_->programs()[rng.pick(of_both)];
  }

  Result<Candidate> adopt(const schedule::Trace& trace) const override {
    const size_t at = r_->index_of(schedule::hash(trace));
    if (at == ReplaySpace::kNowhere) return nothing();
    return r_->programs()[at];
  }

 private:
  // Not on record: there is no such choice.
  static Illegal nothing() { return Illegal{.code = IllegalCode::kBadFactor}; }
  std::shared_ptr<const ReplaySpace> r_;
};

class ReplayMeasurer : public measure::Measurer {
 public:
  ReplayMeasurer(std::shared_ptr<const ReplaySpace> r,
                 std::function<void(const task::Measurement&)> seen)
      : r_(std::move(r)), seen_(std::move(seen)) {}

  std::string target(const target::Target&) const override { return any().target; }
  std::string protocol() const override { return any().protocol; }

  std::vector<task::Measurement> measure(const task::Task& t,
                                         std::span<const schedule::Trace> traces, double,
                                         const std::function<bool()>& stop) override {
    std::vector<task::Measurement> out;
    for (const schedule::Trace& trace : traces) {
      if (stop && stop()) break;
      out.push_back(one(t, trace));
      if (seen_) seen_(out.back());
    }
    return out;
  }

  measure::Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    using Kind = measure::Verdict::Kind;
    const task::Measurement m = one(t, trace);
    if (m.outcome == task::Outcome::kOk) return {};
    return {m.outcome == task::Outcome::kWrong ? Kind::kWrong : Kind::kUndecided, m.error};
  }

  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces, double) override {
    return measure(t, traces, 0, nullptr);
  }

 private:
  const task::Measurement& any() const { return *r_->find(r_->programs().front().trace); }

  task::Measurement one(const task::Task& t, const schedule::Trace& trace) const {
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
std::optional<Candidate> read_candidate(const task::Task& t, const std::string& trace) {
  try {
    auto c = search::replay_candidate(t, schedule::trace_from_json(trace));
    return c ? std::optional(std::move(c.value())) : std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

ReplaySpace::ReplaySpace(task::Task t, const std::vector<task::Measurement>& measurements)
    : task_(std::move(t)), best_s_(std::numeric_limits<double>::infinity()) {
  TaskHistory history;
  for (const task::Measurement& m : measurements) history.add(m);
  std::set<std::string> seen;
  for (const task::Measurement& m : measurements) {
    if (!seen.insert(m.trace).second) continue;
    auto c = read_candidate(task_, m.trace);
    if (!c || !by_hash_.emplace(c->hash, programs_.size()).second) {
      ++left_out_;
      continue;
    }
    outcomes_.push_back(*history.find(m.trace));
    outcomes_.back().trace = schedule::to_json(c->trace);
    if (outcomes_.back().outcome == task::Outcome::kOk) {
      best_s_ = std::min(best_s_, outcomes_.back().median_s);
    }
    steps_.push_back(step_hashes(c->trace));
    programs_.push_back(*std::move(c));
  }
  near_.resize(programs_.size());
  for_each_parallel(programs_.size(), 0, [&](size_t i) { near_[i] = nearest(i, steps_); });
}

const task::Measurement* ReplaySpace::find(const schedule::Trace& trace) const {
  const size_t at = index_of(schedule::hash(trace));
  return at == kNowhere ? nullptr : &outcomes_[at];
}

size_t ReplaySpace::index_of(uint64_t trace_hash) const {
  const auto it = by_hash_.find(trace_hash);
  return it == by_hash_.end() ? kNowhere : it->second;
}

size_t ReplaySpace::shared_steps(size_t a, size_t b) const { return common(steps_[a], steps_[b]); }

std::unique_ptr<search::Space> replay_space(std::shared_ptr<const ReplaySpace> recorded) {
  if (recorded->programs().empty()) return nullptr;
  return std::make_unique<ReplaySearchSpace>(std::move(recorded));
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
  t.round = o.round > 0 ? o.round : std::clamp<int64_t>(o.trials / 10, 1, t.round);
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
