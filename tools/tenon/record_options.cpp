// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/record_options.h"

#include <utility>
#include <vector>

#include "measure/measure.h"

namespace tenon::tools {

void add_machine_options(CLI::App& command, history::SelectionOptions& options) {
  command.add_option("--target", options.target, "host, or a part of the target's fingerprint")
      ->type_name("TARGET");
  command.add_option("--protocol", options.protocol, "A part of the protocol, such as threads=2")
      ->type_name("PROTOCOL");
}

void add_selection_options(CLI::App& command, history::SelectionOptions& options) {
  command.add_option("--task", options.task, "Beginning of a task's key, or glob over labels")
      ->type_name("TASK");
  add_machine_options(command, options);
  command.add_option("--run", options.run, "Beginning of a run's id, or 'last'")->type_name("RUN");
}

history::SelectionOptions with_host(history::SelectionOptions options) {
  if (options.target == "host") options.host = measure::measured_target(target::host_target());
  return options;
}

std::shared_ptr<const target::Target> target_here(const std::string& measured) {
  std::vector<target::Target> all = target::known_targets();
  all.insert(all.begin(), target::host_target());
  for (const target::Target& t : target::gpu_targets()) {
    if (target::runs_here(t)) all.insert(all.end(), {target::card_target(), t});
  }
  for (const target::Target& t : all) {
    if (measure::measured_target(t) == measured) return std::make_shared<const target::Target>(t);
  }
  return nullptr;
}

}  // namespace tenon::tools
