// SPDX-License-Identifier: Apache-2.0
// The part of the C interface of compiled models that is the same wherever they run. What these functions declare is
// defined once for CPUs (context.cpp) and once for GPUs (cuda/context.cpp); a library has one of them.
#pragma once

#include "runtime/model.h"

namespace tenon::runtime {

// Memory that a context works in; never 0.
size_t workspace_bytes();

// Null with a sentence of kSentenceBytes if it cannot be done.
tenon_model_ctx* create_context(const tenon_model_options& options, char* sentence);
void destroy_context(tenon_model_ctx* ctx);

// What set_shape answers, besides what run does.
inline constexpr int kRefusedShape = 7;
inline constexpr const char* kRefusedShapeText =
    "nothing was changed: the shape is none that the input takes";

// A run answers this when its inputs were set to shapes that contradict each other.
inline constexpr const char* kContraryText =
    "nothing was run: the shape that an input was set to is computed of sizes that are not set now";

// What use_target answers.
inline constexpr int kRefusedTarget = 8;
inline constexpr const char* kRefusedTargetText =
    "nothing was changed: the library cannot run this target here and now";

// True if a tensor that has bytes has no pointer.
bool has_null(const void* const* pointers, const tenon_model_tensor* tensors, int32_t count);

}  // namespace tenon::runtime
