// SPDX-License-Identifier: Apache-2.0
// How each model is made; models.cpp has the table. And what they share.
#pragma once

#include "cost/model.h"

namespace tenon::cost {

std::unique_ptr<CostModel> make_random_model(uint64_t seed, int threads);
std::unique_ptr<CostModel> make_xgb_model(uint64_t seed, int threads);

// Uniform in [0, 1), from the candidate's features: no generator whose state would depend on who asks first.
float random_score(uint64_t seed, const Features& candidate);

// A saved model is a line "tenon cost model 1 NAME HASH" and then what the model writes.
std::string saved(std::string_view model, const std::string& body);
// Returns the rest; throws UserError if the line is not the model's.
std::string body_of_saved(std::string_view model, const std::string& bytes);

}  // namespace tenon::cost
