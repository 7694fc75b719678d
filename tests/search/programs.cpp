// SPDX-License-Identifier: Apache-2.0
#include "search/programs.h"

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "te/dag.h"

namespace tenon::search {

std::string fault_of(const task::Task& t, const space::Program& p) {
  const schedule::State initial(t.dag, t.target);
  const std::string text = schedule::to_text(p.trace, initial) + to_json(p.choices) + "\n";
  if (p.hash != schedule::hash(p.trace)) return text + "another hash";
  if (!task::keeps_edges(t, p.state)) return text + "edges are stored in another way";
  const auto again = schedule::replay(initial, p.trace);
  if (!again) return text + "does not replay";
  if (schedule::to_string(*again) != schedule::to_string(p.state)) return text + "another state";
  const auto bounds = schedule::infer_bounds(*again);
  if (!bounds || p.bounds == nullptr) return text + "no bounds";
  Rng rng(7);
  const auto inputs = fuzz::random_inputs(*t.dag, rng);
  const auto outcome = fuzz::check_program(p.state, inputs, te::evaluate(*t.dag, inputs));
  if (outcome.refused) return text + "refused";
  return outcome.problem.empty() ? "" : text + outcome.problem;
}

}  // namespace tenon::search
