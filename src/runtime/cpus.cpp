// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tenon::runtime {
namespace {

// Saturates at a limit that no count here comes near.
int read_number(const char*& at) {
  int value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    value = value < 100'000'000 ? value * 10 + (*at - '0') : value;
  }
  return value;
}

// Removes from `set` every CPU of the list "0-3,8,10-11\n".
void remove_listed(const char* at, cpu_set_t& set) {
  while (*at >= '0' && *at <= '9') {
    const int first = read_number(at);
    int last = first;
    if (*at == '-') {
      last = read_number(++at);
    }
    for (int cpu = first; cpu <= last && cpu < kMaxCpus; ++cpu) {
      CPU_CLR(static_cast<unsigned>(cpu), &set);
    }
    at += *at == ',' ? 1 : 0;
  }
}

// Reads at most `size` - 1 bytes; an empty text where there is no such file.
void read_text(const char* path, char* text, size_t size) {
  text[0] = 0;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return;
  }
  const auto length = read(file, text, size - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
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
  char text[64];
  read_text("/sys/fs/cgroup/cpu.max", text, sizeof text);  // "max 100000" or "150000 100000"
  const char* at = text;
  const int quota = read_number(at);
  at += *at == ' ' ? 1 : 0;
  const int period = read_number(at);
  const int granted = quota > 0 && period > 0 ? (quota - 1) / period + 1 : cores;
  const int threads = granted < cores ? granted : cores;
  return threads > 0 ? threads : 1;
}

}  // namespace tenon::runtime
