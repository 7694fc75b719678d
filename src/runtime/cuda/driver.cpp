// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace tenon::runtime::cuda {
namespace {

enum Need : uint8_t { kRequired, kOptional };

struct Row {
  const char* symbol;
  size_t offset;  // of the member of Driver
  Need need;
};

constexpr Row kRows[] = {
#define TENON_CUDA(member, symbol, need, arguments) {symbol, offsetof(Driver, member), need},
#include "runtime/cuda/driver_functions.def"
#undef TENON_CUDA
};

const char* library_path() {
  const char* given = secure_getenv("TENON_CUDA_LIBRARY");
  return given != nullptr && given[0] != 0 ? given : "libcuda.so.1";
}

bool find_functions(void* library, const char* path, Driver& driver, char* sentence) {
  for (const Row& row : kRows) {
    void* function = dlsym(library, row.symbol);
    if (function == nullptr && row.need == kRequired) {
      snprintf(sentence, kSentenceBytes,
               "the CUDA driver %s is too old: it has no %s; drivers since %d.%d have it", path,
               row.symbol, kOldestDriver / 1000, kOldestDriver % 1000 / 10);
      return false;
    }
    memcpy(reinterpret_cast<char*>(&driver) + row.offset, &function, sizeof function);
  }
  return true;
}

bool start(const char* path, Driver& driver, char* sentence) {
  driver.DriverGetVersion(&driver.version);
  if (driver.version < kOldestDriver) {
    snprintf(sentence, kSentenceBytes,
             "the CUDA driver %s is too old: it is of version %d.%d, and %d.%d or later is needed",
             path, driver.version / 1000, driver.version % 1000 / 10, kOldestDriver / 1000,
             kOldestDriver % 1000 / 10);
    return false;
  }
  const Status status = driver.Init(0);
  if (status == kNoDevice) {
    snprintf(sentence, kSentenceBytes, "the CUDA driver %s finds no card in this machine", path);
  } else if (status != kSuccess) {
    char words[256];
    explain(driver, status, words, sizeof words);
    snprintf(sentence, kSentenceBytes, "the CUDA driver %s does not start: %s", path, words);
  }
  return status == kSuccess;
}

bool open(Driver& driver, char* sentence) {
  const char* path = library_path();
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    snprintf(sentence, kSentenceBytes,
             "there is no CUDA driver: %s cannot be opened (%s); install NVIDIA's driver", path,
             dlerror());
    return false;
  }
  if (!find_functions(library, path, driver, sentence) || !start(path, driver, sentence)) {
    dlclose(library);
    return false;
  }
  return true;
}

}  // namespace

const Driver* open_driver(char* sentence) {
  static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
  static Driver driver;
  static bool is_open = false;
  pthread_mutex_lock(&guard);
  is_open = is_open || open(driver, sentence);
  const bool usable = is_open;
  pthread_mutex_unlock(&guard);
  return usable ? &driver : nullptr;
}

void explain(const Driver& driver, Status status, char* text, size_t bytes) {
  const char* name = nullptr;
  const char* words = nullptr;
  driver.GetErrorName(status, &name);
  driver.GetErrorString(status, &words);
  snprintf(text, bytes, "%s: %s", name != nullptr ? name : "an error without a name",
           words != nullptr ? words : "the driver does not say more");
}

}  // namespace tenon::runtime::cuda
