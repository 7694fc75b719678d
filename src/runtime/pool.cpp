// SPDX-License-Identifier: Apache-2.0
// The threads behind tenon_runtime. Workers watch the desks of region.h, spin for a while when there is nothing to do and
// then sleep. A caller that finds workers asleep wakes one, which wakes two more: a small region after a pause costs a
// system call, not the time a sleeping CPU takes to come back, because the caller runs the shares of sleepers itself.
#include "runtime/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "runtime/fork_mark.h"
#include "runtime/quota.h"
#include "runtime/region.h"

namespace tenon::runtime {
namespace {

constexpr size_t kStackBytes = size_t{8} << 20;
// Long enough to bridge the serial code between two kernels; short enough to cost an idle process
// nothing.
constexpr int64_t kWorkerSpinNs = 50'000;
// The caller waits for others' pieces: sleeping sooner would add a wake-up to the latency of the
// region.
constexpr int64_t kCallerSpinNs = 200'000;
// Where others need the CPU, or a quota counts the time.
constexpr int64_t kShortSpinNs = 5'000;
// Of a share: with halves taken first, a thread makes four calls, and the last one is an eighth.
constexpr int32_t kPieces = 8;
// Callers that are served at once; one more runs its loop alone.
constexpr int32_t kDesks = 4;

struct Pool;

struct alignas(128) Worker {
  Pool* pool = nullptr;
  int32_t index = 0;           // of its shares; 0 is the caller's
  Word asleep{0};              // 1: sleeps, or is about to
  Atomic<int32_t> cpu{-1};     // pinned to; -1: not pinned
  Atomic<int32_t> tid{0};      // of the kernel
  Word ready{0};               // 1: it runs where it is to run
  uint64_t seen[kDesks] = {};  // the region of each desk that it knows
  pthread_t thread{};
};

struct Pool {
  tenon_runtime runtime{};
  ForkMark mark;
  bool pinned = false;
  int32_t threads = 1;  // that run, the caller's among them
  int32_t started = 0;  // workers
  int64_t worker_spin_ns = 0;
  int64_t caller_spin_ns = 0;
  Worker* workers = nullptr;
  alignas(128) Sleepers sleepers;
  Desk desks[kDesks];
};

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
  const int32_t now = self.cpu.load();
  if (now >= 0 && now != cpu) {
    pin(self, tid, now);
  }
  self.ready.exchange(1);
  wake_sleeper(self.ready);
}

// A desk with a region that the worker has not seen; null: there is none.
Desk* find_news(Worker& self) {
  for (int32_t d = 0; d < kDesks; ++d) {
    const uint64_t region = self.pool->desks[d].region.load();
    if (region != self.seen[d] && region % 2 == 0) {
      self.seen[d] = region;
      return &self.pool->desks[d];
    }
  }
  return nullptr;
}

// Wakes up to `count` threads that have a share.
void wake_some(Pool& pool, int32_t parts, int count) {
  for (; count > 0; --count) {
    const int32_t thread = pool.sleepers.take_first(parts);
    if (thread < 0) {
      return;
    }
    Worker& w = pool.workers[thread - 1];
    w.asleep.exchange(0);
    wake_sleeper(w.asleep);
  }
}

// Whoever publishes a region looks for sleepers afterwards; this looks for regions after it became one.
Desk* sleep_for_news(Worker& self) {
  self.asleep.exchange(1);
  self.pool->sleepers.add(self.index);
  Desk* news = find_news(self);
  while (news == nullptr && self.asleep.acquire() == 1) {
    sleep_if(self.asleep, 1);
  }
  self.pool->sleepers.remove(self.index);
  return news;
}

// `deadline` is when the worker falls asleep, 0: from now on counted.
Desk& wait_for_news(Worker& self, int64_t& deadline, bool& slept) {
  for (int looks = 0;; ++looks) {
    Desk* news = find_news(self);
    if (news != nullptr) {
      return *news;
    }
    pause_cpu();
    if (looks % 64 != 63) {
      continue;
    }
    const int64_t now = now_ns();
    deadline = deadline == 0 ? now + self.pool->worker_spin_ns : deadline;
    if (now >= deadline) {
      news = sleep_for_news(self);
      slept = true;
      deadline = 0;
      if (news != nullptr) {
        return *news;
      }
    }
  }
}

void* worker_main(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  Pool& pool = *self.pool;
  pin_self(self);
  int64_t deadline = 0;
  for (;;) {
    bool slept = false;
    Desk& desk = wait_for_news(self, deadline, slept);
    const uint64_t region = self.seen[&desk - pool.desks];
    Job job;
    if (!read_job(desk, region, job)) {
      continue;
    }
    if (job.body == nullptr) {
      return nullptr;
    }
    if (self.index >= job.parts) {
      continue;
    }
    if (slept) {
      wake_some(pool, job.parts, 2);
    }
    run_own(desk, region, job, self.index);
    if (job.pieces > 1) {
      run_others(desk, region, job, self.index, pool.sleepers, true);
    }
    leave(desk);
    deadline = 0;
  }
}

const void* this_thread() {
#if defined(__x86_64__)
  const void* pointer = nullptr;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
#else
  return __builtin_thread_pointer();
#endif
}

// The caller is never moved, but the kernel may have moved it onto a worker's CPU, where the two
// would take turns. That worker then gets the CPU the caller left.
void step_aside(Pool& pool, Desk& desk) {
  const int here = sched_getcpu();
  const void* caller = this_thread();
  if (here == desk.home && caller == desk.caller) [[likely]] {
    return;
  }
  // Several threads that share a desk would send a worker to and fro.
  const bool moved = desk.caller == caller || desk.caller == nullptr;
  for (int32_t i = 0; moved && i < pool.started; ++i) {
    Worker& w = pool.workers[i];
    if (w.cpu.relaxed() == here && w.cpu.change(here, desk.home)) {
      const int32_t tid = w.tid.load();
      if (tid != 0) {
        pin(w, tid, desk.home);
      }
    }
  }
  desk.caller = caller;
  desk.home = here;
}

// A thread comes back to the desk where it was last, unless another one is there. Null: all are taken.
Desk* take_desk(Pool& pool) {
  const auto first = reinterpret_cast<uintptr_t>(this_thread()) >> 12;
  for (uintptr_t i = 0; i < kDesks; ++i) {
    Desk& desk = pool.desks[(first + i) % kDesks];
    if (!desk.busy.relaxed() && !desk.busy.exchange(true)) {
      return &desk;
    }
  }
  return nullptr;
}

void run_region(Pool& pool, Desk& desk, const Job& job) {
  expect_all(desk, job);
  publish(desk, job);
  wake_some(pool, job.parts, 1);
  const uint64_t region = desk.region.relaxed();
  run_own(desk, region, job, 0);
  const bool single = job.pieces == 1;
  if (single && finish_soon(desk, job)) {
    return;
  }
  run_others(desk, region, job, 0, pool.sleepers, !single);
  join(desk, job, pool.caller_spin_ns);
}

void parallel(const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
  if (n <= 0) {
    return;
  }
  Pool& pool = *static_cast<Pool*>(rt->pool);
  Desk* desk = nullptr;
  if (n == 1 || pool.threads == 1 || pool.mark.in_child() || (desk = take_desk(pool)) == nullptr) {
    body(closure, 0, n);
    return;
  }
  if (pool.pinned) {
    step_aside(pool, *desk);
  }
  const int32_t parts = n < pool.threads ? static_cast<int32_t>(n) : pool.threads;
  const int64_t longest = (n - 1) / parts + 1;
  const auto pieces = static_cast<int32_t>(longest < kPieces ? longest : kPieces);
  run_region(pool, *desk, {body, closure, n, parts, pieces});
  desk->busy.release(false);
}

// Hands out parts of one block; without one, only their sum is of interest.
struct Block {
  char* at;
  size_t bytes = 0;
  template <class T>
  T* take(size_t count) {
    bytes = (bytes + alignof(T) - 1) / alignof(T) * alignof(T);
    T* part = at != nullptr ? reinterpret_cast<T*>(at + bytes) : nullptr;
    for (size_t i = 0; part != nullptr && i < count; ++i) {
      new (InPlace{part + i}) T{};
    }
    bytes += count * sizeof(T);
    return part;
  }
};

Pool* lay_out(Block& block, size_t threads) {
  Pool* pool = block.take<Pool>(1);
  Worker* workers = block.take<Worker>(threads - 1);
  for (int32_t d = 0; d < kDesks; ++d) {
    Progress* progress = block.take<Progress>(threads);
    auto* expected = block.take<int64_t>(threads);
    if (pool != nullptr) {
      pool->desks[d].progress = progress;
      pool->desks[d].expected = expected;
    }
  }
  if (pool != nullptr) {
    pool->workers = workers;
  }
  return pool;
}

Pool* allocate(const PoolPlan& plan, int32_t threads) {
  Block sizes{nullptr};
  lay_out(sizes, static_cast<size_t>(plan.threads));
  void* memory = nullptr;
  if (posix_memalign(&memory, alignof(Pool), sizes.bytes) != 0) {
    return nullptr;
  }
  Block block{static_cast<char*>(memory)};
  Pool* pool = lay_out(block, static_cast<size_t>(plan.threads));
  pool->runtime = {parallel, pool, threads};
  pool->threads = plan.threads;
  pool->pinned = plan.pinned;
  pool->worker_spin_ns = plan.worker_spin_ns;
  pool->caller_spin_ns = plan.caller_spin_ns;
  for (Desk& desk : pool->desks) {
    desk.beside = plan.threads == 2 ? 1 : -1;
    desk.home = plan.pinned ? plan.cpus[0] : -1;
  }
  for (int32_t i = 0; i < plan.threads - 1; ++i) {
    pool->workers[i].pool = pool;
    pool->workers[i].index = i + 1;
    pool->workers[i].cpu.relaxed(plan.pinned ? plan.cpus[i + 1] : -1);
  }
  return pool;
}

// Workers take no signals: the host's handlers run on the host's threads.
bool start_workers(Pool& pool) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return false;
  }
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; pool.started < pool.threads - 1; ++pool.started) {
    Worker& w = pool.workers[pool.started];
    if (pthread_create(&w.thread, &attributes, worker_main, &w) != 0) {
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  for (int32_t i = 0; pool.pinned && i < pool.started; ++i) {
    while (pool.workers[i].ready.acquire() == 0) {
      sleep_if(pool.workers[i].ready, 0);
    }
  }
  return pool.started == pool.threads - 1;
}

void stop_workers(Pool& pool) {
  publish(pool.desks[0], {});
  wake_some(pool, pool.threads, pool.threads);
  for (int32_t i = 0; i < pool.started; ++i) {
    pthread_join(pool.workers[i].thread, nullptr);
  }
}

void destroy(Pool* pool) {
  if (!pool->mark.in_child()) {  // a child of fork() has no workers to wait for
    stop_workers(*pool);
  }
  pool->mark.clear();
  free(pool);
}

// Pools that are planned at the same time would find the same CPUs free. Waits a while and then goes on without: in a
// child of fork() nobody is left to unlock.
class PlanLock {
 public:
  PlanLock() {
    for (int tries = 0; tries < 1000 && !mine_; ++tries) {
      mine_ = locked().change(0, 1);
      if (!mine_) {
        const timespec pause{0, 100'000};
        syscall(SYS_nanosleep, &pause, nullptr);
      }
    }
  }
  ~PlanLock() {
    if (mine_) {
      locked().release(0);
    }
  }
  PlanLock(const PlanLock&) = delete;
  PlanLock& operator=(const PlanLock&) = delete;

 private:
  static Word& locked() {
    static Word word{0};
    return word;
  }
  bool mine_ = false;
};

}  // namespace

PoolPlan plan_pool(int32_t threads) {
  PoolPlan plan;
  CpuList list = usable_cpus();
  if (list.count == 0) {  // unknown
    plan.threads = threads < kMaxCpus ? threads : kMaxCpus;
    return plan;
  }
  const int unheld = put_unheld_first(list);
  const int granted = granted_cpus("");
  plan.threads = threads < list.count ? threads : list.count;
  const bool tight = plan.threads > unheld || (granted > 0 && granted < plan.threads);
  plan.pinned = plan.threads <= unheld;
  plan.worker_spin_ns = tight ? kShortSpinNs : kWorkerSpinNs;
  plan.caller_spin_ns = tight ? kShortSpinNs : kCallerSpinNs;
  for (int i = 0; i < list.count; ++i) {
    plan.cpus[i] = list.cpus[i];
  }
  return plan;
}

const tenon_runtime* create_pool(const PoolPlan& plan, int32_t threads) {
  Pool* pool = allocate(plan, threads);
  if (pool == nullptr) {
    return nullptr;
  }
  pool->mark.set();
  if (!start_workers(*pool)) {
    destroy(pool);
    return nullptr;
  }
  return &pool->runtime;
}

}  // namespace tenon::runtime

extern "C" const tenon_runtime* tenon_runtime_create(int32_t threads) {
  using namespace tenon::runtime;
  if (threads < 1) {
    return nullptr;
  }
  const PlanLock lock;
  return create_pool(plan_pool(threads), threads);
}

extern "C" void tenon_runtime_destroy(const tenon_runtime* rt) {
  if (rt != nullptr) {
    tenon::runtime::destroy(static_cast<tenon::runtime::Pool*>(rt->pool));
  }
}
