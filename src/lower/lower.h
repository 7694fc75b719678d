// SPDX-License-Identifier: Apache-2.0
// State -> ir::Function in Dialect::kFlat, ready for a backend.
//
//   auto f = lower(state);        // Result: a program that does not fit the target is refused here
//   auto packed = pack_inputs(state, inputs);
#pragma once

#include <vector>

#include "ir/interp.h"
#include "lower/pass.h"
#include "schedule/bounds.h"
#include "schedule/state.h"

namespace tenon::lower {

Result<ir::Function> lower(const schedule::State& s, const RunOptions& options = {});
// The same of a program that was found to fit (schedule::check_program), with its bounds: nothing is left to refuse.
ir::Function lower(const schedule::State& s, const schedule::Bounds& bounds,
                   const RunOptions& options = {});

// Logical inputs, one per input of the dag, as the parameters that the function takes: re-laid, padded with zeros,
// guests of store_at inside their hosts.
std::vector<ir::Array> pack_inputs(const schedule::State& s, const std::vector<ir::Array>& inputs);
// Empty arrays for the outputs in storage form, and storage form back to logical.
std::vector<ir::Array> make_outputs(const schedule::State& s);
std::vector<ir::Array> unpack_outputs(const schedule::State& s,
                                      const std::vector<ir::Array>& outputs);

// Runs a lowered function of `s` in the interpreter: logical inputs in, logical outputs out.
std::vector<ir::Array> interpret(const schedule::State& s, const ir::Function& f,
                                 const std::vector<ir::Array>& inputs);

}  // namespace tenon::lower
