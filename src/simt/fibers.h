// SPDX-License-Identifier: Apache-2.0
// The threads of a block on one thread of this machine, with a stack each. They run one after the other, each up to its
// next barrier.
//
//   Fibers fibers;
//   fibers.run(64, body, context);    // body(context, i) for i in 0..64, which may call Fibers::wait(&fibers)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tenon::simt {

// The stack of a fiber, with a page below that cannot be touched, and where it goes on.
class Fiber;

class Fibers {
 public:
  using Body = void (*)(void* context, int fiber);

  Fibers();
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // Returns how many fibers waited for others when nobody could go on; 0: all went well. What they had on their
  // stacks is forgotten. -1: there is no memory for so many stacks.
  int run(int count, Body body, void* context);
  // Called by a fiber: returns when all have called it.
  static void wait(void* fibers);
  // Called by a fiber: returns what the one whose number is its own xor `apart` has offered, when all of its `threads`
  // neighbours have called it. Both are powers of two.
  static uint32_t exchange(void* fibers, uint32_t value, int32_t apart, int32_t threads);

 private:
  bool release(size_t many);
  bool end_exchange(size_t first, size_t many);
  static void start(void* fibers);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::unique_ptr<Fiber> home_;
  size_t current_ = 0;
  Body body_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace tenon::simt
