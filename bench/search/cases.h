// SPDX-License-Identifier: Apache-2.0
// The tasks that the search is judged by. Known ones are of the kinds that the benchmark's networks
// have; held-out ones come from networks that are none of them, and nothing may be trained on these.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "task/task.h"
#include "te/ops.h"

namespace tenon::search {

enum class CaseGroup : uint8_t { kOther, kKnown, kHeldOut };
std::string to_string(CaseGroup g);  // "other", "known", "held-out"

struct Case {
  const char* name;
  CaseGroup group;
  void (*build)(te::Builder& b);
};
std::span<const Case> cases();

// A case by name, or a tensor expression by the name of its file (*.te). `plain`: edges are row-major, otherwise as the
// template that fits would have them inside a network. Throws UserError.
task::Task make_case(const std::string& name, const target::Target& target, bool plain);

}  // namespace tenon::search
