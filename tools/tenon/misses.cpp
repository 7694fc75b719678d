// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/misses.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/text.h"
#include "tools/tenon/text.h"

namespace tenon::tools {

void tell_misses(const ModelOptions& options, const plan::NetworkPlan& made,
                 const Console& console) {
  plan::NetworkPlan given = options.records;
  if (!options.lock.empty()) given.add(plan::read_lock(options.lock));
  const bool asked = !options.lock.empty() || !options.records_from.empty();
  const auto served = std::count_if(made.tasks.begin(), made.tasks.end(), [&](const auto& t) {
    const plan::TaskPlan* program = given.find(t.task);
    return program != nullptr && program->has_program;
  });
  const auto tasks = std::ssize(made.tasks);
  if (!asked || served == tasks) return;
  const std::string source = options.lock.empty() ? options.records_from : options.lock;
  if (served > 0) {
    console.note(fmt::format("{} has schedules for {} of {} tasks; the others have defaults",
                             escaped(source), served, tasks));
    return;
  }
  console.warn(
      options.lock.empty()
          ? fmt::format("{} has no schedule that was kept for any of the {} tasks, at this target "
                        "and number of threads: all have defaults (tenon db why-miss says more)",
                        escaped(source), tasks)
          : fmt::format("{} has no schedule for any of the {} tasks: it is of another model, of "
                        "other sizes or of another target; all have defaults",
                        escaped(source), tasks));
}

}  // namespace tenon::tools
