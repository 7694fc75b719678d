// SPDX-License-Identifier: Apache-2.0
// The pool behind tenon_runtime. Each worker has a mailbox of one cache line; a region is one
// exchange into each mailbox and one look at each of them afterwards.
//
//   worker's word: kIdle --caller--> kWork --worker--> kIdle      both spinning: two line transfers
//                  kWork --caller--> kAwaited --worker--> kIdle   the worker wakes the caller
//                  kIdle --worker--> kAsleep --caller--> kCalled  the caller wakes it, and then
//                        kCalled --worker--> kWork                  it comes in time, or
//                        kCalled --caller--> kAsleep                the caller runs its share
//                  kAsleep --worker--> kIdle                      woken too late: spins for the next
//                  kIdle or kAsleep --destroy--> kQuit
//
// So a small region after a pause costs a system call, not the time a sleeping CPU takes to come
// back.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "runtime/atomic.h"
#include "runtime/cpus.h"
#include "runtime/fork_mark.h"
#include "runtime/wait.h"
#include "tenon/runtime.h"

namespace tenon::runtime {
namespace {

constexpr size_t kStackBytes = size_t{8} << 20;
// Long enough to bridge the serial code between two kernels; short enough to cost an idle process
// nothing.
constexpr int64_t kWorkerSpinNs = 50'000;
// The caller waits for others' shares: sleeping sooner would add a wake-up to the latency of the
// region.
constexpr int64_t kCallerSpinNs = 200'000;

enum State : uint32_t { kIdle, kWork, kAwaited, kAsleep, kCalled, kQuit };

struct Pool;

// 128 bytes: neighbours' lines are fetched in pairs on some CPUs.
struct alignas(128) Worker {
  Word state{kIdle};
  Atomic<int32_t> cpu{-1};  // pinned to; -1: not pinned
  tenon_body body = nullptr;
  void* closure = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  Worker* wakes[2] = {nullptr, nullptr};  // sleepers to be woken by whoever runs this share
  alignas(64) pthread_t thread{};         // the rest is not touched in a region
  int64_t spin_ns = 0;
  Atomic<int32_t> tid{0};  // of the kernel; 0: has not run yet
};
static_assert(offsetof(Worker, thread) == 64 && sizeof(Worker) == 128);

struct Pool {
  tenon_runtime runtime;
  ForkMark mark;
  Atomic<bool> busy{false};
  bool pinned = false;
  int home = -1;  // where the caller was seen last
  int32_t workers = 0;
  int64_t caller_spin_ns = 0;
  Worker** sleepers = nullptr;  // scratch of a region, room for all workers
  Worker* worker = nullptr;
};

struct Share {
  int64_t begin, end;
};

// Part `i` of `parts` of [0, n): contiguous, sizes differ by at most one, longer ones first.
Share share(int64_t n, int64_t parts, int64_t i) {
  const int64_t size = n / parts;
  const int64_t longer = n % parts;
  const int64_t begin = i * size + (i < longer ? i : longer);
  return {begin, begin + size + (i < longer ? 1 : 0)};
}

void run_share(const Worker& w) {
  for (Worker* next : w.wakes) {
    if (next != nullptr) {
      wake_sleeper(next->state);
    }
  }
  w.body(w.closure, w.begin, w.end);
}

// By the system call: of libc's function there are several versions, and a finished library does not
// say which one it means.
void pin(Worker& worker, int32_t tid, int32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  if (syscall(SYS_sched_setaffinity, tid, sizeof set, &set) != 0) {
    worker.cpu.change(cpu, -1);
  }
}

// The caller may give another CPU meanwhile. It writes the CPU, then looks for the tid; this writes the tid, then
// looks at the CPU again: one of the two pins to the new one.
void pin_self(Worker& self) {
  const auto tid = static_cast<int32_t>(syscall(SYS_gettid));
  const int32_t cpu = self.cpu.acquire();
  if (cpu >= 0) {
    pin(self, tid, cpu);
  }
  self.tid.exchange(tid);
  const int32_t now = self.cpu.fetch_add(0);
  if (now >= 0 && now != cpu) {
    pin(self, tid, now);
  }
}

void* worker_main(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  pin_self(self);
  for (;;) {
    switch (spin_while(self.state, kIdle, self.spin_ns)) {
      case kIdle:
        if (self.state.change(kIdle, kAsleep)) {
          sleep_if(self.state, kAsleep);
        }
        continue;
      case kAsleep:
        self.state.change(kAsleep, kIdle);
        continue;
      case kCalled:
        if (!self.state.change(kCalled, kWork)) {
          continue;
        }
        break;
      case kQuit:
        return nullptr;
      default:  // kWork, kAwaited
        break;
    }
    run_share(self);
    if (self.state.exchange(kIdle) == kAwaited) {
      wake_sleeper(self.state);
    }
  }
}

// The caller is never moved, but the kernel may have moved it onto a worker's CPU, where the two
// would take turns. That worker then gets the CPU the caller left.
void step_aside(Pool& pool, int here) {
  for (int32_t i = 0; i < pool.workers; ++i) {
    Worker& w = pool.worker[i];
    if (w.cpu.change(here, pool.home)) {
      const int32_t tid = w.tid.fetch_add(0);
      if (tid != 0) {
        pin(w, tid, pool.home);
      }
    }
  }
  pool.home = here;
}

void post(Worker& w, tenon_body body, void* closure, Share s) {
  w.body = body;
  w.closure = closure;
  w.begin = s.begin;
  w.end = s.end;
  w.wakes[0] = w.wakes[1] = nullptr;
}

// Sleepers are woken as a binary tree: the caller wakes the first, each wakes two more.
void start(Pool& pool, tenon_body body, void* closure, int64_t n, int32_t parts) {
  int32_t asleep = 0;
  for (int32_t i = 0; i < parts - 1; ++i) {
    Worker& w = pool.worker[i];
    post(w, body, closure, share(n, parts, i + 1));
    if (!w.state.change(kIdle, kWork)) {
      pool.sleepers[asleep++] = &w;
    }
  }
  // Last to first: whoever comes early must find the ones it wakes already called.
  for (int32_t i = asleep - 1; i >= 0; --i) {
    Worker& w = *pool.sleepers[i];
    for (int32_t child = 0; child < 2; ++child) {
      const int32_t at = 2 * i + 1 + child;
      w.wakes[child] = at < asleep ? pool.sleepers[at] : nullptr;
    }
    w.state.exchange(kCalled);
  }
  if (asleep > 0) {
    wake_sleeper(pool.sleepers[0]->state);
  }
}

void join(Pool& pool, int32_t parts) {
  for (int32_t i = 0; i < parts - 1; ++i) {
    Worker& w = pool.worker[i];
    if (w.state.relaxed() == kCalled && w.state.change(kCalled, kAsleep)) {
      run_share(w);
      continue;
    }
    if (spin_while(w.state, kWork, pool.caller_spin_ns) == kWork &&
        w.state.change(kWork, kAwaited)) {
      while (w.state.acquire() == kAwaited) {
        sleep_if(w.state, kAwaited);
      }
    }
  }
}

void parallel(const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
  if (n <= 0) {
    return;
  }
  Pool& pool = *static_cast<Pool*>(rt->pool);
  const int32_t threads = pool.workers + 1;
  if (n == 1 || threads == 1 || pool.mark.in_child() || pool.busy.exchange(true)) {
    body(closure, 0, n);
    return;
  }
  if (pool.pinned) {
    const int here = sched_getcpu();
    if (here != pool.home) [[unlikely]] {
      step_aside(pool, here);
    }
  }
  const int32_t parts = n < threads ? static_cast<int32_t>(n) : threads;
  start(pool, body, closure, n, parts);
  const Share mine = share(n, parts, 0);
  body(closure, mine.begin, mine.end);
  join(pool, parts);
  pool.busy.release(false);
}

// The pool, its workers and the scratch list in one block.
Pool* allocate(int32_t workers) {
  const size_t count = static_cast<size_t>(workers);
  const size_t head = (sizeof(Pool) + sizeof(Worker*) * count + 127) / 128 * 128;
  void* block = nullptr;
  if (posix_memalign(&block, alignof(Worker), head + sizeof(Worker) * count) != 0) {
    return nullptr;
  }
  Pool* pool = new (InPlace{block}) Pool;
  pool->sleepers = reinterpret_cast<Worker**>(pool + 1);
  pool->worker = reinterpret_cast<Worker*>(static_cast<char*>(block) + head);
  for (size_t i = 0; i < count; ++i) {
    new (InPlace{&pool->worker[i]}) Worker;
  }
  pool->runtime = {parallel, pool, workers + 1};
  return pool;
}

// Workers take no signals: the host's handlers run on the host's threads.
bool start_workers(Pool& pool, int32_t count) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return false;
  }
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; pool.workers < count; ++pool.workers) {
    Worker& w = pool.worker[pool.workers];
    if (pthread_create(&w.thread, &attributes, worker_main, &w) != 0) {
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return pool.workers == count;
}

// With more threads than CPUs spinning keeps others from their work, and pinning would fix a bad
// balance.
void fit_to_machine(Pool& pool, int32_t workers) {
  const CpuList list = usable_cpus();
  if (workers + 1 > list.count) {
    return;
  }
  pool.pinned = true;
  pool.home = list.cpus[0];
  pool.caller_spin_ns = kCallerSpinNs;
  for (int32_t i = 0; i < workers; ++i) {
    pool.worker[i].spin_ns = kWorkerSpinNs;
    pool.worker[i].cpu.release(list.cpus[i + 1]);
  }
}

void stop_workers(Pool& pool) {
  for (int32_t i = 0; i < pool.workers; ++i) {
    if (pool.worker[i].state.exchange(kQuit) == kAsleep) {
      wake_sleeper(pool.worker[i].state);
    }
  }
  for (int32_t i = 0; i < pool.workers; ++i) {
    pthread_join(pool.worker[i].thread, nullptr);
  }
}

void destroy(Pool* pool) {
  if (!pool->mark.in_child()) {  // a child of fork() has no workers to wait for
    stop_workers(*pool);
  }
  pool->mark.clear();
  free(pool);
}

}  // namespace
}  // namespace tenon::runtime

extern "C" const tenon_runtime* tenon_runtime_create(int32_t threads) {
  using namespace tenon::runtime;
  if (threads < 1) {
    return nullptr;
  }
  Pool* pool = allocate(threads - 1);
  if (pool == nullptr) {
    return nullptr;
  }
  pool->mark.set();
  fit_to_machine(*pool, threads - 1);
  if (!start_workers(*pool, threads - 1)) {
    destroy(pool);
    return nullptr;
  }
  return &pool->runtime;
}

extern "C" void tenon_runtime_destroy(const tenon_runtime* rt) {
  if (rt != nullptr) {
    tenon::runtime::destroy(static_cast<tenon::runtime::Pool*>(rt->pool));
  }
}
