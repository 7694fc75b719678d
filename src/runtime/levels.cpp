// SPDX-License-Identifier: Apache-2.0
#include "runtime/levels.h"

#include <stdio.h>
#include <string.h>

#include "runtime/atomic.h"
#include "runtime/cpu_check.h"
#include "runtime/interface.h"
#include "runtime/sentence.h"

namespace tenon::runtime {
namespace {

Atomic<int32_t> contexts{0};

// The table of a library with levels lies in memory that can be written; that of others is not touched.
void use(const tenon_model_table& level) {
  auto* to = const_cast<tenon_model_table*>(&tenon_model);
  __asm__(
      ""
      : "+r"(to));  // everybody else takes the table for constant, and so would the compiler here
  memcpy(to, &level, sizeof level);
}

// The best comes last. Where the CPU has none of them the first stays, and creating a context says what is missing.
[[gnu::constructor]] void choose_level() {
  char ignored[kSentenceBytes];
  for (int64_t i = tenon_model.level_count; i-- > 0;) {
    const tenon_model_table& level = *tenon_model.levels[i];
    if (check_cpu(level.needs, ignored, sizeof ignored)) {
      use(level);
      return;
    }
  }
}

const tenon_model_table* find_level(const char* target) {
  for (int64_t i = 0; i < tenon_model.level_count; ++i) {
    if (strcmp(tenon_model.levels[i]->target, target) == 0) {
      return tenon_model.levels[i];
    }
  }
  return nullptr;
}

int refuse(const char** why, const char* sentence) {
  if (why != nullptr) {
    char* kept = next_sentence();
    snprintf(kept, kSentenceBytes, "%s", sentence);
    *why = kept;
  }
  return kRefusedTarget;
}

}  // namespace

void context_created() { contexts.fetch_add(1); }
void context_destroyed() { contexts.fetch_add(-1); }

}  // namespace tenon::runtime

extern "C" {

const char* tenon_model_target(void) { return tenon_model.target; }

int tenon_model_use_target(const char* target, const char** why) {
  using namespace tenon::runtime;
  char sentence[kSentenceBytes];
  if (target == nullptr || strcmp(target, tenon_model.target) == 0) {
    return 0;
  }
  const tenon_model_table* level = find_level(target);
  if (level == nullptr) {
    snprintf(sentence, sizeof sentence, "this library has no code for %s", target);
    return refuse(why, sentence);
  }
  if (contexts.acquire() != 0) {
    return refuse(why, "the target can be changed only while there is no context");
  }
  if (!check_cpu(level->needs, sentence, sizeof sentence)) {
    return refuse(why, sentence);
  }
  use(*level);
  return 0;
}

}  // extern "C"
