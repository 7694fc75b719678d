// SPDX-License-Identifier: Apache-2.0
// Which algorithm a template computes by: the one that is asked for, or the one that is estimated
// to be fastest.
#pragma once

#include <optional>

#include "schedule/algorithms/algorithms.h"
#include "support/function_ref.h"
#include "templates/template.h"

namespace tenon::templates {

// Time in flops of one core. `bytes` are weights, which come from memory that all cores share;
// loading hides behind computing in part.
double overlapped(double flops, double bytes, const target::Cpu& t);

// Nothing: the direct algorithm. `cost_of` is time as above, nothing for an algorithm that the
// template does not know; one that is not asked for must take less than `worth_it` of the time
// `direct`.
std::optional<schedule::Algorithm> choose_algorithm(
    const Request& request, double direct, double worth_it,
    FunctionRef<std::optional<double>(schedule::Algorithm)> cost_of);

// Sums of products may be taken in bfloat16, and the target has instructions for it.
bool takes_bfloat16(const Request& request, const target::Cpu& t);
// Time of the direct algorithm, against that in float32.
double direct_share(const Request& request, const target::Cpu& t);

}  // namespace tenon::templates
