// SPDX-License-Identifier: Apache-2.0
#include "measure/run/cpu.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/run/guarded.h"
#include "measure/run/timing.h"
#include "measure/wire.h"
#include "runtime/cpus.h"
#include "tenon/runtime.h"

namespace tenon::run {
namespace {

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
    entry_ = reinterpret_cast<tenon_kernel>(dlsym(handle_, measure::kEntry));
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
    const auto cpus = runtime::usable_cpus();
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

// All buffers of this device are such.
Guarded& guarded(const std::unique_ptr<Buffer>& b) { return static_cast<Guarded&>(*b); }

class CpuKernel : public Kernel {
 public:
  CpuKernel(const std::string& module, const tenon_runtime* rt, CoreProbe& probe)
      : library_(module), rt_(rt), probe_(probe) {
    if (!library_.whole()) throw Unable("no memory for the library");
    if (library_.entry() != nullptr) return;
    const char* why = dlerror();
    throw Unfit(why != nullptr ? why : "the library cannot be loaded");
  }

  void launch(const Arguments& a) override {
    const std::vector<void*> pointers = pointers_of(a);
    library_.entry()(pointers.data(), guarded(a.workspace).data(), rt_);
  }

  std::vector<double> time(const Arguments& a, const TimingRules& rules) override {
    const std::vector<void*> pointers = pointers_of(a);
    char* workspace = guarded(a.workspace).data();
    const auto flush = [&] {
      for (size_t i = 0; i < a.params.size(); ++i) {
        if (rules.flushed[i]) guarded(a.params[i]).flush();
      }
    };
    return repeat([&] { library_.entry()(pointers.data(), workspace, rt_); }, flush, rules, probe_);
  }

 private:
  static std::vector<void*> pointers_of(const Arguments& a) {
    std::vector<void*> pointers;
    pointers.reserve(a.params.size());
    for (const auto& p : a.params) pointers.push_back(guarded(p).data());
    return pointers;
  }

  Library library_;
  const tenon_runtime* rt_;
  CoreProbe& probe_;
};

class Cpu : public Device {
 public:
  std::unique_ptr<Buffer> allocate(int64_t bytes, Place place) override {
    return std::make_unique<Guarded>(bytes, place);
  }

  std::unique_ptr<Kernel> load(const std::string& module, int threads) override {
    const tenon_runtime* rt = threads_.get(threads);
    if (rt == nullptr) throw Unable("cannot start threads");
    return std::make_unique<CpuKernel>(module, rt, probe_);
  }

 private:
  Threads threads_;
  CoreProbe probe_;
};

}  // namespace

std::unique_ptr<Device> open_cpu() { return std::make_unique<Cpu>(); }

}  // namespace tenon::run
