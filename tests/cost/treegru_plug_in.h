// SPDX-License-Identifier: Apache-2.0
// Whether this build has what trains the model treegru.
#pragma once

namespace tenon::cost {

inline constexpr const char* kNoTreeTrainer =
    "this build has no plug-in tenon-torch: it has sanitizers, or libtorch-dev is not installed";

inline bool has_tree_trainer() {
#ifdef TENON_HAS_TORCH
  return true;
#else
  return false;
#endif
}

}  // namespace tenon::cost
