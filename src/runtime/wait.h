// SPDX-License-Identifier: Apache-2.0
// Waiting for a 32-bit word to change: first by spinning, then asleep in the kernel.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/atomic.h"

namespace tenon::runtime {

using Word = Atomic<uint32_t>;
static_assert(sizeof(Word) == 4);

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // `yield` does nothing on most cores
#endif
}

inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// The first value other than `value`, or `value` after about `limit_ns`.
inline uint32_t spin_while(const Word& word, uint32_t value, int64_t limit_ns) {
  constexpr int kLooksPerClock = 64;
  int64_t deadline = 0;
  for (;;) {
    for (int i = 0; i < kLooksPerClock; ++i) {
      const uint32_t seen = word.acquire();
      if (seen != value) {
        return seen;
      }
      pause_cpu();
    }
    const int64_t now = now_ns();
    if (deadline == 0) {
      deadline = now + limit_ns;
    }
    if (now >= deadline) {
      return value;
    }
  }
}

// Returns when woken, at once if the word is not `value`, or for no reason. Whoever changes the
// word must call wake_sleeper.
inline void sleep_if(Word& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

inline void wake_sleeper(Word& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace tenon::runtime
