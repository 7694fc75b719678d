// SPDX-License-Identifier: Apache-2.0
// The story of a run as one JSON document, schema tenon.report/1. What is not known is null.
#pragma once

#include <string>

#include "report/run/story.h"

namespace tenon::report {

std::string to_json(const RunStory& run);

}  // namespace tenon::report
