// SPDX-License-Identifier: Apache-2.0
// Ref<T>: shared ownership of an immutable node by an intrusive count. Copying costs one relaxed
// increment; equal pointers mean "the same, unchanged".
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace tenon {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;
  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // Held by more than one handle: worth remembering in a walk over a graph of nodes.
  bool shared() const { return refs_.load(std::memory_order_relaxed) > 1; }

 private:
  mutable std::atomic<int> refs_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(const T* node) : node_(node) {
    if (node_ != nullptr) node_->retain();
  }
  Ref(const Ref& o) : Ref(o.node_) {}
  Ref(Ref&& o) noexcept : node_(std::exchange(o.node_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(node_, o.node_);
    return *this;
  }
  ~Ref() {
    if (node_ != nullptr) node_->release();
  }
  const T* get() const { return node_; }
  const T* operator->() const { return node_; }
  const T& operator*() const { return *node_; }
  bool defined() const { return node_ != nullptr; }
  explicit operator bool() const { return node_ != nullptr; }
  bool same_as(const Ref& o) const { return node_ == o.node_; }

 private:
  const T* node_ = nullptr;
};

}  // namespace tenon
