// SPDX-License-Identifier: Apache-2.0
#include "space/space.h"

#include "space/recognise.h"
#include "task/serve.h"

namespace tenon::space {

Space::Space(task::Task t, std::unique_ptr<Skeleton> skeleton)
    : task_(std::move(t)),
      initial_(task_.dag, task_.target),
      skeleton_(std::move(skeleton)),
      tree_(std::make_unique<PrefixTree>(initial_)) {}

std::optional<Hole> Space::next(const Partial& p) const {
  Prefix prefix(p.made);
  Builder b(initial_, prefix, true);
  skeleton_->write(b);
  TENON_CHECK(prefix.fits()) << "choices of another space: " << to_json(p.made);
  return prefix.open();
}

Result<Partial> Space::choose(const Partial& p, int64_t value) const {
  const auto hole = next(p);
  if (!hole || !hole->domain.contains(value)) {
    return Illegal{.code = IllegalCode::kBadFactor, .value = value};
  }
  Partial out = p;
  out.made.push_back({hole->id, value});
  return out;
}

Result<Program> Space::build(const Partial& complete) const {
  Prefix prefix(complete.made);
  auto program = write(prefix);
  TENON_CHECK(prefix.fits() && !prefix.open()) << "not complete: " << to_json(complete.made);
  return program;
}

Result<schedule::Bounds> Space::serves(const Builder& b) const {
  if (!b.edges()) return task::check_serves(task_, b.state(), schedule::BoundsFor::kSearch);
  task::Task decided = task_;
  decided.edges = *b.edges();
  return task::check_serves(decided, b.state(), schedule::BoundsFor::kSearch);
}

Result<Program> Space::write(Decider& decider) const {
  Builder b(*tree_, decider);
  skeleton_->write(b);
  b.refuse_unwanted();
  if (b.refused()) return *b.why();
  auto bounds = b.take_bounds();
  if (!bounds) {
    auto inferred = serves(b);
    if (!inferred) return inferred.illegal();
    bounds = std::move(inferred.value());
  }
  const uint64_t hash = schedule::hash(b.trace());
  return Program{b.take_choices(), b.take_trace(), b.take_state(), hash,
                 std::make_shared<const schedule::Bounds>(std::move(*bounds))};
}

std::optional<Partial> Space::recognise(const schedule::Trace& trace) const {
  auto choices = space::recognise(*skeleton_, initial_, trace);
  if (!choices) return std::nullopt;
  return Partial{std::move(*choices)};
}

std::vector<Program> Space::first() const {
  std::vector<Program> out;
  for (const Choices& seed : skeleton_->seeds()) {
    ByRule rule;
    Follow follow(seed, rule);
    auto program = write(follow);
    if (program) out.push_back(std::move(program.value()));
  }
  return out;
}

Result<Program> Space::sample(Rng& rng) const {
  Blindly blindly(rng);
  return write(blindly);
}

bool Space::leads_to(const Choices& choices, const schedule::Trace& trace) const {
  Prefix prefix(choices);
  Builder b(initial_, prefix, true);
  skeleton_->write(b);
  return prefix.fits() && !prefix.open() && !b.refused() && b.trace() == trace;
}

Result<Program> Space::adopt(const schedule::Trace& trace, const Choices& known) const {
  auto state = schedule::replay(initial_, trace);
  if (!state) return state.illegal();
  auto bounds = task::check_serves(task_, *state, schedule::BoundsFor::kSearch);
  if (!bounds) return bounds.illegal();
  const bool own = !known.empty() && leads_to(known, trace);
  return Program{own ? known : Choices{}, trace, std::move(state.value()), schedule::hash(trace),
                 std::make_shared<const schedule::Bounds>(std::move(bounds.value()))};
}

}  // namespace tenon::space
