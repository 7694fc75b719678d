// SPDX-License-Identifier: Apache-2.0
// The story of a run as one page: no other file, no network, readable without script, on paper and in the dark.
#pragma once

#include <string>

#include "report/run/story.h"

namespace tenon::report {

std::string to_html(const RunStory& run);

}  // namespace tenon::report
