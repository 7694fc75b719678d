// SPDX-License-Identifier: Apache-2.0
// Sizes of attention as one kernel, asked for with rules that know the card.
#pragma once

#include "space/builder.h"
#include "te/attention.h"

namespace tenon::templates::gpu {

struct AttentionSizes {
  // Of a thread: columns of the result, rows of it and of the scores, columns of the scores.
  space::Value width = 1, rows = 1, columns = 1;
  space::Value row_threads = 1;  // along the rows
  int64_t threads = 1;           // along the columns: enough for all of the result's
  space::Value depth = 1;        // rows of V at a time
  space::Value pipeline = 0;     // 1: pieces of K and V are fetched ahead
};

AttentionSizes ask_sizes(space::Builder& b, const te::Attention& a, space::StageRef out);

}  // namespace tenon::templates::gpu
