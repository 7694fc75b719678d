// SPDX-License-Identifier: Apache-2.0
#include "measure/run/guarded.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

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

void Guarded::put(const void* from, int64_t count, int64_t at) {
  std::memcpy(data_ + at, from, static_cast<size_t>(count));
}

void Guarded::get(void* to, int64_t count, int64_t at) const {
  std::memcpy(to, data_ + at, static_cast<size_t>(count));
}

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

}  // namespace tenon::run
