// SPDX-License-Identifier: Apache-2.0
// The tables that cases() is made of, one for the families of a kind, and how their rows are written.
#pragma once

#include "te/ops.h"
#include "templates/cases.h"

namespace tenon::templates {

std::vector<Case> conv_cases();
std::vector<Case> product_cases();
std::vector<Case> row_cases();
std::vector<Case> pool_cases();
std::vector<Case> map_cases();
std::vector<Case> typed_cases();  // every type that a family can be written in
// Sizes of real networks, too large for the interpreter.
std::vector<Case> network_cases();

// One operator on one input.
Case unary(const std::string& family, const std::string& name, const std::vector<int64_t>& shape,
           const std::function<te::Tensor(te::Builder&, const te::Tensor&)>& op);
// As text that te::parse reads.
Case parsed(const std::string& family, const std::string& name, const std::string& text);

}  // namespace tenon::templates
