// SPDX-License-Identifier: Apache-2.0
// Which records of a database a command works on: --task, --target, --protocol, --run.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "history/selection.h"
#include "target/target.h"

namespace tenon::tools {

void add_selection_options(CLI::App& command, history::SelectionOptions& options);
// --target and --protocol alone.
void add_machine_options(CLI::App& command, history::SelectionOptions& options);

// The same with the fingerprint of this machine, which --target host means.
history::SelectionOptions with_host(history::SelectionOptions options);

// The target that records on this machine name so; null: another machine's.
std::shared_ptr<const target::Target> target_here(const std::string& measured);

}  // namespace tenon::tools
