// SPDX-License-Identifier: Apache-2.0
// Whether this build has what trains the models treegru and tlp.
#pragma once

#include <string_view>

namespace tenon::cost {

inline constexpr const char* kNoTreeTrainer =
    "this build has no plug-in tenon-torch: it has sanitizers, or libtorch-dev is not installed";

inline bool is_trained_by_plug_in(std::string_view model) {
  return model == "treegru" || model == "tlp";
}

inline bool has_tree_trainer() {
#ifdef TENON_HAS_TORCH
  return true;
#else
  return false;
#endif
}

}  // namespace tenon::cost
