// SPDX-License-Identifier: Apache-2.0
// The first step of a kind in a trace for which `fits` holds; null if there is none.
//
//   find_step<schedule::Split>(trace, [&](const auto& s) { return s.stage == stage; })
#pragma once

#include "schedule/trace.h"

namespace tenon::search {

template <class Kind, class Fits>
const Kind* find_step(const schedule::Trace& trace, const Fits& fits) {
  for (const schedule::Step& step : trace) {
    const auto* found = std::get_if<Kind>(&step);
    if (found != nullptr && fits(*found)) return found;
  }
  return nullptr;
}

}  // namespace tenon::search
