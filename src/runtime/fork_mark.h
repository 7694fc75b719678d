// SPDX-License-Identifier: Apache-2.0
// Knowing that fork() has copied this process since an object was made: the copy has the object's memory, but none of
// its threads.
//
// A page that the kernel hands to children filled with zeros. Unlike pthread_atfork() it costs a load to
// look at, needs nothing to be taken back when a library is unloaded, and sees every way to fork.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/atomic.h"

namespace tenon::runtime {

class ForkMark {
 public:
  void set() {
    owner_ = static_cast<int32_t>(syscall(SYS_getpid));
    void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
      return;
    }
    if (madvise(page, kBytes, MADV_WIPEONFORK) != 0) {  // Linux before 4.14
      munmap(page, kBytes);
      return;
    }
    here_ = static_cast<Atomic<uint32_t>*>(page);
    here_->release(1);
  }
  void clear() {
    if (here_ != nullptr) {
      munmap(here_, kBytes);
      here_ = nullptr;
    }
  }
  // True in a process other than the one that called set().
  bool in_child() const {
    return here_ != nullptr ? here_->relaxed() == 0
                            : static_cast<int32_t>(syscall(SYS_getpid)) != owner_;
  }

 private:
  static constexpr size_t kBytes = 4096;
  Atomic<uint32_t>* here_ = nullptr;  // null: the kernel wipes no pages, processes are compared
  int32_t owner_ = 0;
};

}  // namespace tenon::runtime
