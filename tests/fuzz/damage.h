// SPDX-License-Identifier: Apache-2.0
// Text as bad disks, hasty editors and strangers leave it: lines gone, doubled or swapped, numbers and words changed, the
// end cut off, bytes flipped.
#pragma once

#include <string>

#include "support/rng.h"

namespace tenon::fuzz {

// One to three changes.
std::string damage_text(std::string text, Rng& rng);

}  // namespace tenon::fuzz
