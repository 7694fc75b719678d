// SPDX-License-Identifier: Apache-2.0
// Somebody else's program that knows the right answers, for `tenon compare`.
#pragma once

#include <string>

namespace tenon::tools {

// Runs a shell command with {inputs} and {outputs} replaced by the names of .npz files (or
// appended). Throws UserError if it fails or writes no outputs.
void run_reference_command(const std::string& command, const std::string& inputs,
                           const std::string& outputs);

}  // namespace tenon::tools
