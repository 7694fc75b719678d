// SPDX-License-Identifier: Apache-2.0
#include "runtime/interface.h"

#include <string.h>

#include "runtime/levels.h"
#include "runtime/options.h"
#include "runtime/sentence.h"

namespace tenon::runtime {

bool has_null(const void* const* pointers, const tenon_model_tensor* tensors, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (tensors[i].bytes > 0 && (pointers == nullptr || pointers[i] == nullptr)) {
      return true;
    }
  }
  return false;
}

char* next_sentence() {
  static char sentences[kSentences][kSentenceBytes];
  static Atomic<uint32_t> next{0};
  return sentences[next.fetch_add(1) % kSentences];
}

void tell_why(const char* sentence, const char** why) {
  if (why != nullptr) {
    char* kept = next_sentence();
    memcpy(kept, sentence, kSentenceBytes);
    *why = kept;
  }
}

}  // namespace tenon::runtime

extern "C" {

tenon_model_ctx* tenon_model_create_with(const tenon_model_options* options, const char** why) {
  using namespace tenon::runtime;
  char sentence[kSentenceBytes] = "";
  tenon_model_options known;
  tenon_model_ctx* ctx =
      read_options(options, known, sentence) ? create_context(known, sentence) : nullptr;
  if (ctx != nullptr) {
    context_created();
  } else {
    tell_why(sentence, why);
  }
  return ctx;
}

tenon_model_ctx* tenon_model_create(int32_t threads, const char** why) {
  tenon_model_options options{};
  options.size = sizeof options;
  options.threads = threads;
  return tenon_model_create_with(&options, why);
}

void tenon_model_destroy(tenon_model_ctx* ctx) {
  if (ctx != nullptr) {
    tenon::runtime::destroy_context(ctx);
    tenon::runtime::context_destroyed();
  }
}

#define TENON_TEXT_OF(x) #x
#define TENON_TEXT(x) TENON_TEXT_OF(x)

int32_t tenon_model_interface(void) { return TENON_MODEL_INTERFACE; }
const char* tenon_model_version(void) {
  return "tenon " TENON_TEXT(TENON_RELEASE) ", interface " TENON_TEXT(TENON_MODEL_INTERFACE);
}
int32_t tenon_model_input_count(void) { return tenon_model.input_count; }
int32_t tenon_model_output_count(void) { return tenon_model.output_count; }

const tenon_model_tensor* tenon_model_input(int32_t i) {
  return i >= 0 && i < tenon_model.input_count ? &tenon_model.inputs[i] : nullptr;
}

const tenon_model_tensor* tenon_model_output(int32_t i) {
  return i >= 0 && i < tenon_model.output_count ? &tenon_model.outputs[i] : nullptr;
}

int32_t tenon_model_dim_count(void) { return tenon_model.dim_count; }

const tenon_model_dim* tenon_model_dimension(int32_t i) {
  return i >= 0 && i < tenon_model.dim_count ? &tenon_model.dims[i] : nullptr;
}

size_t tenon_model_workspace_bytes(void) { return tenon::runtime::workspace_bytes(); }

size_t tenon_model_weights_bytes(void) {
  const auto bytes = static_cast<size_t>(tenon_model.weights_bytes);
  return bytes > 0 && tenon_model.weights == nullptr
             ? bytes + sizeof(tenon::runtime::WeightsTrailer)
             : 0;
}

int32_t tenon_model_step_count(void) { return tenon_model.step_count; }

const char* tenon_model_step_name(int32_t step) {
  return step >= 0 && step < tenon_model.step_count ? tenon_model.steps[step].name : nullptr;
}

const char* tenon_model_manifest(void) { return tenon_model.manifest; }

}  // extern "C"
