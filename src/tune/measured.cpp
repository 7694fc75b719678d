// SPDX-License-Identifier: Apache-2.0
#include "tune/measured.h"

#include <limits>

#include "support/check.h"

namespace tenon::tune {

double seconds_of(const task::Measurement& m) {
  return has_time(m) ? m.median_s : std::numeric_limits<double>::infinity();
}

space::Choices read_choices(const std::string& json) {
  try {
    return json.empty() ? space::Choices{} : space::choices_from_json(json);
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace tenon::tune
