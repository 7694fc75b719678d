// SPDX-License-Identifier: Apache-2.0
// Options of contexts as callers of any version hand them over.
//
//   a caller of an earlier version: { size, threads, weights_path }          => the fields that it does not know are zero
//   a caller of a later version:    { size, threads, ..., something new }    => refused unless that is zero
#pragma once

#include "runtime/model.h"

namespace tenon::runtime {

// False with a sentence of kSentenceBytes if they cannot be understood. NULL: the defaults.
bool read_options(const tenon_model_options* given, tenon_model_options& options, char* sentence);

}  // namespace tenon::runtime
