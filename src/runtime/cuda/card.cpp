// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/card.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/weights.h"

namespace tenon::runtime::cuda {
namespace {

constexpr uint32_t kPlainSharedBytes = 48 << 10;  // more must be asked for

struct Log {
  char text[512] = "";
};

Status load(const Driver& driver, const void* image, Module* module, Log& log) {
  JitOption options[] = {kJitErrorLogBuffer, kJitErrorLogBufferBytes};
  void* values[] = {log.text, nullptr};
  const size_t bytes = sizeof log.text - 1;
  memcpy(&values[1], &bytes, sizeof bytes);  // numbers are given in the place of pointers
  return driver.ModuleLoadDataEx(module, image, 2, options, values);
}

bool is_for_another_card(Status status) {
  return status == kNoBinaryForGpu || status == kInvalidImage || status == kInvalidPtx;
}

constexpr int32_t kOldestMajor = 8;  // of cards that code can be made for

bool refuse_code(const Card& card, Status status, const Log& log, char* sentence) {
  if (is_for_another_card(status)) {
    char hint[64] = "code is made for cards from sm_80 on";
    if (card.major >= kOldestMajor) {
      snprintf(hint, sizeof hint, "compile it with --target \"cuda sm_%d%d\"", card.major,
               card.minor);
    }
    snprintf(sentence, kSentenceBytes,
             "the library %s was compiled for %s, and the card %d (%s) cannot run that: %s%s%s",
             tenon_model.name, tenon_cuda.processor, card.number, card.name, hint,
             log.text[0] != 0 ? "; the driver says: " : "", log.text);
    return false;
  }
  if (status == kUnsupportedPtxVersion) {
    snprintf(sentence, kSentenceBytes,
             "the CUDA driver (version %d.%d) is too old for the code of the library %s",
             card.driver->version / 1000, card.driver->version % 1000 / 10, tenon_model.name);
    return false;
  }
  return refuse(card, status, "kernels cannot be loaded", sentence);
}

// Machine code where it is for this card; the driver compiles PTX for others, which takes it longer.
bool load_module(Card& card, int32_t i, char* sentence) {
  const tenon_cuda_module& from = tenon_cuda.modules[i];
  Log log;
  Status status = kNoBinaryForGpu;
  if (from.image != nullptr) {
    status = load(*card.driver, from.image, &card.modules[i], log);
  }
  if (is_for_another_card(status) && from.ptx != nullptr) {
    log.text[0] = 0;
    status = load(*card.driver, from.ptx, &card.modules[i], log);
  }
  return status == kSuccess || refuse_code(card, status, log, sentence);
}

bool find_function(Card& card, int32_t i, char* sentence) {
  const tenon_cuda_launch& launch = tenon_cuda.launches[i];
  const Driver& driver = *card.driver;
  Function& function = card.functions[i];
  Status status = driver.ModuleGetFunction(&function, card.modules[launch.module], launch.symbol);
  if (status == kSuccess && launch.shared_bytes > kPlainSharedBytes) {
    status = driver.FuncSetAttribute(function, kFunctionMaxDynamicSharedBytes,
                                     static_cast<int32_t>(launch.shared_bytes));
  }
  if (status != kSuccess) {
    char what[256];
    snprintf(what, sizeof what, "the kernel %.128s with %u bytes of shared memory cannot be used",
             launch.symbol, launch.shared_bytes);
    return refuse(card, status, what, sentence);
  }
  return true;
}

bool load_kernels(Card& card, char* sentence) {
  for (int32_t i = 0; i < tenon_cuda.module_count; ++i) {
    if (!load_module(card, i, sentence)) {
      return false;
    }
  }
  for (int32_t i = 0; i < tenon_cuda.launch_count; ++i) {
    if (!find_function(card, i, sentence)) {
      return false;
    }
  }
  return true;
}

// The bytes have left the host when the first call returns, and have arrived when the second one does: streams of contexts
// do not wait for the stream that the copy is on.
Status copy_to_card(const Card& card, DevicePointer to, const void* from, size_t bytes) {
  const Status status = card.driver->MemcpyHtoD(to, from, bytes);
  return status == kSuccess ? card.driver->CtxSynchronize() : status;
}

bool upload_weights(Card& card, const tenon_model_options& options, char* sentence) {
  if (tenon_model.weights_bytes == 0) {
    return true;
  }
  Weights weights;
  const auto bytes = static_cast<size_t>(tenon_model.weights_bytes);
  bool done = open_weights(options, nullptr, weights, sentence) &&
              allocate(card, bytes, "the weights", &card.weights, sentence);
  if (done) {
    const Status status = copy_to_card(card, card.weights, weights.data, bytes);
    done =
        status == kSuccess || refuse(card, status, "the weights cannot be copied to it", sentence);
  }
  close_weights(weights);
  return done;
}

bool find_device(Card& card, char* sentence) {
  const Driver& driver = *card.driver;
  int32_t count = 0;
  driver.DeviceGetCount(&count);
  if (card.number < 0 || card.number >= count) {
    snprintf(sentence, kSentenceBytes, "there is no card %d: the CUDA driver finds %d, from 0 on",
             card.number, count);
    return false;
  }
  const Status status = driver.DeviceGet(&card.device, card.number);
  if (status != kSuccess) {
    return refuse(card, status, "it cannot be used", sentence);
  }
  char name[kNameBytes - 16] = "";
  driver.DeviceGetName(name, sizeof name - 1, card.device);
  driver.DeviceGetAttribute(&card.major, kComputeCapabilityMajor, card.device);
  driver.DeviceGetAttribute(&card.minor, kComputeCapabilityMinor, card.device);
  snprintf(card.name, sizeof card.name, "%s, sm_%d%d", name, card.major, card.minor);
  return true;
}

bool set_up(Card& card, const tenon_model_options& options, char* sentence) {
  if (!find_device(card, sentence)) {
    return false;
  }
  const Status status = card.driver->DevicePrimaryCtxRetain(&card.context, card.device);
  if (status != kSuccess) {
    card.context = nullptr;
    return refuse(card, status, "it cannot be used", sentence);
  }
  card.mark.set();
  const Current current(card);
  if (current.status() != kSuccess) {
    return refuse(card, current.status(), "it cannot be used", sentence);
  }
  return load_kernels(card, sentence) && upload_weights(card, options, sentence);
}

// The card may be half made.
void release(Card* card) {
  // What the parent of a fork() has on a card is not the child's to release.
  if (card->context != nullptr && !card->mark.in_child()) {
    {
      const Current current(*card);
      if (card->weights != 0) {
        card->driver->MemFree(card->weights);
      }
      for (int32_t i = 0; i < tenon_cuda.module_count; ++i) {
        if (card->modules[i] != nullptr) {
          card->driver->ModuleUnload(card->modules[i]);
        }
      }
    }
    card->driver->DevicePrimaryCtxRelease(card->device);
  }
  card->mark.clear();
  free(card);
}

// The card and its lists in one block.
Card* make_card(int32_t number, const Driver& driver) {
  const size_t modules = static_cast<size_t>(tenon_cuda.module_count) * sizeof(Module);
  const size_t functions = static_cast<size_t>(tenon_cuda.launch_count) * sizeof(Function);
  void* block = calloc(1, sizeof(Card) + modules + functions);
  if (block == nullptr) {
    return nullptr;
  }
  auto* card = new (InPlace{block}) Card;
  card->number = number;
  card->driver = &driver;
  card->modules = reinterpret_cast<Module*>(card + 1);
  card->functions = reinterpret_cast<Function*>(card->modules + tenon_cuda.module_count);
  return card;
}

// The cards in use, each once. Held while one is set up, so that a second context waits for the first one's work.
struct Cards {
  pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
  Card* first = nullptr;
};
Cards& cards() {
  static Cards all;
  return all;
}

Card* find_or_make(const tenon_model_options& options, char* sentence) {
  for (Card* card = cards().first; card != nullptr; card = card->next) {
    if (card->mark.in_child()) {
      snprintf(sentence, kSentenceBytes,
               "this process is a child of fork() whose parent used the card %d, which the CUDA "
               "driver does not allow: fork before the first context is created",
               card->number);
      return nullptr;
    }
    if (card->number == options.device) {
      return card;
    }
  }
  const Driver* driver = open_driver(sentence);
  if (driver == nullptr) {
    return nullptr;
  }
  Card* card = make_card(options.device, *driver);
  if (card == nullptr) {
    snprintf(sentence, kSentenceBytes, "there is no memory for a context");
    return nullptr;
  }
  if (!set_up(*card, options, sentence)) {
    release(card);
    return nullptr;
  }
  card->next = cards().first;
  cards().first = card;
  return card;
}

}  // namespace

Card* use_card(const tenon_model_options& options, char* sentence) {
  pthread_mutex_lock(&cards().guard);
  Card* card = find_or_make(options, sentence);
  if (card != nullptr) {
    ++card->users;
  }
  pthread_mutex_unlock(&cards().guard);
  return card;
}

void leave_card(Card* card) {
  pthread_mutex_lock(&cards().guard);
  if (--card->users == 0) {
    Card** at = &cards().first;
    while (*at != card) {
      at = &(*at)->next;
    }
    *at = card->next;
    release(card);
  }
  pthread_mutex_unlock(&cards().guard);
}

bool refuse(const Card& card, Status status, const char* what, char* sentence) {
  char words[256];
  explain(*card.driver, status, words, sizeof words);
  snprintf(sentence, kSentenceBytes, "the card %d (%s): %s: %s", card.number,
           card.name[0] != 0 ? card.name : "not known", what, words);
  return false;
}

bool allocate(const Card& card, size_t bytes, const char* what, DevicePointer* data,
              char* sentence) {
  const Status status = card.driver->MemAlloc(data, bytes);
  if (status == kSuccess) {
    return true;
  }
  *data = 0;
  if (status != kOutOfMemory) {
    return refuse(card, status, "memory cannot be had from it", sentence);
  }
  size_t free_bytes = 0;
  size_t total = 0;
  card.driver->MemGetInfo(&free_bytes, &total);
  snprintf(
      sentence, kSentenceBytes,
      "the card %d (%s) has no memory for %s of the model %s: %zu bytes are wanted, %zu of %zu "
      "are free",
      card.number, card.name, what, tenon_model.name, bytes, free_bytes, total);
  return false;
}

}  // namespace tenon::runtime::cuda
