// SPDX-License-Identifier: Apache-2.0
// The part of the page that is about layouts: which were tried for each operator, what the networks took, and pictures.
#pragma once

#include <string>

#include "report/story.h"

namespace tenon::report {

// A section; empty if layouts were neither searched nor is there a picture.
std::string layouts_section(const RunStory& run);

}  // namespace tenon::report
