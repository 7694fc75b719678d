// SPDX-License-Identifier: Apache-2.0
// Random schedules of random dags, each run and compared with what its dag defines. A test says what it draws; the rest
// is here: seeds, counting, crashes and hangs, shrinking what fails into a case for tests/corpus.
//   TEST [--seed=N] [--runs-interpreted=N] [--runs-compiled=N] [--failures=N] [--out=FOLDER]
//   TEST --shrink=FILE
// A failure is shrunk and written to FOLDER. A crash leaves its case as it is; --shrink prints a smaller one. Everything
// about one dag and its traces follows from its seed: --seed=THAT --runs-interpreted=1 (or --runs-compiled=1) repeats it.
//
//   int main(int argc, char** argv) { return tenon::fuzz::fuzz_main(argc, argv, {"ScheduleFuzz", draw_dag, draw_trace}); }
#pragma once

#include "fuzz/case.h"
#include "fuzz/random_trace.h"

namespace tenon::fuzz {

struct FuzzSubject {
  const char* name;  // of the tests: NAME.Interpreted, NAME.Compiled
  te::ComputeDag (*dag)(Rng&);
  // Legal steps from `initial` on; counts what is proposed and accepted by primitive, and whatever else is of interest.
  Drawn (*trace)(const schedule::State& initial, Rng&, Counts&);
  int traces_per_dag = 4;
  // Beyond agreement: empty, or what is wrong with the runs as a whole. Called after `judged_runs` and more.
  std::string (*judge)(const Counts& counts, int64_t runs) = nullptr;
  double nan = 0;             // the share of dags whose inputs hold NaN
  bool gpu = false;           // for `cuda simt`, interpreted after every pass, and not compiled
  double most_refused = 0.5;  // the share of programs that the target may refuse
  int64_t judged_runs = 500;
};

int fuzz_main(int argc, char** argv, const FuzzSubject& subject);

}  // namespace tenon::fuzz
