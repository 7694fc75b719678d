// SPDX-License-Identifier: Apache-2.0
#include "value/decisions.h"

#include <utility>

namespace tenon::value {

int64_t algorithm_of(const Decisions& decisions) {
  for (const Decision& d : decisions) {
    if (d.hole.kind == space::HoleKind::kAlgorithm) return d.value;
  }
  return 0;
}

Result<Look> look_at(const space::Space& space, std::span<const space::Choice> made) {
  space::Prefix prefix(made);
  Watch watch(prefix);
  auto program = space.write(watch);
  if (!program) return program.illegal();
  if (!prefix.fits()) return Illegal{.code = IllegalCode::kBadFactor};
  return Look{std::move(program.value()), watch.take(), made.size()};
}

}  // namespace tenon::value
