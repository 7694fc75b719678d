// SPDX-License-Identifier: Apache-2.0
// The plug-in tenon-torch trains networks; a build with sanitizers, or without libtorch-dev, does not have it.
#pragma once

#include <string_view>

namespace tenon::cost {

inline constexpr const char* kNoTorch =
    "this build has no plug-in tenon-torch: it has sanitizers, or libtorch-dev is not installed";

inline bool is_trained_by_plug_in(std::string_view model) {
  return model == "treegru" || model == "tlp";
}

inline bool has_torch() {
#ifdef TENON_HAS_TORCH
  return true;
#else
  return false;
#endif
}

}  // namespace tenon::cost
