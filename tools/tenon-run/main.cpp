// SPDX-License-Identifier: Apache-2.0
// Runs candidates for tenon tune, one at a time, in guarded memory. Started and watched by the measurer; what a
// candidate does to this process ends with it.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "measure/wire.h"
#include "runtime/cpus.h"
#include "tenon/runtime.h"
#include "tools/tenon-run/guarded.h"
#include "tools/tenon-run/timing.h"

namespace {

using tenon::measure::Got;
using tenon::measure::Message;
using tenon::measure::Param;
using tenon::measure::RunJob;
using tenon::run::Guarded;
using tenon::run::Place;

// A shared library from bytes; no file has a name.
class Library {
 public:
  explicit Library(const std::string& bytes) : fd_(memfd_create("candidate", MFD_CLOEXEC)) {
    size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t n = write(fd_, bytes.data() + at, bytes.size() - at);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
    whole_ = true;
    const std::string path = "/proc/self/fd/" + std::to_string(fd_);
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) return;
    entry_ = reinterpret_cast<tenon_kernel>(dlsym(handle_, tenon::measure::kEntry));
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
    close(fd_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  bool whole() const { return whole_; }  // there was room for it
  tenon_kernel entry() const { return entry_; }

 private:
  int fd_;
  bool whole_ = false;
  void* handle_ = nullptr;
  tenon_kernel entry_ = nullptr;
};

// The pool for the number of threads asked for; this thread stays on the CPU that the pool left for it.
class Threads {
 public:
  Threads() { sched_getaffinity(0, sizeof all_, &all_); }
  ~Threads() { tenon_runtime_destroy(runtime_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  const tenon_runtime* get(int threads) {
    if (runtime_ != nullptr && runtime_->threads == threads) return runtime_;
    if (runtime_ != nullptr) tenon_runtime_destroy(runtime_);
    sched_setaffinity(0, sizeof all_, &all_);
    const auto cpus = tenon::runtime::usable_cpus();
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpus.count > 0) CPU_SET(static_cast<size_t>(cpus.cpus[0]), &one);
    const bool pinned = cpus.count >= threads && sched_setaffinity(0, sizeof one, &one) == 0;
    // Here, and with a choice for the others.
    if (pinned) sched_setaffinity(0, sizeof all_, &all_);
    runtime_ = tenon_runtime_create(threads);
    if (pinned) sched_setaffinity(0, sizeof one, &one);
    return runtime_;
  }

 private:
  cpu_set_t all_;
  const tenon_runtime* runtime_ = nullptr;
};

class Memory {
 public:
  explicit Memory(const RunJob& job)
      : workspace_(job.workspace_bytes, job.check ? Place::kBack : Place::kFront) {
    std::memset(workspace_.data(), job.poison, static_cast<size_t>(workspace_.bytes()));
    for (const Param& p : job.params) {
      params_.push_back(
          std::make_unique<Guarded>(p.bytes, job.check ? Place::kBack : Place::kFront));
      pointers_.push_back(params_.back()->data());
      if (p.role == 'o') {
        std::memset(pointers_.back(), job.poison, static_cast<size_t>(p.bytes));
      } else if (!job.check) {
        params_.back()->fill(p.dtype);
      }
    }
  }

  void run(tenon_kernel kernel, const tenon_runtime* rt) const {
    kernel(pointers_.data(), workspace_.data(), rt);
  }
  const Guarded& param(size_t i) const { return *params_[i]; }
  // Empty, or where something was written that is not the kernel's.
  std::string damage() const {
    for (size_t i = 0; i < params_.size(); ++i) {
      if (!params_[i]->intact()) return "wrote outside of parameter " + std::to_string(i);
    }
    return workspace_.intact() ? "" : "wrote outside of the workspace";
  }

 private:
  Guarded workspace_;
  std::vector<std::unique_ptr<Guarded>> params_;
  std::vector<void*> pointers_;
};

Message time_kernel(const RunJob& job, tenon_kernel kernel, const tenon_runtime* rt) {
  const Memory memory(job);
  const auto flush = [&] {
    for (size_t i = 0; i < job.params.size(); ++i) {
      if (job.params[i].role != 'i') memory.param(i).flush();
    }
  };
  const auto seconds = tenon::run::repeat([&] { memory.run(kernel, rt); }, flush,
                                          {.min_run_s = job.min_run_s, .cold = job.cold});
  if (std::string why = memory.damage(); !why.empty()) return {"wrong", why};
  Message m = {"ok"};
  for (const double s : seconds) m.push_back(tenon::measure::to_text(s));
  return m;
}

Message check_kernel(const RunJob& job, tenon_kernel kernel, const tenon_runtime* rt) {
  const auto at = tenon::measure::offsets(job.params);
  const auto all = static_cast<size_t>(at.back());
  void* p = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED, tenon::measure::kMemory, 0);
  if (p == MAP_FAILED) return {"unable", "no shared memory"};
  char* shared = static_cast<char*>(p);
  const Memory memory(job);
  const auto each = [&](bool output, auto&& fn) {
    for (size_t i = 0; i < job.params.size(); ++i) {
      if ((job.params[i].role == 'o') == output) {
        fn(i, shared + at[i], memory.param(i).data(), static_cast<size_t>(job.params[i].bytes));
      }
    }
  };
  each(false, [](size_t, char* from, char* to, size_t n) { std::memcpy(to, from, n); });
  memory.run(kernel, rt);
  std::string why = memory.damage();
  each(false, [&](size_t i, const char* before, const char* now, size_t n) {
    if (std::memcmp(before, now, n) != 0) why = "wrote to input " + std::to_string(i);
  });
  each(true, [](size_t, char* to, const char* from, size_t n) { std::memcpy(to, from, n); });
  munmap(shared, all);
  return why.empty() ? Message{"ok"} : Message{"wrong", why};
}

Message answer(const Message& request, Threads& threads) {
  RunJob job;
  if (!decode(request, job)) return {"failed", "not a request"};
  const tenon_runtime* rt = threads.get(job.threads);
  if (rt == nullptr) return {"unable", "cannot start threads"};
  const Library library(job.library);
  if (!library.whole()) return {"unable", "no memory for the library"};
  if (library.entry() == nullptr) {
    const char* why = dlerror();
    return {"failed", why != nullptr ? why : "the library cannot be loaded"};
  }
  // Should the one that watches be gone as well, this process does not spin for ever.
  alarm(static_cast<unsigned>(std::ceil(tenon::measure::kPatience * job.limit_s)) + 5);
  Message m;
  try {
    m = job.check ? check_kernel(job, library.entry(), rt) : time_kernel(job, library.entry(), rt);
  } catch (const std::bad_alloc&) {
    m = {"failed", "no memory for its arguments"};
  }
  alarm(0);
  return m;
}

}  // namespace

int main(int argc, char**) {
  Message request;
  if (argc != 1 || !tenon::measure::has_channel()) {
    fprintf(stderr, "tenon-run is a part of tenon that measures; it is not started by hand\n");
    return 2;
  }
  tenon::measure::exit_when_left(tenon::measure::kChannel, nullptr);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  Threads threads;
  while (tenon::measure::receive(tenon::measure::kChannel, request) == Got::kMessage) {
    const Message said = answer(request, threads);
    if (tenon::measure::send(tenon::measure::kChannel, said) != Got::kMessage) break;
  }
  return 0;
}
