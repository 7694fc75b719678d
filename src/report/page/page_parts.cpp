// SPDX-License-Identifier: Apache-2.0
#include "report/page/page_parts.h"

#include "support/embed.h"

TENON_EMBED(page_css, TENON_HERE "/page.css");
TENON_EMBED(page_js, TENON_HERE "/page.js");

namespace tenon::report {

std::string_view page_style() { return TENON_EMBEDDED(page_css); }
std::string_view page_script() { return TENON_EMBEDDED(page_js); }

}  // namespace tenon::report
