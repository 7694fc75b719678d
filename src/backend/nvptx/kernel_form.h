// SPDX-License-Identifier: Apache-2.0
// A KernelForm says what a kernel is in LLVM IR: how it gets its arguments, its thread's numbers and shared memory, and
// how it waits for the other threads of its block. There are two forms: PTX for a GPU, and a function of this machine that
// src/simt calls once for each thread.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "backend/nvptx/nests.h"
#include "ir/ir.h"

namespace tenon::backend::nvptx {

class KernelForm {
 public:
  virtual ~KernelForm() = default;
  // Makes the function and its entry block, where the builder then is.
  virtual llvm::Function* begin(llvm::Module& module, llvm::IRBuilder<>& b, const std::string& name,
                                const Nest& nest) = 0;
  // Inside the function begun last. `alone`: nothing else of the kernel points there.
  virtual llvm::Value* argument(llvm::IRBuilder<>& b, size_t number, bool alone) = 0;
  virtual llvm::Value* thread_number(llvm::IRBuilder<>& b, ir::ThreadTag tag, int64_t extent) = 0;
  virtual llvm::Value* shared_memory(llvm::IRBuilder<>& b) = 0;  // aligned to 16 bytes
  virtual void barrier(llvm::IRBuilder<>& b) = 0;
  // Each thread gets the value of four bytes that its partner holds; the partner's number along x differs by
  // `apart`, a power of two. `threads` neighbours, a power of two up to a warp, exchange together.
  virtual llvm::Value* exchange(llvm::IRBuilder<>& b, llvm::Value* value, int64_t apart,
                                int64_t threads) = 0;
  // The kernel waits here until those in front of it are done; false: it does not begin before.
  virtual bool wait_for_kernels(llvm::IRBuilder<>& /*b*/) { return false; }
  virtual bool begins_early() const { return false; }
  // Begins to copy 4, 8 or 16 bytes to shared memory, zeros where `wanted` (null: always) is false;
  // wait_for_copies ends what the thread has begun. False: there is no such thing here.
  virtual bool begin_copy(llvm::IRBuilder<>& /*b*/, llvm::Value* /*to*/, llvm::Value* /*from*/,
                          int64_t /*bytes*/, llvm::Value* /*wanted*/) {
    return false;
  }
  virtual bool has_copies() const { return false; }
  virtual void wait_for_copies(llvm::IRBuilder<>& /*b*/) {}
};

// `early`: kernels may begin before those in front of them are done.
std::unique_ptr<KernelForm> ptx_form(bool early);
std::unique_ptr<KernelForm> simt_form();

}  // namespace tenon::backend::nvptx
