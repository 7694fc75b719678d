// SPDX-License-Identifier: Apache-2.0
// What the open dimensions of inputs are likely to be, for defaults and for proposals.
//
//   images: N x 3 x ? x ?, f32        batch, 3, 224, 224
//   input_ids: batch x seq, i64       batch, 128
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/import.h"
#include "support/size_sum.h"

namespace tenon::onnx {

// Some axes have no size of their own: one is called "past + 1" where another is called "past".
using ComputedDims = std::map<std::string, SizeSum>;
ComputedDims computed_dims(const std::vector<StatedInput>& inputs);
// Throws RequestError where a size is given to a computed one.
void refuse_computed(const ComputedDims& computed, const std::string& name);

// Whether an open axis counts items that are computed alike: the first one, unless its name says otherwise.
bool looks_like_batch(const StatedInput& input, size_t axis);

// A size that makes sense for the kind of input.
int64_t likely_size(const StatedInput& input, size_t axis);

// "batch x 3 x ?", "?x3" where no axis has a name, or "of any shape".
std::string stated_shape(const StatedInput& input);

// Options that would give sizes to all that is open, as a shell reads them: "--dims batch=1..8,seq=128 --shape
// x:1x3x224x224". Empty: nothing is.
std::string proposed_options(const std::vector<StatedInput>& inputs, const ImportOptions& given);

}  // namespace tenon::onnx
