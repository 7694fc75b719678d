// SPDX-License-Identifier: Apache-2.0
#include "simt/fibers.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

// A fiber leaves its stack in the middle of a function, of which AddressSanitizer knows nothing.
#if defined(__SANITIZE_ADDRESS__)
#define TENON_ON_FIBERS __attribute__((no_sanitize("address"), noinline))
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_ON_FIBERS __attribute__((no_sanitize("address"), noinline))
#endif
#endif
#ifndef TENON_ON_FIBERS
#define TENON_ON_FIBERS __attribute__((noinline))
#endif

#if defined(__x86_64__)
// Keeps what a called function must keep, leaves the stack pointer in *from and goes on where `to` was left.
extern "C" void tenon_simt_switch(void** from, void* to);
// A new fiber begins here: it calls what r14 points to with what is in r15.
extern "C" void tenon_simt_enter();
asm(R"(
.text
.hidden tenon_simt_enter
.globl tenon_simt_enter
.type tenon_simt_enter,@function
tenon_simt_enter:
  movq %r15, %rdi
  callq *%r14
  ud2
.size tenon_simt_enter, .-tenon_simt_enter
.hidden tenon_simt_switch
.globl tenon_simt_switch
.type tenon_simt_switch,@function
tenon_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tenon_simt_switch, .-tenon_simt_switch
)");
#endif

namespace tenon::simt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStackBytes = 1 << 20;  // of which only what is touched takes memory

}  // namespace

class Fiber {
 public:
  enum class State : uint8_t { kReady, kAtBarrier, kAtExchange, kEnded };
  State state = State::kEnded;
  uint32_t value = 0;                // that it offers, and then the one that it gets
  size_t apart = 0, neighbours = 0;  // of the exchange

  ~Fiber() {
    if (pages_ != nullptr) munmap(pages_, kPage + kStackBytes);
  }

  bool make_stack() {
    if (pages_ != nullptr) return true;
    void* p = mmap(nullptr, kPage + kStackBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    pages_ = static_cast<char*>(p);
    return mprotect(pages_, kPage, PROT_NONE) == 0;
  }

#if defined(__x86_64__)
  // The stack looks as if the fiber had been left at its first instruction.
  void begin(void (*start)(void*), void* argument) {
    auto* top = reinterpret_cast<void**>(pages_ + kPage + kStackBytes);
    *--top = reinterpret_cast<void*>(&tenon_simt_enter);
    for (int i = 0; i < 4; ++i) *--top = nullptr;  // rbp, rbx, r12 and r13
    *--top = reinterpret_cast<void*>(start);
    *--top = argument;
    place_ = top;
  }
  static void go(Fiber& from, Fiber& to) { tenon_simt_switch(&from.place_, to.place_); }

 private:
  void* place_ = nullptr;
#else
  void begin(void (*start)(void*), void* argument) {
    argument_ = argument;
    start_ = start;
    getcontext(&place_);
    place_.uc_stack.ss_sp = pages_ + kPage;
    place_.uc_stack.ss_size = kStackBytes;
    place_.uc_link = nullptr;
    const auto bits = reinterpret_cast<uintptr_t>(this);
    makecontext(&place_, reinterpret_cast<void (*)()>(&enter), 2, static_cast<uint32_t>(bits),
                static_cast<uint32_t>(bits >> 32));
  }
  static void go(Fiber& from, Fiber& to) { swapcontext(&from.place_, &to.place_); }

 private:
  static void enter(uint32_t low, uint32_t high) {
    auto* self = reinterpret_cast<Fiber*>(uintptr_t{high} << 32 | low);
    self->start_(self->argument_);
  }
  ucontext_t place_ = {};
  void (*start_)(void*) = nullptr;
  void* argument_ = nullptr;
#endif
  char* pages_ = nullptr;
};

Fibers::Fibers() : home_(std::make_unique<Fiber>()) {}
Fibers::~Fibers() = default;

TENON_ON_FIBERS void Fibers::start(void* fibers) {
  auto* all = static_cast<Fibers*>(fibers);
  all->body_(all->context_, static_cast<int>(all->current_));
  Fiber& self = *all->fibers_[all->current_];
  self.state = Fiber::State::kEnded;
  Fiber::go(self, *all->home_);
}

TENON_ON_FIBERS void Fibers::wait(void* fibers) {
  auto* all = static_cast<Fibers*>(fibers);
  Fiber& self = *all->fibers_[all->current_];
  self.state = Fiber::State::kAtBarrier;
  Fiber::go(self, *all->home_);
}

TENON_ON_FIBERS uint32_t Fibers::exchange(void* fibers, uint32_t value, int32_t apart,
                                          int32_t threads) {
  auto* all = static_cast<Fibers*>(fibers);
  Fiber& self = *all->fibers_[all->current_];
  self.value = value;
  self.apart = static_cast<size_t>(apart);
  self.neighbours = static_cast<size_t>(threads);
  self.state = Fiber::State::kAtExchange;
  Fiber::go(self, *all->home_);
  return self.value;
}

// Those whose neighbours are all there get their values and may go on.
bool Fibers::end_exchange(size_t first, size_t many) {
  const size_t n = fibers_[first]->neighbours, apart = fibers_[first]->apart;
  if (first % n != 0 || first + n > many) return false;
  for (size_t i = first; i < first + n; ++i) {
    const Fiber& f = *fibers_[i];
    if (f.state != Fiber::State::kAtExchange || f.neighbours != n || f.apart != apart) return false;
  }
  for (size_t i = first; i < first + n; ++i) {
    fibers_[i]->state = Fiber::State::kReady;
    if ((i & apart) == 0) std::swap(fibers_[i]->value, fibers_[i ^ apart]->value);
  }
  return true;
}

// Who may go on where all have stopped. False: nobody.
bool Fibers::release(size_t many) {
  bool some = false;
  size_t at_barrier = 0;
  for (size_t i = 0; i < many; ++i) {
    if (fibers_[i]->state == Fiber::State::kAtExchange) some = end_exchange(i, many) || some;
    at_barrier += fibers_[i]->state == Fiber::State::kAtBarrier ? 1 : 0;
  }
  if (at_barrier != many) return some;
  for (size_t i = 0; i < many; ++i) fibers_[i]->state = Fiber::State::kReady;
  return true;
}

int Fibers::run(int count, Body body, void* context) {
  const auto many = static_cast<size_t>(count);
  while (fibers_.size() < many) fibers_.push_back(std::make_unique<Fiber>());
  body_ = body;
  context_ = context;
  for (size_t i = 0; i < many; ++i) {
    if (!fibers_[i]->make_stack()) return -1;
    fibers_[i]->begin(&Fibers::start, this);
    fibers_[i]->state = Fiber::State::kReady;
  }
  do {
    for (current_ = 0; current_ < many; ++current_) {
      if (fibers_[current_]->state == Fiber::State::kReady) Fiber::go(*home_, *fibers_[current_]);
    }
  } while (release(many));
  int waiting = 0;
  for (size_t i = 0; i < many; ++i) waiting += fibers_[i]->state == Fiber::State::kEnded ? 0 : 1;
  return waiting;
}

}  // namespace tenon::simt
