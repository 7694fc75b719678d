// SPDX-License-Identifier: Apache-2.0
#include "tune/replay_space.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "measure/at_once.h"
#include "support/check.h"
#include "task/serve.h"
#include "tune/task_history.h"
#include "tune/tuner.h"

namespace tenon::tune {
namespace {

using space::Program;

// Populations of the size that a whole space deserves would hold each recorded program many times.
constexpr size_t kLeastPopulation = 64, kMostPopulation = 512;

// Recorded traces as a tree: they are written step by step, and where they part a hole says which way to go.
class RecordedSkeleton : public space::Skeleton {
 public:
  explicit RecordedSkeleton(std::shared_ptr<const ReplaySpace> r) : r_(std::move(r)) {
    std::vector<size_t> all(r_->programs().size());
    std::iota(all.begin(), all.end(), size_t{0});
    root_ = make_node(all, 0);
  }

  void write(space::Builder& b) const override {
    const Node* at = &nodes_[root_];
    while (true) {
      const schedule::Trace& trace = r_->programs()[at->programs.front()].trace;
      for (size_t i = b.trace().size(); i < at->steps; ++i) b.add_checked(trace[i]);
      if (at->children.empty()) return;
      at = &nodes_[at->children[ask(b, *at)]];
    }
  }

 private:
  struct Node {
    std::vector<size_t> programs;  // oldest first
    size_t steps = 0;              // that all of them share
    std::vector<size_t> children;  // in the order of their oldest programs
  };

  size_t ask(space::Builder& b, const Node& n) const {
    const auto last = static_cast<int64_t>(n.children.size()) - 1;
    const auto by_size = [&](const space::Domain&) {
      std::vector<double> w;
      for (const size_t c : n.children) w.push_back(static_cast<double>(nodes_[c].programs.size()));
      return w;
    };
    const space::HoleId hole{space::HoleKind::kParts, 0, static_cast<int32_t>(n.steps)};
    return static_cast<size_t>(
        int64_t{b.ask(hole, "recorded", space::Domain::range(0, last), 0, by_size)});
  }

  size_t make_node(const std::vector<size_t>& programs, size_t from) {
    Node n{programs, from, {}};
    const auto step_of = [&](size_t p) {
      const schedule::Trace& t = r_->programs()[p].trace;
      return n.steps < t.size() ? &t[n.steps] : nullptr;
    };
    const auto same = [&](size_t a, size_t b) {
      const auto *x = step_of(a), *y = step_of(b);
      return x == nullptr || y == nullptr ? x == y : *x == *y;
    };
    while (step_of(programs[0]) != nullptr &&
           std::all_of(programs.begin(), programs.end(),
                       [&](size_t p) { return same(p, programs[0]); })) {
      ++n.steps;
    }
    std::vector<std::vector<size_t>> groups;
    for (const size_t p : programs) {
      const auto it = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& g) { return same(g.front(), p); });
      if (it == groups.end()) {
        groups.push_back({p});
      } else {
        it->push_back(p);
      }
    }
    for (size_t g = 0; groups.size() > 1 && g < groups.size(); ++g) {
      n.children.push_back(make_node(groups[g], n.steps));
    }
    nodes_.push_back(std::move(n));
    return nodes_.size() - 1;
  }

  std::shared_ptr<const ReplaySpace> r_;
  std::vector<Node> nodes_;
  size_t root_ = 0;
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

ReplaySpace::ReplaySpace(task::Task t, const std::vector<task::Measurement>& measurements)
    : task_(std::move(t)), best_s_(std::numeric_limits<double>::infinity()) {
  TaskHistory history;
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
