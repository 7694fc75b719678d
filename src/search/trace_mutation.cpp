// SPDX-License-Identifier: Apache-2.0
#include "search/trace_mutation.h"

#include <algorithm>

#include "schedule/bounds.h"
#include "schedule/program.h"
#include "search/annotation.h"
#include "search/factors.h"

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
  Change(const schedule::State& s, const schedule::Step& step, Rng& rng)
      : s_(s), step_(step), rng_(rng) {}

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
    const auto* at = std::get_if<schedule::ComputeAt>(&step_);
    if (at == nullptr || !s_.has(at->at_stage)) return;
    loop.id = static_cast<schedule::LoopId>(
        rng_.between(0, static_cast<int64_t>(s_[at->at_stage].loops.size()) - 1));
  }
  template <class Other>
  void operator()(Tunable, Other&) {}

 private:
  const schedule::State& s_;
  const schedule::Step& step_;
  Rng& rng_;
};

}  // namespace

Result<Candidate> replay_candidate(const task::Task& t, const schedule::Trace& trace) {
  auto state = schedule::replay(schedule::State(t.dag, t.target), trace);
  if (!state) return state.illegal();
  if (!task::keeps_edges(t, *state)) return Illegal{.code = IllegalCode::kBadLayout};
  auto bounds = schedule::infer_bounds(*state);
  if (!bounds) return bounds.illegal();
  TENON_TRY(schedule::check_program(*state, *bounds));
  return Candidate{trace, std::move(state.value()), -1, schedule::hash(trace),
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
  schedule::Step& step = trace[rng.pick(tunable)];
  const schedule::Step before = step;
  for_each_tunable(step, Change(c.state, before, rng));
  if (step == before) return Illegal{.code = IllegalCode::kBadFactor};
  return replay_candidate(t, trace);
}

}  // namespace tenon::search
