// SPDX-License-Identifier: Apache-2.0
// Memory between zones that nothing may touch.
//
//   | no access | canaries | data | canaries | no access |
#pragma once

#include <cstdint>
#include <string>

namespace tenon::run {

enum class Place : uint8_t {
  kFront,  // begins a page, as in a finished model; huge pages for what is large
  kBack,   // ends with the last line of a page: reading past the end is caught too
};

class Guarded {
 public:
  Guarded(int64_t bytes, Place place);  // throws std::bad_alloc
  ~Guarded();
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool intact() const;  // no canary was overwritten
  void flush() const;   // out of all caches
  // Values of the type that are quick to compute with: floats of either sign in [0.5, 1), integers 0 and 1.
  void fill(const std::string& dtype);

 private:
  char* map_ = nullptr;
  size_t mapped_ = 0;
  char *begin_ = nullptr, *end_ = nullptr;  // what may be accessed
  char* data_ = nullptr;
  int64_t bytes_;
};

}  // namespace tenon::run
