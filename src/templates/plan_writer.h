// SPDX-License-Identifier: Apache-2.0
// A Plan written line by line.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "templates/template.h"

namespace tenon::templates {

class PlanWriter {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    plan_.text += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  Knobs& knobs() { return plan_.knobs; }
  Plan take() { return std::move(plan_); }

 private:
  Plan plan_;
};

}  // namespace tenon::templates
