// SPDX-License-Identifier: Apache-2.0
// The choices that lead a skeleton to a given trace. The skeleton is run with a guess. Holes may say how a trace shows
// their value; a choice that stands in a step as it is can be read from there; the others are tried in the order of
// asking. What was written before a question depends on the earlier answers alone, so that a wrong answer is found out
// at the next question.
#pragma once

#include <optional>

#include "space/space.h"

namespace tenon::space {

std::optional<Choices> recognise(const Skeleton& skeleton, const schedule::State& initial,
                                 const schedule::Trace& trace);

}  // namespace tenon::space
