// SPDX-License-Identifier: Apache-2.0
// A Plan written line by line, and the state that the lines so far lead to, worked out when it is asked for: a template
// may look at the loops that its layout steps left. Knobs have their values before the line that uses them. After a
// refused line the state stands still; choose() says why the plan was passed over.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "templates/edges.h"
#include "templates/template.h"

namespace tenon::templates {

class PlanWriter {
 public:
  PlanWriter(const schedule::State& initial, const Request& request)
      : state_(initial), request_(request) {}

  // One step, or several with line ends between.
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    plan_.text += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  // Layout steps that take a tensor from its plain order to `l`.
  void store(const std::string& tensor, const layout::Layout& l);
  // The layouts asked for the inputs that are not in `done`; constants stay the template's.
  void store_fixed_inputs(const std::vector<std::string>& done = {});

  Knobs& knobs() { return plan_.knobs; }
  // What is given for a free knob, `rule` if nothing is. Knobs that follow from it are set afterwards.
  int64_t choice(const std::string& knob, int64_t rule, int64_t most);
  void set_flexible() { plan_.flexible = true; }
  Plan take() { return std::move(plan_); }

  const Request& request() const { return request_; }
  const te::ComputeDag& dag() const { return state_.dag(); }
  const target::Target& target() const { return state_.target(); }
  const schedule::State& state() {
    catch_up();
    return state_;
  }
  // How a stage is computed after the lines so far: over storage dimensions, inlined stages inside.
  const te::ComputeOp& now(const std::string& stage);
  bool refused() {
    catch_up();
    return refused_;
  }

 private:
  // Applies the lines that were not looked at yet.
  void catch_up();

  Plan plan_;
  schedule::State state_;
  const Request& request_;
  size_t caught_up_ = 0;  // with so much of the text
  bool refused_ = false;
};

}  // namespace tenon::templates
