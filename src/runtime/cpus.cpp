// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "runtime/quota.h"
#include "runtime/text_file.h"

namespace tenon::runtime {
namespace {

// Removes from `set` every CPU of the list "0-3,8,10-11\n".
void remove_listed(const char* at, cpu_set_t& set) {
  while (*at >= '0' && *at <= '9') {
    const int64_t first = read_number(at);
    int64_t last = first;
    if (*at == '-') {
      last = read_number(++at);
    }
    for (int64_t cpu = first; cpu <= last && cpu < kMaxCpus; ++cpu) {
      CPU_CLR(static_cast<unsigned>(cpu), &set);
    }
    at += *at == ',' ? 1 : 0;
  }
}

// Without the file (containers, other kernels) each CPU counts as a core of its own.
void remove_siblings(int cpu, cpu_set_t& set) {
  CPU_CLR(static_cast<unsigned>(cpu), &set);
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  char text[256];
  read_text(path, text, sizeof text);
  remove_listed(text, set);
}

void take(CpuList& list, int cpu, cpu_set_t& left) {
  list.cpus[list.count++] = cpu;
  CPU_CLR(static_cast<unsigned>(cpu), &left);
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
  if (here >= 0 && here < kMaxCpus && CPU_ISSET(static_cast<unsigned>(here), &left)) {
    take(list, here, left);
    remove_siblings(here, cores);
  }
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &cores)) {
      take(list, cpu, left);
      remove_siblings(cpu, cores);
    }
  }
  list.cores = list.count;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &left)) {
      take(list, cpu, left);
    }
  }
  return list;
}

int default_threads() {
  const int cores = usable_cpus().cores;
  const int granted = granted_cpus("");
  const int threads = granted > 0 && granted < cores ? granted : cores;
  return threads > 0 ? threads : 1;
}

}  // namespace tenon::runtime
