// SPDX-License-Identifier: Apache-2.0
#include "support/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tenon {
namespace {

using State = std::array<uint32_t, 8>;

alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t* p) {
  uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return __builtin_bswap32(word);
}

void mix_portable(State& state, const uint8_t* data, size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) {
    uint32_t w[64];
    for (size_t i = 0; i < 16; ++i) {
      w[i] = big_endian(data + 4 * i);
    }
    for (int i = 16; i < 64; ++i) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (int i = 0; i < 64; ++i) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const State add = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i) {
      state[i] += add[i];
    }
  }
}

#if defined(__x86_64__)

bool has_sha_instructions() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && ((b >> 29) & 1) != 0;
}

// The processor keeps the state as two vectors, (a b e f) and (c d g h) from the highest lane down.
__attribute__((target("sha,sse4.1"))) void mix_by_instructions(State& state, const uint8_t* data,
                                                               size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto word = [&](int i) { return static_cast<int>(state[static_cast<size_t>(i)]); };
  __m128i abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
  for (; blocks > 0; --blocks, data += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];  // the last sixteen words of the message schedule
    for (int i = 0; i < 16; ++i) {
      __m128i& now = w[i % 4];
      if (i < 4) {
        const auto* from = reinterpret_cast<const __m128i*>(data) + i;
        now = _mm_shuffle_epi8(_mm_loadu_si128(from), swap);
      } else {
        const __m128i last = w[(i + 3) % 4];
        const __m128i shifted = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
        const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]), shifted);
        now = _mm_sha256msg2_epu32(sum, last);
      }
      const auto* constants = reinterpret_cast<const __m128i*>(kRound) + i;
      const __m128i in = _mm_add_epi32(now, _mm_load_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, in);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(in, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  alignas(16) uint32_t high[4];
  alignas(16) uint32_t low[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(high), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(low), cdgh);
  state = {high[3], high[2], low[3], low[2], high[1], high[0], low[1], low[0]};
}

#endif

void mix(State& state, const uint8_t* data, size_t blocks) {
#if defined(__x86_64__)
  static const bool by_instructions = has_sha_instructions();
  if (by_instructions) {
    mix_by_instructions(state, data, blocks);
    return;
  }
#endif
  mix_portable(state, data, blocks);
}

}  // namespace

Sha256& Sha256::add(const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  bytes_ += bytes;
  if (held_ > 0) {
    const size_t taken = std::min(bytes, block_.size() - held_);
    std::memcpy(block_.data() + held_, at, taken);
    held_ += taken;
    at += taken;
    bytes -= taken;
    if (held_ < block_.size()) {
      return *this;
    }
    mix(state_, block_.data(), 1);
    held_ = 0;
  }
  mix(state_, at, bytes / 64);
  held_ = bytes % 64;
  if (held_ > 0) {
    std::memcpy(block_.data(), at + (bytes - held_), held_);
  }
  return *this;
}

Sha256::Digest Sha256::digest() const {
  State state = state_;
  std::array<uint8_t, 128> tail = {};
  std::memcpy(tail.data(), block_.data(), held_);
  tail[held_] = 0x80;
  const size_t blocks = held_ < 56 ? 1 : 2;
  for (size_t i = 0; i < 8; ++i) {
    tail[64 * blocks - 1 - i] = static_cast<uint8_t>((bytes_ * 8) >> (8 * i));
  }
  mix(state, tail.data(), blocks);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string hex(const Sha256::Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) { return hex(Sha256().add(bytes).digest()); }

}  // namespace tenon
