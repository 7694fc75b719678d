// SPDX-License-Identifier: Apache-2.0
// A stable 64-bit hash: the same bytes give the same value on every machine and in every release.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

class Hasher {
 public:
  Hasher& add(uint64_t v) {
    h_ ^= v + 0x9e3779b97f4a7c15ULL + (h_ << 6) + (h_ >> 2);
    h_ ^= h_ >> 32;
    h_ *= 0xd6e8feb86659fd93ULL;
    h_ ^= h_ >> 32;
    return *this;
  }
  Hasher& add(int64_t v) { return add(static_cast<uint64_t>(v)); }
  Hasher& add(int32_t v) { return add(static_cast<int64_t>(v)); }
  Hasher& add(std::string_view s) {
    add(static_cast<uint64_t>(s.size()));
    for (const char c : s) {
      h_ ^= static_cast<unsigned char>(c);
      h_ *= 0x100000001b3ULL;
    }
    return *this;
  }
  Hasher& add(double v);
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0xcbf29ce484222325ULL;
};

}  // namespace tenon
