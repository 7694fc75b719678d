// SPDX-License-Identifier: Apache-2.0
// Right answers for a task on several inputs, and the comparison with them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/interp.h"
#include "schedule/trace.h"
#include "task/task.h"

namespace tenon::measure {

struct Case {
  std::vector<ir::Array> inputs, outputs;  // logical
};

// The definition compiled without a schedule, run on logical inputs; throws UserError.
using RunDefinition =
    std::function<std::vector<ir::Array>(const task::Task&, const std::vector<ir::Array>&)>;

// The definition as it stands, but each stage's outermost loop that has iterations is dealt out to the threads: no order
// of summation changes.
schedule::Trace on_all_cores(const task::Task& t);

// Keeps the answers of the tasks asked for lately.
class References {
 public:
  explicit References(RunDefinition run) : run_(std::move(run)) {}
  // By te::evaluate where that is quick, otherwise by the compiled definition.
  std::shared_ptr<const std::vector<Case>> cases(const task::Task& t);

 private:
  RunDefinition run_;
  std::map<std::string, std::shared_ptr<const std::vector<Case>>> made_;
  int64_t bytes_ = 0;
};

// Empty if `got` is as near to the case's outputs as rounding explains; otherwise what is wrong. An integer that
// was rounded from floats may be one off, in few places.
// `error_factor` is that of the program, see schedule::State.
std::string differs(const te::ComputeDag& dag, const Case& c, const std::vector<ir::Array>& got,
                    double error_factor = 1);

}  // namespace tenon::measure
