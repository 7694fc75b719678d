// SPDX-License-Identifier: Apache-2.0
// Device memory, which is memory of this process with bytes around each piece that must not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace tenon::simt {

class Memory {
 public:
  static constexpr size_t kTotalBytes = size_t{8} << 30;

  ~Memory();
  // 0 if there is no more. Aligned to 256 bytes; the contents are arbitrary.
  uint64_t allocate(size_t bytes);
  // False if nothing begins there. What lies around the piece is checked first: `intact`.
  bool free(uint64_t data, bool& intact);
  // True if the bytes lie inside of one piece.
  bool contains(uint64_t data, size_t bytes);
  // False, after a sentence to standard error, if something was written beside a piece.
  bool intact();
  size_t free_bytes();

 private:
  std::mutex mutex_;
  std::map<uint64_t, size_t> pieces_;
  size_t used_ = 0;
};

}  // namespace tenon::simt
