// SPDX-License-Identifier: Apache-2.0
// The parts of the page that are about what is decided before loops are tuned: pairs of convolutions, and layouts: which
// were tried for each operator, what the networks took, and pictures.
#pragma once

#include <string>

#include "report/run/story.h"

namespace tenon::report {

// A section; empty if no pair was tried.
std::string pairs_section(const RunStory& run);
// A section; empty if layouts were neither searched nor is there a picture.
std::string layouts_section(const RunStory& run);

}  // namespace tenon::report
