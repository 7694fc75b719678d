// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/given_plan.h"

#include <fmt/format.h>

#include "plan/text.h"
#include "tools/tenon/command.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

std::string name_of(const std::string& target) {
  return plan::target_name(target::parse_target(target));
}

}  // namespace

plan::NetworkPlan locked_plan(const ModelOptions& options) {
  if (options.lock.empty()) return {};
  if (options.targets.size() < 2) return plan::read_lock(options.lock, name_of(options.target));
  std::vector<std::string> names;
  for (const std::string& t : options.targets) names.push_back(name_of(t));
  auto level = plan::read_level(options.lock, name_of(options.target), names);
  if (!level && options.frozen && options.records.tasks.empty()) {
    throw CommandError(
        kExitFrozen,
        fmt::format("{} has no schedules for target '{}', only for others of the library (without "
                    "--frozen it gets default schedules)",
                    escaped(options.lock), options.target));
  }
  return level ? *std::move(level) : plan::NetworkPlan();
}

std::string target_prefix(const ModelOptions& options) {
  return options.targets.size() < 2 ? "" : options.target + ": ";
}

}  // namespace tenon::tools
