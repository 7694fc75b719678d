// SPDX-License-Identifier: Apache-2.0
// Manifests as nobody wrote them.
//
//   {"inputs": [{"shape": [3, 17], ...   =>   {"inputs": [{"shape": [3, 9223372036854775807], ...
#pragma once

#include <string>
#include <vector>

#include "support/rng.h"

namespace tenon::artifact {

struct Mutation {
  std::string text;
  std::string what;  // for people
};

// One change of `manifest`, or one of the `others` in its place.
Mutation mutate_manifest(const std::string& manifest, const std::vector<std::string>& others,
                         Rng& rng);

}  // namespace tenon::artifact
