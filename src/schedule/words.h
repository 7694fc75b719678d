// SPDX-License-Identifier: Apache-2.0
// The words that traces and loop nests use for scopes, thread dimensions and intrinsics.
#pragma once

#include <optional>
#include <string_view>

#include "ir/ir.h"
#include "schedule/algorithms/algorithms.h"
#include "schedule/dots.h"

namespace tenon::schedule {

std::string_view word(ir::Scope s);      // "global", "shared", "local", "register"
std::string_view word(ir::ThreadTag t);  // "thread_x", "block_y", ...
std::string_view word(Dot d);            // "dot_u8i8", ...
std::string_view word(Algorithm a);      // "winograd2", ...
std::optional<ir::Scope> parse_scope(std::string_view w);
std::optional<ir::ThreadTag> parse_tag(std::string_view w);
std::optional<Dot> parse_dot(std::string_view w);
std::optional<Algorithm> parse_algorithm(std::string_view w);

}  // namespace tenon::schedule
