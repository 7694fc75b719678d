// SPDX-License-Identifier: Apache-2.0
// What `tenon doctor --calibrate` measured on this machine, kept beside the default database.
#pragma once

#include <optional>
#include <string>

#include "target/target.h"
#include "timing/calibrate.h"

namespace tenon::tools {

// $XDG_STATE_HOME/tenon/calibration, else ~/.local/state/tenon/calibration. Throws UserError if neither is set.
std::string calibration_file();

// Nothing where this machine was not measured, or was another one then.
std::optional<timing::Calibration> saved_calibration();
// Throws UserError where the folder cannot be made.
void make_calibration_folder();
void save(const timing::Calibration& c);

// The host with what was measured; any other target as it is.
target::Target with_calibration(target::Target t);

}  // namespace tenon::tools
