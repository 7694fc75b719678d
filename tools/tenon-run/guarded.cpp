// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon-run/guarded.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace tenon::run {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kGuard = size_t{1} << 20;
constexpr char kCanary = '\xc5';

size_t up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

bool all_canaries(const char* from, const char* to) {
  return std::all_of(from, to, [](char c) { return c == kCanary; });
}

template <class T>
void pattern(std::vector<char>& bytes, T one, T random_bits) {
  uint64_t x = 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    const T v = static_cast<T>(one | (static_cast<T>(x >> 8) & random_bits));
    std::memcpy(bytes.data() + i, &v, sizeof v);
  }
}

void pattern_of(const std::string& dtype, std::vector<char>& bytes) {
  if (dtype == "f64") {
    pattern<uint64_t>(bytes, 0x3fe0000000000000, 0x800fffffffffffff);
  } else if (dtype == "f32") {
    pattern<uint32_t>(bytes, 0x3f000000, 0x807fffff);
  } else if (dtype == "bf16") {
    pattern<uint16_t>(bytes, 0x3f00, 0x807f);
  } else if (dtype == "f16") {
    pattern<uint16_t>(bytes, 0x3800, 0x83ff);
  } else if (dtype == "i64" || dtype == "u64") {
    pattern<uint64_t>(bytes, 0, 1);
  } else if (dtype == "i32" || dtype == "u32") {
    pattern<uint32_t>(bytes, 0, 1);
  } else if (dtype == "i16" || dtype == "u16") {
    pattern<uint16_t>(bytes, 0, 1);
  } else {
    pattern<uint8_t>(bytes, 0, 1);
  }
}

}  // namespace

Guarded::Guarded(int64_t bytes, Place place) : bytes_(bytes) {
  const size_t body = up(static_cast<size_t>(bytes), kLine);
  const size_t pages = std::max(up(body, kPage), kPage);
  const bool huge = place == Place::kFront && body >= kHugePage;
  mapped_ = kGuard + pages + kGuard + (huge ? kHugePage : 0);
  void* p = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<char*>(p);
  const uintptr_t first = reinterpret_cast<uintptr_t>(map_) + kGuard;
  begin_ = map_ + kGuard + (huge ? up(first, kHugePage) - first : 0);
  end_ = begin_ + pages;
  if (mprotect(begin_, pages, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  if (huge) madvise(begin_, pages, MADV_HUGEPAGE);
  data_ = place == Place::kFront ? begin_ : end_ - body;
  std::memset(begin_, kCanary, static_cast<size_t>(data_ - begin_));
  std::memset(data_ + bytes_, kCanary, static_cast<size_t>(end_ - data_ - bytes_));
}

Guarded::~Guarded() { munmap(map_, mapped_); }

bool Guarded::intact() const {
  return all_canaries(begin_, data_) && all_canaries(data_ + bytes_, end_);
}

void Guarded::flush() const {
  for (char* line = data_; line < data_ + bytes_; line += kLine) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(line);
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
  }
#if defined(__x86_64__)
  __builtin_ia32_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish" ::: "memory");
#endif
}

void Guarded::fill(const std::string& dtype) {
  std::vector<char> bytes(std::min<size_t>(static_cast<size_t>(bytes_), size_t{1} << 16));
  pattern_of(dtype, bytes);
  for (size_t at = 0; at < static_cast<size_t>(bytes_); at += bytes.size()) {
    std::memcpy(data_ + at, bytes.data(), std::min(bytes.size(), static_cast<size_t>(bytes_) - at));
  }
}

}  // namespace tenon::run
