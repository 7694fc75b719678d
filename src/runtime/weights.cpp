// SPDX-License-Identifier: Apache-2.0
#include "runtime/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/sentence.h"

namespace tenon::runtime {
namespace {

// Refusals share this form: what is wrong with which file, and the remedy.
bool refuse(char* sentence, const char* path, const char* why) {
  snprintf(sentence, kSentenceBytes,
           "the weights %s %s; the library %s needs the file that was written with it", path, why,
           tenon_model.name);
  return false;
}

uintptr_t parse_hex(const char*& at) {
  uintptr_t value = 0;
  for (;; ++at) {
    if (*at >= '0' && *at <= '9') {
      value = value * 16 + static_cast<uintptr_t>(*at - '0');
    } else if (*at >= 'a' && *at <= 'f') {
      value = value * 16 + static_cast<uintptr_t>(*at - 'a' + 10);
    } else {
      return value;
    }
  }
}

// Of one line of /proc/self/maps, "7f12-7f34 r--p 00000000 08:01 1234   /path", the path, if `address` was loaded from
// there.
const char* file_of(const char* line, uintptr_t address) {
  const uintptr_t begin = parse_hex(line);
  line += *line == '-' ? 1 : 0;
  const uintptr_t end = parse_hex(line);
  return begin <= address && address < end ? strchr(line, '/') : nullptr;
}

// The kernel's list and not dladdr(): that one answers with the path given to dlopen(), which may be
// relative to a folder that the process has left, and knows nothing of programs linked statically.
bool own_file(char* path, size_t size) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  const auto address = reinterpret_cast<uintptr_t>(&tenon_model);
  char text[PATH_MAX + 256];
  size_t held = 0;
  bool found = false;
  for (;;) {
    const auto got = read(file, text + held, sizeof text - 1 - held);
    if (got <= 0) {
      break;
    }
    held += static_cast<size_t>(got);
    text[held] = 0;
    char* line = text;
    for (char* end = strchr(line, '\n'); end != nullptr && !found; end = strchr(line, '\n')) {
      *end = 0;
      if (const char* name = file_of(line, address)) {
        found = snprintf(path, size, "%s", name) < static_cast<int>(size);
      }
      line = end + 1;
    }
    if (found || line == text) {
      break;
    }
    held -= static_cast<size_t>(line - text);
    memmove(text, line, held);
  }
  close(file);
  return found;
}

bool default_path(char* path, size_t size) {
  if (!own_file(path, size)) {
    return false;
  }
  char* slash = strrchr(path, '/');
  const size_t folder = static_cast<size_t>(slash - path) + 1;
  return snprintf(slash + 1, size - folder, "%s.weights", tenon_model.name) <
         static_cast<int>(size - folder);
}

bool check_weights(const void* bytes, size_t size, const char* path, char* sentence) {
  WeightsTrailer trailer;
  if (size < sizeof trailer) {
    return refuse(sentence, path, "are too short");
  }
  const size_t expected = static_cast<size_t>(tenon_model.weights_bytes) + sizeof trailer;
  if (size != expected) {
    char why[128];
    snprintf(why, sizeof why, "have %zu bytes instead of %zu", size, expected);
    return refuse(sentence, path, why);
  }
  memcpy(&trailer, static_cast<const char*>(bytes) + size - sizeof trailer, sizeof trailer);
  if (memcmp(trailer.magic, kWeightsMagic, sizeof kWeightsMagic) != 0 ||
      trailer.version != kWeightsVersion || trailer.bytes != tenon_model.weights_bytes) {
    return refuse(sentence, path, "are not a weights file of this version");
  }
  if (memcmp(trailer.sha256, tenon_model.weights_sha256, sizeof trailer.sha256) != 0) {
    return refuse(sentence, path, "belong to another build of the model (their hash differs)");
  }
  return true;
}

bool map_file(const char* path, Weights& weights, char* sentence) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return refuse(sentence, path,
                  errno == ENOENT ? "are not there" : "cannot be opened (no permission?)");
  }
  const off_t end = lseek(file, 0, SEEK_END);
  const size_t bytes = end > 0 ? static_cast<size_t>(end) : 0;
  if (bytes < sizeof(WeightsTrailer)) {
    close(file);
    return refuse(sentence, path, "are too short");
  }
  // Read ahead at once: every run needs all of it.
  void* mapping = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
  close(file);
  if (mapping == MAP_FAILED) {
    return refuse(sentence, path, "cannot be mapped into memory");
  }
  weights.mapping = mapping;
  weights.mapping_bytes = bytes;
  return true;
}

}  // namespace

bool open_weights(const tenon_model_options& options, Weights& weights, char* sentence) {
  if (tenon_model.weights_bytes == 0) {
    return true;
  }
  if (options.weights != nullptr) {
    if (reinterpret_cast<uintptr_t>(options.weights) % 64 != 0) {
      return refuse(sentence, "in memory", "are not aligned to 64 bytes");
    }
    weights.data = static_cast<const char*>(options.weights);
    return check_weights(options.weights, options.weights_bytes, "in memory", sentence);
  }
  char own[PATH_MAX];
  const char* path = options.weights_path;
  if (path == nullptr) {
    if (!default_path(own, sizeof own)) {
      return refuse(sentence, "beside the library",
                    "cannot be looked for (is /proc mounted?): give weights_path");
    }
    path = own;
  }
  if (!map_file(path, weights, sentence)) {
    return false;
  }
  weights.data = static_cast<const char*>(weights.mapping);
  if (!check_weights(weights.mapping, weights.mapping_bytes, path, sentence)) {
    close_weights(weights);
    return false;
  }
  return true;
}

void close_weights(const Weights& weights) {
  if (weights.mapping != nullptr) {
    munmap(weights.mapping, weights.mapping_bytes);
  }
}

}  // namespace tenon::runtime
