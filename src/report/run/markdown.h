// SPDX-License-Identifier: Apache-2.0
// The story of a run as Markdown: verdicts, tables, failures, the winning loop nests.
#pragma once

#include <string>

#include "report/run/story.h"

namespace tenon::report {

std::string to_markdown(const RunStory& run);

}  // namespace tenon::report
