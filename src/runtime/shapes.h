// SPDX-License-Identifier: Apache-2.0
// Shapes of inputs against what the model takes. The same wherever it runs.
//
//   x: batch x 3 with batch 1..8     {5, 3}  =>  batch = 5
//                                    {9, 3}  =>  "input 'x' takes batch x 3, where batch is 1..8: not 9 x 3"
#pragma once

#include "runtime/model.h"

namespace tenon::runtime {

// Writes the sizes that the shape has for open dimensions to `sizes` (by dimension) and leaves the others. False with a
// sentence of kSentenceBytes, and nothing written, if it is none that the input takes. An axis that is computed may have
// every size that dimensions can give it: those that this input does not have may be set later.
bool read_sizes(int32_t input, const int64_t* shape, int32_t rank, int64_t* sizes, char* sentence);

// The size of a computed axis.
int64_t size_of(const tenon_model_sum& sum, const int64_t* sizes);

// The answer of set_shape to a shape that is refused.
int refuse_shape(const char* sentence, const char** why);

}  // namespace tenon::runtime
