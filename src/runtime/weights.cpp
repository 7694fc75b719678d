// SPDX-License-Identifier: Apache-2.0
#include "runtime/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/atomic.h"
#include "runtime/checksum.h"
#include "runtime/sentence.h"
#include "runtime/text_file.h"

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
  const auto address = reinterpret_cast<uintptr_t>(&tenon_model);
  Lines lines("/proc/self/maps");
  while (const char* line = lines.next()) {
    if (const char* name = file_of(line, address)) {
      return snprintf(path, size, "%s", name) < static_cast<int>(size);
    }
  }
  return false;
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

bool check_trailer(const char* bytes, size_t size, const char* path, char* sentence) {
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
  memcpy(&trailer, bytes + size - sizeof trailer, sizeof trailer);
  if (memcmp(trailer.magic, kWeightsMagic, sizeof kWeightsMagic) != 0 ||
      trailer.version != kWeightsVersion || trailer.bytes != tenon_model.weights_bytes) {
    return refuse(sentence, path, "are not a weights file of this version");
  }
  if (memcmp(trailer.sha256, tenon_model.weights_sha256, sizeof trailer.sha256) != 0) {
    return refuse(sentence, path, "belong to another build of the model (their hash differs)");
  }
  return true;
}

struct Summed {
  const char* data;
  size_t bytes;
  Atomic<uint64_t> sum{0};
};

void sum_chunks(void* closure, int64_t begin, int64_t end) {
  auto& all = *static_cast<Summed*>(closure);
  uint64_t sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    const size_t at = static_cast<size_t>(i) * kChecksumChunk;
    const size_t left = all.bytes - at;
    sum += chunk_checksum(static_cast<uint64_t>(i), all.data + at,
                          left < kChecksumChunk ? left : kChecksumChunk);
  }
  all.sum.fetch_add(sum);
}

bool is_unchanged(const char* data, const tenon_runtime* threads) {
  Summed all{data, static_cast<size_t>(tenon_model.weights_bytes)};
  const auto chunks = static_cast<int64_t>((all.bytes + kChecksumChunk - 1) / kChecksumChunk);
  if (threads != nullptr) {
    threads->parallel(threads, sum_chunks, &all, chunks);
  } else {
    sum_chunks(&all, 0, chunks);
  }
  return all.sum.acquire() == tenon_model.weights_checksum;
}

// Of a regular file only: a pipe or a device has no size, and reading it may wait for ever.
bool file_bytes(int file, size_t& bytes) {
  struct stat status;
  // By the system call: older versions of libc have no function of this name.
  if (syscall(SYS_fstat, file, &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  bytes = static_cast<size_t>(status.st_size);
  return true;
}

bool map_file(const char* path, Weights& weights, char* sentence) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // opening a pipe must not wait
  if (file < 0) {
    return refuse(sentence, path,
                  errno == ENOENT ? "are not there" : "cannot be opened (no permission?)");
  }
  size_t bytes = 0;
  const bool regular = file_bytes(file, bytes);
  if (!regular || bytes < sizeof(WeightsTrailer)) {
    close(file);
    return refuse(sentence, path, regular ? "are too short" : "are not a regular file");
  }
  // Read ahead at once: every run needs all of it.
  void* mapping = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
  close(file);
  if (mapping == MAP_FAILED) {
    return refuse(sentence, path, "cannot be mapped into memory");
  }
  weights.mapping = mapping;
  weights.mapping_bytes = bytes;
  weights.data = static_cast<const char*>(mapping);
  return true;
}

}  // namespace

bool open_weights(const tenon_model_options& options, const tenon_runtime* threads,
                  Weights& weights, char* sentence) {
  if (tenon_model.weights_bytes == 0) {
    return true;
  }
  char own[PATH_MAX];
  const char* path = options.weights_path;
  if (tenon_model.weights != nullptr && options.weights == nullptr && path == nullptr) {
    path = "inside the library";
    weights.data = tenon_model.weights;
  } else if (options.weights != nullptr) {
    path = "in memory";
    if (reinterpret_cast<uintptr_t>(options.weights) % 64 != 0) {
      return refuse(sentence, path, "are not aligned to 64 bytes");
    }
    weights.data = static_cast<const char*>(options.weights);
    if (!check_trailer(weights.data, options.weights_bytes, path, sentence)) {
      return false;
    }
  } else {
    if (path == nullptr && !default_path(own, sizeof own)) {
      return refuse(sentence, "beside the library",
                    "cannot be looked for (is /proc mounted?): give weights_path");
    }
    path = path != nullptr ? path : own;
    if (!map_file(path, weights, sentence) ||
        !check_trailer(weights.data, weights.mapping_bytes, path, sentence)) {
      return false;
    }
  }
  if (options.trust_weights == 0 && !is_unchanged(weights.data, threads)) {
    return refuse(sentence, path, "were changed since they were written (their checksum differs)");
  }
  return true;
}

void close_weights(const Weights& weights) {
  if (weights.mapping != nullptr) {
    munmap(weights.mapping, weights.mapping_bytes);
  }
}

}  // namespace tenon::runtime
