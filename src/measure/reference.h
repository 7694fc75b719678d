// SPDX-License-Identifier: Apache-2.0
// Right answers for a task on several inputs, and the comparison with them.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/interp.h"
#include "schedule/trace.h"
#include "task/task.h"

namespace tenon::measure {

struct Case {
  std::vector<ir::Array> inputs, outputs;  // logical
};

// How a definition is compiled to be compared with. Either way each sum is taken in the order of the definition, and each
// stage's outermost loop that has iterations is dealt out to the threads.
enum class Plain : uint8_t {
  kAsItStands,  // one element after the other
  kByVectors,   // sums of neighbouring elements side by side: many times faster
};
schedule::Trace plain_program(const task::Task& t, Plain how);

// The definition compiled so and run on logical inputs; throws UserError.
using RunDefinition =
    std::function<std::vector<ir::Array>(const task::Task&, const std::vector<ir::Array>&, Plain)>;

// Compares some elements of each output, ends of axes among them, with the definition evaluated by the interpreter.
// Empty if they are as near as rounding explains; otherwise what is wrong, or why it cannot be said.
std::string sample_differs(const te::ComputeDag& dag, const Case& c);

// Keeps the answers of the tasks asked for lately. May be asked by several threads at once.
class References {
 public:
  explicit References(RunDefinition run) : run_(std::move(run)) {}
  // By te::evaluate where that is quick. Otherwise by the compiled definition: by vectors if a sample of the result is
  // right, else as it stands.
  std::shared_ptr<const std::vector<Case>> cases(const task::Task& t);

 private:
  std::vector<ir::Array> answers(const task::Task& t, const std::vector<ir::Array>& inputs);

  using Cases = std::shared_ptr<const std::vector<Case>>;
  Cases make(const task::Task& t);
  void keep(const std::string& key, const std::shared_future<Cases>& made, int64_t bytes);

  RunDefinition run_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Cases>> made_;
  int64_t bytes_ = 0;
};

// Empty if `got` is as near to the case's outputs as rounding explains; otherwise what is wrong. An integer that
// was rounded from floats may be one off, in few places.
// `error_factor` is that of the program, see schedule::State.
std::string differs(const te::ComputeDag& dag, const Case& c, const std::vector<ir::Array>& got,
                    double error_factor = 1);

}  // namespace tenon::measure
