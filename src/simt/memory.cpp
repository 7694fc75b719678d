// SPDX-License-Identifier: Apache-2.0
#include "simt/memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenon::simt {
namespace {

constexpr size_t kGuard = 256;  // bytes before and behind each piece
constexpr unsigned char kGuardByte = 0xC3;
constexpr int kArbitrary = 0xA5;
constexpr size_t kMostArbitrary = size_t{64}
                                  << 20;  // what is touched of a piece that may never be used

unsigned char* bytes_at(uint64_t data) { return reinterpret_cast<unsigned char*>(data); }

bool guards_hold(uint64_t data, size_t bytes) {
  const auto same = [](unsigned char c) { return c == kGuardByte; };
  const unsigned char* p = bytes_at(data);
  if (std::all_of(p - kGuard, p, same) && std::all_of(p + bytes, p + bytes + kGuard, same)) {
    return true;
  }
  std::fprintf(stderr, "simt: a kernel wrote beside %zu bytes of device memory\n", bytes);
  return false;
}

}  // namespace

Memory::~Memory() {
  for (const auto& [data, bytes] : pieces_) std::free(bytes_at(data) - kGuard);
}

uint64_t Memory::allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > kTotalBytes - used_) return 0;
  const size_t whole = (bytes + 3 * kGuard - 1) / kGuard * kGuard;
  auto* p = static_cast<unsigned char*>(std::aligned_alloc(kGuard, whole));
  if (p == nullptr) return 0;
  std::memset(p, kGuardByte, kGuard);
  std::memset(p + kGuard, kArbitrary, std::min(bytes, kMostArbitrary));
  std::memset(p + kGuard + bytes, kGuardByte, kGuard);
  const auto data = reinterpret_cast<uint64_t>(p + kGuard);
  pieces_[data] = bytes;
  used_ += bytes;
  return data;
}

bool Memory::free(uint64_t data, bool& intact) {
  const std::lock_guard lock(mutex_);
  const auto it = pieces_.find(data);
  if (it == pieces_.end()) return false;
  intact = guards_hold(data, it->second);
  used_ -= it->second;
  pieces_.erase(it);
  std::free(bytes_at(data) - kGuard);
  return true;
}

bool Memory::contains(uint64_t data, size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto it = pieces_.upper_bound(data);
  if (it == pieces_.begin()) return false;
  --it;
  return data - it->first <= it->second && bytes <= it->second - (data - it->first);
}

bool Memory::intact() {
  const std::lock_guard lock(mutex_);
  return std::all_of(pieces_.begin(), pieces_.end(),
                     [](const auto& p) { return guards_hold(p.first, p.second); });
}

size_t Memory::free_bytes() {
  const std::lock_guard lock(mutex_);
  return kTotalBytes - used_;
}

}  // namespace tenon::simt
