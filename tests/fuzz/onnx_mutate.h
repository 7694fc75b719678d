// SPDX-License-Identifier: Apache-2.0
// Damaged model files: bytes (flipped, cut, doubled) and messages (fields of the parsed model changed, moved,
// repeated, dropped; names exchanged, which makes cycles and missing tensors).
#pragma once

#include <string>
#include <vector>

#include "support/rng.h"

namespace tenon::fuzz {

// `others`: models that parts may be taken from; at least one.
std::string mutate_model(const std::string& model, const std::vector<std::string>& others,
                         Rng& rng);

}  // namespace tenon::fuzz
