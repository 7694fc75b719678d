// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.h"

#include <stdio.h>
#include <string.h>

#include "runtime/sentence.h"

namespace tenon::runtime {
namespace {

constexpr size_t kKnown = sizeof(tenon_model_options);
// No version had options of more than some hundred bytes: what says so was never set.
constexpr size_t kMost = 4096;

// A field that this library does not know says something.
bool asks_for_more(const tenon_model_options* given) {
  const char* bytes = reinterpret_cast<const char*>(given);
  for (size_t i = kKnown; i < given->size; ++i) {
    if (bytes[i] != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool read_options(const tenon_model_options* given, tenon_model_options& options, char* sentence) {
  options = {};
  if (given == nullptr) {
    return true;
  }
  if (given->size <= sizeof given->size || given->size > kMost) {
    snprintf(sentence, kSentenceBytes,
             "the options do not say their size: set their first field to sizeof(%s_options)",
             tenon_model.name);
    return false;
  }
  if (asks_for_more(given)) {
    snprintf(sentence, kSentenceBytes,
             "the options set something that this library of %s does not know: leave it zero, or "
             "compile the model again",
             tenon_model_version());
    return false;
  }
  memcpy(&options, given, given->size < kKnown ? given->size : kKnown);
  return true;
}

}  // namespace tenon::runtime
