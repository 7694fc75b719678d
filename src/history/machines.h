// SPDX-License-Identifier: Apache-2.0
// The same programs on several machines: records are joined by task and trace, never by their order.
//
//   const Joined j = join_machines(db, {here, there});
//   j.programs[0].seconds;    // {2e-4, NaN}: never measured there
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "history/records.h"

namespace tenon::history {

struct JoinedProgram {
  size_t task;
  schedule::Trace trace;
  space::Choices choices;
  std::vector<double> seconds;  // by machine; NaN: not measured there, infinity: it failed
};

struct Joined {
  std::vector<task::Task> tasks;
  std::vector<std::string> computations;  // Known::computation of each
  std::vector<JoinedProgram> programs;    // task by task
  int64_t rows = 0, left_out = 0;         // as Records has them, of all machines
  std::string why;
};

// Tasks are made for the first machine's target; programs of others that do not fit it are left out.
Joined join_machines(const db::Database& db, std::span<const Where> machines,
                     const Limits& limits = {});

// Keeps about this share of a machine's times, by the hash of task and trace; the others become unknown. The best of a task
// is then the best of what is kept.
void keep_share(Joined& joined, size_t machine, double share, uint64_t seed);

}  // namespace tenon::history
