// SPDX-License-Identifier: Apache-2.0
// Rules as small trees, parsed from their text (see rules.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace tenon::arith {

struct RuleNode {
  enum Kind : uint8_t { kLetter, kNumber, kTruth, kBinary, kNot, kSelect } kind;
  ir::BinaryOp op = ir::BinaryOp::kAdd;
  int64_t value = 0;  // letter, number or truth value
  int a = -1, b = -1, c = -1;
};

using RulePool = std::vector<RuleNode>;

// Adds the nodes of `text` to the pool and gives the root. Malformed text is our bug.
int parse_rule(std::string_view text, RulePool& pool);

}  // namespace tenon::arith
