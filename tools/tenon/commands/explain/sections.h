// SPDX-License-Identifier: Apache-2.0
// What `tenon explain --show` can show of one program, a section each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/tenon/json.h"
#include "tools/tenon/program.h"

namespace tenon::tools {

inline constexpr std::string_view kSectionNames =
    "te, trace, loops, ir, pass:NAME, llvm, llvm-opt, asm, ptx, sass, launches, summary, accuracy";
inline constexpr std::string_view kLayouts = "layouts";  // of a whole model, not of a task

// Throws UserError for a name that is none. This comes before anything is read or compiled, so that
// a wrong name is not passed over where tasks are only listed.
void check_sections(const std::vector<std::string>& names);

// Text is a JSON string; some sections are objects if `json` is set.
Json show_section(const Program& program, const std::string& name, bool json);

}  // namespace tenon::tools
