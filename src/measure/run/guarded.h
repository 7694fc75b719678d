// SPDX-License-Identifier: Apache-2.0
// Memory of this process between zones that nothing may touch.
//
//   | no access | canaries | data | canaries | no access |
#pragma once

#include "measure/run/device.h"

namespace tenon::run {

class Guarded : public Buffer {
 public:
  Guarded(int64_t bytes, Place place);  // throws std::bad_alloc
  ~Guarded() override;
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  char* data() const { return data_; }
  int64_t bytes() const override { return bytes_; }
  void put(const void* from, int64_t count, int64_t at) override;
  void get(void* to, int64_t count, int64_t at) const override;
  bool intact() const override;  // no canary was overwritten
  void flush() const;            // out of all caches

 private:
  char* map_ = nullptr;
  size_t mapped_ = 0;
  char *begin_ = nullptr, *end_ = nullptr;  // what may be accessed
  char* data_ = nullptr;
  int64_t bytes_;
};

}  // namespace tenon::run
