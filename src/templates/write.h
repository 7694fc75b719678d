// SPDX-License-Identifier: Apache-2.0
// What several writers do beside the steps of their own.
#pragma once

#include <string>
#include <vector>

#include "templates/template.h"

namespace tenon::templates {

// The layouts asked for the inputs that are not in `done`; constants stay the template's.
void store_fixed_inputs(space::Builder& b, const Request& request,
                        const std::vector<std::string>& done = {});

// A stage that a step made besides the one that it returns; none where a step was refused.
//   variant C bfloat16  =>  made(b, "C.h")
space::StageRef made(const space::Builder& b, std::string_view name);

// Families that others hand a dag on to.
std::optional<Written> write_rows(space::Builder& b, const Request& request);
std::optional<Written> write_plain(space::Builder& b, const Request& request);

}  // namespace tenon::templates
