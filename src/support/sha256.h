// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for names of contents that others can check with sha256sum.
//
//   sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;
  Sha256& add(const void* data, size_t bytes);
  Sha256& add(std::string_view text) { return add(text.data(), text.size()); }
  // Of everything added so far.
  Digest digest() const;

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> block_ = {};  // not yet mixed in
  size_t held_ = 0;
  uint64_t bytes_ = 0;
};

std::string hex(const Sha256::Digest& digest);
std::string sha256_hex(std::string_view bytes);

}  // namespace tenon
