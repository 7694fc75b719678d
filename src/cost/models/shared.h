// SPDX-License-Identifier: Apache-2.0
// Models share these functions.
#pragma once

#include "cost/model.h"

namespace tenon::cost {

// Uniform in [0, 1), from what the model sees of a candidate: no generator whose state would depend
// on who asks first.
float random_score(uint64_t seed, const Row& candidate);

// A saved model is a line "tenon cost model 3 NAME", a line with the hash of the rest, and then
// what the model writes: libraries that read models trust their input.
std::string saved(std::string_view model, const std::string& body);
// Returns the rest; throws UserError if the line is not the model's.
std::string body_of_saved(std::string_view model, const std::string& bytes);
// Returns what stands behind the line `columns` with which the body begins; throws UserError also if
// the model was trained on others.
std::string body_behind(const std::string& columns, std::string_view model,
                        const std::string& bytes);
// Throws UserError: bytes that no model writes.
[[noreturn]] void refuse_damaged_model();

}  // namespace tenon::cost
