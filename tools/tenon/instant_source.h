// SPDX-License-Identifier: Apache-2.0
// The value function that ships with tenon, or another, as a source of programs for `--schedules instant`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/network.h"
#include "target/target.h"
#include "tools/tenon/console.h"
#include "value/instant.h"

namespace tenon::tools {

struct InstantSource {
  std::string file;  // empty: the one that ships
  size_t width = 8;  // of the beam
  std::string space = "joint";
  int threads = 0;  // 0: one per core
};

// Null where there is no value function for the target that can be used: a line says why.
std::shared_ptr<const value::Instant> find_instant(const InstantSource& from,
                                                   const target::Target& target,
                                                   const Console& console);

// What it chooses for a task that it would not leave to the rules, then the runners-up that are better than the rules'.
std::function<std::vector<plan::KnownProgram>(const task::Task&)> instant_programs(
    std::shared_ptr<const value::Instant> instant);

}  // namespace tenon::tools
