// SPDX-License-Identifier: Apache-2.0
// A checksum that is as fast as memory, to find weights that were changed by accident. It protects from nobody who
// wants to be undetected: for that there is the SHA-256 beside it.
//
//   sum = 0;  for each chunk i of the bytes: sum += chunk_checksum(i, chunk, its bytes)
//
// Chunks can be summed up in any order, and so by several threads.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace tenon::runtime {

inline constexpr size_t kChecksumChunk = size_t{1} << 20;

// One to one in both arguments, so that a change of one word is never lost. The rotation brings high bits
// down: a product alone would never let them reach the others.
inline uint64_t mix_checksum(uint64_t state, uint64_t word) {
  state ^= word;
  return (state << 29 | state >> 35) * 0x9E3779B97F4A7C15;
}

// `bytes` is a multiple of 64. Eight chains at once: the latency of a product is hidden.
inline uint64_t chunk_checksum(uint64_t index, const void* data, size_t bytes) {
  constexpr size_t kChains = 8;
  uint64_t chains[kChains] = {1, 2, 3, 4, 5, 6, 7, 8};
  const char* at = static_cast<const char*>(data);
  for (const char* end = at + bytes; at < end; at += sizeof chains) {
    for (size_t i = 0; i < kChains; ++i) {
      uint64_t word = 0;
      memcpy(&word, at + i * sizeof word, sizeof word);
      chains[i] = mix_checksum(chains[i], word);
    }
  }
  uint64_t sum = index;
  for (const uint64_t chain : chains) {
    sum = mix_checksum(sum, chain);
  }
  return sum;
}

}  // namespace tenon::runtime
