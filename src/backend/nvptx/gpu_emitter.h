// SPDX-License-Identifier: Apache-2.0
// A GPU runs one kernel per outermost nest. A loop bound to threads becomes the thread's number, and a test of it
// where the loop is shorter than the block; memory is accessed in pieces of up to 16 bytes, by branches where a
// predicate may be false.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "backend/gpu_module.h"
#include "backend/llvm/emitter.h"
#include "backend/nvptx/kernel_form.h"
#include "backend/nvptx/nests.h"
#include "support/function_ref.h"

namespace tenon::backend::nvptx {

class GpuEmitter : public llvm_cpu::Emitter {
 public:
  GpuEmitter(llvm::Module& module, const llvm_cpu::Cpu& features, const ir::Function& f,
             KernelForm& form)
      : Emitter(module, features, f), form_(form) {}
  // Emits all kernels; returns their launches.
  std::vector<Launch> run();
  int64_t workspace_bytes() const { return plan_.workspace_bytes; }

 private:
  // Lanes [begin, begin + count) of an access, which one instruction moves.
  struct Piece {
    llvm::Value* at;
    llvm::Align align;
    int begin, count;
  };

  // gpu_emitter.cpp
  Launch kernel(const std::string& name, const Nest& nest);
  void bind_arguments(const Nest& nest);
  void bind_threads(const Nest& nest);
  void parallel_loop(const ir::For& n) override;
  void thread_loop(const ir::For& n) override;
  void barrier() override;
  void combine(const ir::Combine& n) override;
  void block(const ir::Block& n) override;
  void prefetch(const ir::Prefetch& n) override;
  llvm::Value* memory_of(const ir::Allocate& n, const llvm_cpu::Place& place) override;

  // copy.cpp
  void store(const ir::Store& n) override;
  bool copy(const ir::Store& n);

  // access.cpp
  llvm::Value* load_memory(const Storage& s, const ir::Load& n, llvm::Value* mask,
                           bool safe) override;
  void store_memory(const Storage& s, const ir::Store& n, llvm::Value* stored,
                    llvm::Value* mask) override;
  std::vector<Piece> pieces(const Storage& s, ir::DType t, const ir::Expr& index, bool single);
  std::vector<Piece> run_pieces(const Storage& s, ir::DType t, const llvm_cpu::Run& run,
                                bool single);
  std::vector<Piece> lane_pieces(const Storage& s, ir::DType t, const ir::Expr& index);
  llvm::Value* load_pieces(const Storage& s, ir::DType t, const std::vector<Piece>& from);
  llvm::Value* load_piece(const Storage& s, ir::DType t, const Piece& from);
  llvm::Value* load_single(const Storage& s, ir::DType t, const std::vector<Piece>& from,
                           llvm::Value* mask);
  void store_piece(const Storage& s, ir::DType t, const Piece& to, llvm::Value* stored);
  // Gives the value of `emit` where `condition` holds, else `otherwise`; `emit` leaves no value for later.
  llvm::Value* where(llvm::Value* condition, FunctionRef<llvm::Value*()> emit,
                     llvm::Value* otherwise);

  KernelForm& form_;
  std::array<llvm::Value*, 8> numbers_ = {};  // by thread tag
  std::array<int64_t, 8> extents_ = {};
  int64_t shared_bytes_ = 0;
  bool copies_ = false;  // the kernel may have copies under way at its barriers
};

}  // namespace tenon::backend::nvptx
