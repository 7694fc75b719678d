// SPDX-License-Identifier: Apache-2.0
// The choices that lead a skeleton to a given trace. The skeleton is run with a guess. Where a choice stands in a step as
// it is, the trace tells its value; other choices are tried in the order in which they are asked for. What was written
// before a question depends on the earlier answers alone, so that a wrong answer is found out at the next question.
#pragma once

#include <optional>

#include "space/space.h"

namespace tenon::space {

std::optional<Choices> recognise(const Skeleton& skeleton, const schedule::State& initial,
                                 const schedule::Trace& trace);

}  // namespace tenon::space
