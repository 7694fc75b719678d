// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "runtime/quota.h"
#include "runtime/text_file.h"

namespace tenon::runtime {
namespace {

// The CPUs of the list "0-3,8,10-11\n" in a file about one CPU; empty where there is no such file.
cpu_set_t listed(int cpu, const char* file) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
  char text[1024];
  read_text(path, text, sizeof text);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const char* at = text; *at >= '0' && *at <= '9'; at += *at == ',' ? 1 : 0) {
    const int64_t first = read_number(at);
    int64_t last = first;
    if (*at == '-') {
      last = read_number(++at);
    }
    for (int64_t i = first; i <= last && i < kMaxCpus; ++i) {
      CPU_SET(static_cast<unsigned>(i), &set);
    }
  }
  return set;
}

bool has(const cpu_set_t& set, int cpu) { return CPU_ISSET(static_cast<unsigned>(cpu), &set); }

// Without the file (containers, other kernels) each CPU counts as a core of its own.
void remove_core(int cpu, cpu_set_t& set) {
  const cpu_set_t siblings = listed(cpu, "topology/thread_siblings_list");
  for (int i = 0; i < kMaxCpus; ++i) {
    if (i == cpu || has(siblings, i)) {
      CPU_CLR(static_cast<unsigned>(i), &set);
    }
  }
}

void take(CpuList& list, int cpu, cpu_set_t& left) {
  list.cpus[list.count++] = cpu;
  CPU_CLR(static_cast<unsigned>(cpu), &left);
}

// How far a CPU is from the first one of the list.
class Distance {
 public:
  explicit Distance(int from)
      : cache_(listed(from, "cache/index3/shared_cpu_list")),
        socket_(listed(from, "topology/package_cpus_list")) {}
  static constexpr int kFarthest = 2;
  int operator()(int cpu) const { return has(cache_, cpu) ? 0 : has(socket_, cpu) ? 1 : kFarthest; }

 private:
  cpu_set_t cache_, socket_;
};

// The CPU that a thread is pinned to; -1: there are several.
int pinned_to(int64_t tid) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (syscall(SYS_sched_getaffinity, tid, sizeof mask, &mask) <= 0) {
    return -1;
  }
  int only = -1;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (has(mask, cpu)) {
      if (only >= 0) {
        return -1;
      }
      only = cpu;
    }
  }
  return only;
}

// As the kernel writes it for getdents64.
struct Entry {
  uint64_t inode;
  int64_t next;
  uint16_t bytes;
  uint8_t type;
  char name[];
};

// CPUs that other threads of this process are pinned to.
cpu_set_t held_cpus() {
  cpu_set_t held;
  CPU_ZERO(&held);
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    return held;
  }
  const int64_t self = syscall(SYS_gettid);
  alignas(Entry) char entries[4096];
  for (;;) {
    const int64_t got = syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (got <= 0) {
      break;
    }
    for (int64_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      at += entry->bytes;
      const char* name = entry->name;
      const int64_t tid = read_number(name);  // 0: "." and ".."
      const int cpu = tid > 0 && tid != self ? pinned_to(tid) : -1;
      if (cpu >= 0) {
        CPU_SET(static_cast<unsigned>(cpu), &held);
      }
    }
  }
  close(folder);
  return held;
}

}  // namespace

CpuList usable_cpus() {
  CpuList list;
  cpu_set_t left;
  CPU_ZERO(&left);
  // By the system call, see pin() in pool.cpp.
  if (syscall(SYS_sched_getaffinity, 0, sizeof left, &left) <= 0) {
    return list;
  }
  cpu_set_t cores = left;  // shrinks by a whole core at a time
  const int here = sched_getcpu();
  if (here >= 0 && here < kMaxCpus && has(left, here)) {
    take(list, here, left);
    remove_core(here, cores);
  }
  const Distance distance(here);
  for (int far = 0; far <= Distance::kFarthest; ++far) {
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
      if (has(cores, cpu) && distance(cpu) == far) {
        take(list, cpu, left);
        remove_core(cpu, cores);
      }
    }
  }
  list.cores = list.count;
  for (int far = 0; far <= Distance::kFarthest; ++far) {
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
      if (has(left, cpu) && distance(cpu) == far) {
        take(list, cpu, left);
      }
    }
  }
  return list;
}

int put_unheld_first(CpuList& list) {
  const cpu_set_t held = held_cpus();
  const CpuList before = list;
  int count = list.count > 0 ? 1 : 0;
  for (int i = 1; i < before.count; ++i) {
    if (!has(held, before.cpus[i])) {
      list.cpus[count++] = before.cpus[i];
    }
  }
  for (int i = 1, at = count; i < before.count; ++i) {
    if (has(held, before.cpus[i])) {
      list.cpus[at++] = before.cpus[i];
    }
  }
  return count;
}

int default_threads() {
  const int cores = usable_cpus().cores;
  const int granted = granted_cpus("");
  const int threads = granted > 0 && granted < cores ? granted : cores;
  return threads > 0 ? threads : 1;
}

}  // namespace tenon::runtime
