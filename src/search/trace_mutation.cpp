// SPDX-License-Identifier: Apache-2.0
#include "search/trace_mutation.h"

#include <algorithm>

#include "search/annotation.h"
#include "search/factors.h"
#include "task/serve.h"

namespace tenon::search {
namespace {

using schedule::Tunable;

template <class Fn>
void for_each_tunable(schedule::Step& step, Fn&& fn) {
  std::visit(
      [&](auto& s) {
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(s)>, std::monostate>) {
          schedule::for_each_field(s, [&](const auto& f, auto& value) {
            if (f.tunable != Tunable::kNone) fn(f.tunable, value);
          });
        }
      },
      step);
}

class Change {
 public:
  // `loops`: of the stage that a compute_at names, where the step is one.
  Change(size_t loops, Rng& rng) : loops_(static_cast<int64_t>(loops)), rng_(rng) {}

  void operator()(Tunable, std::vector<int64_t>& factors) {
    const auto i = static_cast<size_t>(rng_.between(0, static_cast<int64_t>(factors.size()) - 1));
    const auto j = static_cast<size_t>(rng_.between(0, static_cast<int64_t>(factors.size()) - 1));
    const std::vector<int64_t> d = divisors(factors[i]);
    const int64_t moved = rng_.pick(d);
    if (i == j) {
      factors[i] = rng_.chance(0.5) ? factors[i] / moved : factors[i] * rng_.between(2, 4);
    } else {
      factors[i] /= moved;
      factors[j] *= moved;
    }
  }
  void operator()(Tunable, int64_t& limit) { limit = kUnrollLimits[rng_.between(0, 3)]; }
  void operator()(Tunable, schedule::LoopRef& loop) {
    if (loops_ > 0) loop.id = static_cast<schedule::LoopId>(rng_.between(0, loops_ - 1));
  }
  template <class Other>
  void operator()(Tunable, Other&) {}

 private:
  int64_t loops_;
  Rng& rng_;
};

// Loops that the host of a compute_at has by then; 0 for other steps.
size_t host_loops(const task::Task& t, const schedule::Trace& trace, size_t step) {
  const auto* at = std::get_if<schedule::ComputeAt>(&trace[step]);
  if (at == nullptr) return 0;
  const schedule::Trace before(trace.begin(), trace.begin() + static_cast<std::ptrdiff_t>(step));
  const auto state = schedule::replay(schedule::State(t.dag, t.target), before);
  return state && state->has(at->at_stage) ? (*state)[at->at_stage].loops.size() : 0;
}

}  // namespace

Result<Candidate> replay_candidate(const task::Task& t, schedule::Trace trace) {
  auto state = schedule::replay(schedule::State(t.dag, t.target), trace);
  if (!state) return state.illegal();
  const size_t all = trace.size();
  return replay_quickly(t, std::move(trace), std::move(state.value()), all);
}

Result<Candidate> replay_quickly(const task::Task& t, schedule::Trace trace, schedule::State after,
                                 size_t done) {
  schedule::State& state = after;
  for (size_t i = done; i < trace.size(); ++i) {
    TENON_TRY(schedule::check_quickly(trace[i], state));
    schedule::apply(trace[i], state);
  }
  auto bounds = task::check_serves(t, state, schedule::BoundsFor::kSearch);
  if (!bounds) return bounds.illegal();
  const uint64_t hash = schedule::hash(trace);
  return Candidate{std::move(trace), std::move(state), -1, hash,
                   std::make_shared<const schedule::Bounds>(std::move(bounds.value()))};
}

Result<Candidate> mutate_trace(const task::Task& t, size_t fixed, const Candidate& c, Rng& rng) {
  schedule::Trace trace = c.trace;
  std::vector<size_t> tunable;
  for (size_t i = fixed; i < trace.size(); ++i) {
    bool any = false;
    for_each_tunable(trace[i], [&](Tunable, auto&) { any = true; });
    if (any) tunable.push_back(i);
  }
  if (tunable.empty()) return Illegal{.code = IllegalCode::kBadFactor};
  const size_t which = rng.pick(tunable);
  schedule::Step& step = trace[which];
  const schedule::Step before = step;
  for_each_tunable(step, Change(host_loops(t, trace, which), rng));
  if (step == before) return Illegal{.code = IllegalCode::kBadFactor};
  return replay_quickly(t, std::move(trace), schedule::State(t.dag, t.target), 0);
}

}  // namespace tenon::search
