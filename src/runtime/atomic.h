// SPDX-License-Identifier: Apache-2.0
// What <atomic> and <new> would give. This module is also compiled for machines whose C++ library is
// not at hand, so it includes headers of libc and of the compiler only.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tenon::runtime {

template <class T>
class Atomic {
 public:
  constexpr Atomic() = default;
  constexpr explicit Atomic(T value) : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;
  T relaxed() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  T acquire() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
  // In one order with all other operations that are neither relaxed, acquire nor release.
  T load() const { return __atomic_load_n(&value_, __ATOMIC_SEQ_CST); }
  void relaxed(T value) { __atomic_store_n(&value_, value, __ATOMIC_RELAXED); }
  void release(T value) { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }
  T exchange(T value) { return __atomic_exchange_n(&value_, value, __ATOMIC_SEQ_CST); }
  T fetch_add(T value) { return __atomic_fetch_add(&value_, value, __ATOMIC_SEQ_CST); }
  T fetch_and(T value) { return __atomic_fetch_and(&value_, value, __ATOMIC_SEQ_CST); }
  T fetch_or(T value) { return __atomic_fetch_or(&value_, value, __ATOMIC_SEQ_CST); }
  // True if the value was `from` and now is `to`.
  bool change(T from, T to) {
    return __atomic_compare_exchange_n(&value_, &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
  }

 private:
  T value_{};
};

struct InPlace {
  void* block;
};

}  // namespace tenon::runtime

inline void* operator new(size_t, tenon::runtime::InPlace at) noexcept { return at.block; }
inline void operator delete(void*, tenon::runtime::InPlace) noexcept {}
