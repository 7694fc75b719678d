// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/misses.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/tenon/given_plan.h"
#include "tools/tenon/text.h"

namespace tenon::tools {

void tell_misses(const ModelOptions& options, const plan::NetworkPlan& made,
                 const Console& console) {
  plan::NetworkPlan given = options.records;
  given.add(locked_plan(options));
  const bool asked = !options.lock.empty() || !options.records_from.empty();
  const auto served = std::count_if(made.tasks.begin(), made.tasks.end(), [&](const auto& t) {
    const plan::TaskPlan* program = given.find(t.task);
    return program != nullptr && program->has_program;
  });
  const auto tasks = std::ssize(made.tasks);
  if (!asked || served == tasks) return;
  const auto kept = std::count_if(made.tasks.begin(), made.tasks.end(), [&](const auto& t) {
    const plan::TaskPlan* program = given.find(t.task);
    return (program == nullptr || !program->has_program) && options.judged.contains(t.task);
  });
  if (served == 0 && kept == tasks) {
    console.note(fmt::format("{}{}: the run kept the defaults", target_prefix(options),
                             escaped(options.records_from)));
    return;
  }
  const std::string source =
      target_prefix(options) + escaped(options.lock.empty() ? options.records_from : options.lock);
  if (served > 0) {
    console.note(fmt::format("{} has schedules for {} of {}; the others have defaults", source,
                             served, counted(tasks, "task")));
    return;
  }
  const std::string missed =
      tasks == 1 ? "the task of this model" : fmt::format("any of the {} tasks", tasks);
  console.warn(
      options.lock.empty()
          ? fmt::format("{} has no schedule that was kept for {}, at this target and number of "
                        "threads: defaults are taken (tenon db why-miss says more)",
                        source, missed)
          : fmt::format("{} has no schedule for {}: it is of another model, of other sizes or of "
                        "another target; defaults are taken",
                        source, missed));
}

}  // namespace tenon::tools
