// SPDX-License-Identifier: Apache-2.0
// The machine that a fingerprint names: records say no more of the one that they were measured on.
//
//   const auto t = target_of_fingerprint(other.fingerprint());
//   t->fingerprint() == other.fingerprint();     // with the same rates, where its processor is known
#pragma once

#include <optional>
#include <string>

#include "target/target.h"

namespace tenon::target {

// Nothing for what is no fingerprint of a target that this program knows.
std::optional<Target> target_of_fingerprint(const std::string& text);

// Makes the target's processor the one that names itself so ("AuthenticAMD 25/17/1"), with what is known of it.
void set_machine(Target& t, const std::string& machine);

}  // namespace tenon::target
