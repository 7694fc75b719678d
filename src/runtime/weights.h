// SPDX-License-Identifier: Apache-2.0
// The weights file of a model: found, mapped read-only, checked against the library it belongs to.
#pragma once

#include "runtime/model.h"
#include "tenon/runtime.h"

namespace tenon::runtime {

struct Weights {
  const char* data = nullptr;  // the first weight; null when the model has none
  void* mapping = nullptr;     // null: the caller's memory
  size_t mapping_bytes = 0;
};

// False with a sentence of kSentenceBytes if the file is not there, is not the one of this library, or was changed since.
// `threads` sum it up; null: the calling thread does.
bool open_weights(const tenon_model_options& options, const tenon_runtime* threads,
                  Weights& weights, char* sentence);
void close_weights(const Weights& weights);

}  // namespace tenon::runtime
