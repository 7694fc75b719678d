// SPDX-License-Identifier: Apache-2.0
// The rows of the table in templates.cpp.
#pragma once

#include "templates/template.h"

namespace tenon::templates {

std::optional<Plan> plan_conv(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_depthwise(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_conv_transpose(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_matmul(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_contraction(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_rows(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_reduce_all(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_elementwise(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_plain(const te::ComputeDag& dag, const target::Target& target);
std::optional<Plan> plan_none(const te::ComputeDag& dag, const target::Target& target);

}  // namespace tenon::templates
