// SPDX-License-Identifier: Apache-2.0
#include "search/layout_fuzz.h"

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/primitives/variant.h"
#include "search/layout_cases.h"
#include "te/text.h"

namespace tenon::search {

LayoutSpace::Point random_point(const LayoutSpace& s, Rng& rng) {
  LayoutSpace::Point p;
  for (const LayoutFactor& f : s.factors()) p.push_back(rng.pick(f.choices));
  return p;
}

LayoutFuzz::LayoutFuzz(uint64_t seed, std::map<std::string, int>& counts)
    : rng_(seed), seed_(seed), counts_(counts) {
  const auto dag = std::make_shared<const te::ComputeDag>(random_complex(rng_));
  target_ = std::make_shared<const target::Target>(
      target::parse_target(rng_.chance(0.5) ? "x86-64-v3 cores=4" : "x86-64-v4 cores=2"));
  const auto s = make_layout_space(*dag, *target_);
  for (int i = 0; s && i < 50; ++i) {
    const LayoutSpace::Point p = rng_.chance(0.3) ? rng_.pick(s->seeds()) : random_point(*s, rng_);
    const auto edges = s->edges(p);
    if (!edges) continue;
    point_ = s->text(p);
    task_ = task::make_task(dag, *edges, target_);
    inputs_ = fuzz::random_inputs(*dag, rng_);
    expected_ = te::evaluate(*dag, inputs_);
    return;
  }
  counts_["nothing to lay out"] += 1;
}

std::string LayoutFuzz::run_all() {
  if (task_.dag == nullptr) return "";
  std::string why = check(task::start(task_), "definition", nullptr);
  if (!why.empty()) return why;
  for (const space::Program& c : make_space("template", task_)->first()) {
    why = check(c.state, "template", nullptr);
    if (!why.empty()) return why;
  }
  why = check_draws("template", 2, nullptr);
  return why.empty() ? check_draws("sketch", 2, nullptr) : why;
}

std::string LayoutFuzz::run_one(backend::Compiler* compiler) {
  if (task_.dag == nullptr) return "";
  switch (rng_.between(0, 5)) {
    case 0:
    case 1:
      return check_variant(compiler);
    case 2:
      return check_draws("template", 1, compiler);
    default:
      return check_draws("sketch", 1, compiler);
  }
}

// By another algorithm where there is one, and by the definition otherwise.
std::string LayoutFuzz::check_variant(backend::Compiler* compiler) {
  schedule::State s(task_.dag, task_.target);
  const auto all = schedule::algorithms();
  const schedule::Variant step{
      {s.find("Y")},
      rng_.pick(std::vector<schedule::AlgorithmRow>(all.begin(), all.end())).algorithm};
  const bool fits = bool(step.check(s));
  if (fits) step.apply(s);
  const std::string what = fits ? "variant" : "definition";
  const auto stored = schedule::replay(s, task::edge_steps(task_));
  if (stored) return check(*stored, what, compiler);
  ++counts_[what + ", refused: " + std::string(illegal_name(stored.illegal().code))];
  return fits ? "" : fault(what, "refused");
}

std::string LayoutFuzz::check_draws(const std::string& space, int n, backend::Compiler* compiler) {
  const auto s = make_space(space, task_);
  int found = 0;
  for (int i = 0; i < 20 && found < n; ++i) {
    const auto c = s->sample(rng_);
    if (!c) {
      ++counts_[space + ", refused: " + std::string(illegal_name(c.illegal().code))];
      continue;
    }
    ++found;
    std::string why = check(c->state, space, compiler);
    if (!why.empty()) return why;
  }
  return found > 0 ? "" : fault(space, "no program");
}

std::string LayoutFuzz::check(const schedule::State& s, const std::string& what,
                              backend::Compiler* compiler) {
  if (!task::keeps_edges(task_, s)) return fault(what, "edges are stored in another way");
  const auto outcome = fuzz::check_program(s, inputs_, expected_, compiler);
  if (outcome.refused) return fault(what, "refused");
  ++counts_[what + (compiler == nullptr ? "" : ", compiled")];
  return outcome.problem.empty() ? "" : fault(what, outcome.problem);
}

std::string LayoutFuzz::fault(const std::string& what, const std::string& why) const {
  return "--seed=" + std::to_string(seed_) + " --runs=1: " + what + " at " + point_ + ": " + why +
         "\n" + te::to_text(*task_.dag);
}

}  // namespace tenon::search
