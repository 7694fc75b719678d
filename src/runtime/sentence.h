// SPDX-License-Identifier: Apache-2.0
// Sentences that say why something could not be done, in memory that nobody has to free.
#pragma once

#include "runtime/atomic.h"

namespace tenon::runtime {

inline constexpr size_t kSentenceBytes = 1024;
inline constexpr uint32_t kSentences = 16;  // as the header of models promises

// A fresh one; the one given kSentences calls ago is used again. The only state that contexts share.
char* next_sentence();

// Keeps a sentence of kSentenceBytes for the user, unless `why` is null.
void tell_why(const char* sentence, const char** why);

}  // namespace tenon::runtime
