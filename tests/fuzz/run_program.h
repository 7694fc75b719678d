// SPDX-License-Identifier: Apache-2.0
// Runs a scheduled dag and compares it with the reference.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "ir/interp.h"
#include "schedule/state.h"

namespace tenon::fuzz {

// Compiled code on logical inputs. Every buffer ends at 64 guard bytes that must survive, outputs start out as
// garbage; throws InternalError if a guard was overwritten.
std::vector<ir::Array> run_kernel(const schedule::State& s, const ir::Function& f,
                                  const backend::Kernel& kernel,
                                  const std::vector<ir::Array>& inputs,
                                  const tenon_runtime* runtime = nullptr);

// Lowers `s` (verifying after each pass), interprets it on `inputs` and compares with `expected`; with a compiler,
// runs compiled code too. Empty, or what went wrong. A program that the target refuses counts as right: `refused`
// is set. With every_pass, what each pass leaves is interpreted, so that a wrong one is named.
struct Outcome {
  std::string problem;
  bool refused = false;
};
Outcome check_program(const schedule::State& s, const std::vector<ir::Array>& inputs,
                      const std::vector<ir::Array>& expected, backend::Compiler* compiler = nullptr,
                      bool every_pass = false);

}  // namespace tenon::fuzz
