// SPDX-License-Identifier: Apache-2.0
// The rows of the table in templates.cpp.
#pragma once

#include "templates/template.h"

namespace tenon::templates {

std::optional<Plan> plan_winograd(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_strassen(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_im2col(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_conv(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_tiled(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_conv_bfloat16(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_depthwise(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_pair(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_conv_transpose(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_matmul(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_matmul_bfloat16(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_attention(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_contraction(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_pool(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_rows(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_reduce_all(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_elementwise(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_fused(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_plain(const schedule::State& initial, const Request& request);
std::optional<Plan> plan_none(const schedule::State& initial, const Request& request);

}  // namespace tenon::templates
