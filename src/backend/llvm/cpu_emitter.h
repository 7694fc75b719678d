// SPDX-License-Identifier: Apache-2.0
// The code of CPUs: the entry function and one internal function per parallel loop, which gets what it uses from outside
// through a closure struct; memory by whole vectors, with masks.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/llvm/emitter.h"
#include "backend/llvm/index.h"
#include "backend/llvm/look_up.h"

namespace tenon::backend::llvm_cpu {

class CpuEmitter : public Emitter {
 public:
  CpuEmitter(llvm::Module& module, const Cpu& cpu, const ir::Function& f)
      : Emitter(module, cpu, f) {}
  // Emits everything; returns the workspace size.
  int64_t run();

 private:
  // function.cpp
  llvm::Function* make_function(const std::string& name, llvm::FunctionType* type);
  void start_body(llvm::Function* fn);
  void bind_params(llvm::Value* params);
  bool is_streamed(const ir::Buffer& output) const;
  void end_body();
  llvm::LoadInst* load_pointer(llvm::Value* from, int64_t bytes, const std::string& name);
  void thread_loop(const ir::For& n) override;
  void barrier() override;
  void combine(const ir::Combine& n) override;
  llvm::Value* memory_of(const ir::Allocate& n, const Place& place) override;
  llvm::Value* workspace_at(const Place& place);

  // parallel.cpp
  void parallel_loop(const ir::For& n) override;
  // How a parallel loop is cut: iterations that are worth another thread, all of them, where the number of pieces is kept.
  struct Pieces {
    int64_t iterations;
    llvm::Value* extent;
    llvm::Value* number;
  };
  llvm::Value* number_of_pieces(const Pieces& p, llvm::Value* threads);
  void dispatch(llvm::Function* body, llvm::Value* closure, const Pieces& p);
  llvm::Function* parallel_body(const ir::For& n, const std::vector<const ir::BufferNode*>& buffers,
                                const std::vector<const ir::VarNode*>& vars,
                                llvm::StructType* closure_type);

  // cpu_access.cpp
  llvm::Value* load_memory(const Storage& s, const ir::Load& n, llvm::Value* mask,
                           bool safe) override;
  void store_memory(const Storage& s, const ir::Store& n, llvm::Value* stored,
                    llvm::Value* mask) override;
  llvm::Value* load_run(const Storage& s, ir::DType t, const Run& run, llvm::Value* mask,
                        bool in_bounds);
  llvm::Value* look_up(const Storage& s, const ByteIndex& index);
  llvm::Value* load_scalar(const Storage& s, ir::DType t, const ir::Expr& index, llvm::Value* mask);
  llvm::Value* load_strided(const Storage& s, ir::DType t, const Run& run);
  llvm::Value* load_lanes(const Storage& s, ir::DType t, const Run& run);
  // Null if the lanes lie too far apart.
  llvm::Value* load_pattern(const Storage& s, ir::DType t, const Pattern& pattern);
  llvm::Value* load_front(const Storage& s, ir::DType t, llvm::Value* p, llvm::Align align,
                          int count);
  llvm::Value* gather(const Storage& s, ir::DType t, llvm::Value* pointers, llvm::Value* mask);
  void store_lanes(const Storage& s, ir::DType t, const Run& run, llvm::Value* stored);
  void store_run(const Storage& s, ir::DType t, const Run& run, llvm::Value* stored);
  llvm::Value* vector_pointers(const Storage& s, const ir::Buffer& b, const ir::Expr& index);

  // transpose.cpp
  void block(const ir::Block& n) override;
  size_t store_tile(std::span<const ir::Stmt> stmts);
  size_t load_tile(std::span<const ir::Stmt> stmts);
  void turn_loads(const std::vector<const ir::Load*>& loads, const Run& first,
                  std::span<const std::pair<int64_t, size_t>> run);
  void store_front(const Storage& s, ir::DType t, const ir::Expr& base, llvm::Value* v, int count);

  // interleave.cpp
  // Loads whose lanes lie a few places apart, between `begin` and `end` of the first one's base, and
  // the whole vectors of that which were loaded already, by place.
  struct Window {
    const ir::BufferNode* buffer;
    Run first;
    int64_t begin, end;
    std::map<int64_t, llvm::Value*> parts;
  };
  struct InWindow {
    size_t window;
    int64_t place;
  };
  size_t store_interleaved(std::span<const ir::Stmt> stmts);
  size_t find_strided(std::span<const ir::Stmt> stmts);
  void add_strided(const ir::Load& n);
  llvm::Value* load_beside(const Storage& s, const ir::Load& n);
  llvm::Value* load_masked_strided(const Storage& s, ir::DType t, const Run& run,
                                   llvm::Value* mask);
  llvm::Value* part_of(const Storage& s, ir::DType t, Window& w, int64_t begin);

  llvm::Value* workspace_ = nullptr;
  llvm::Value* runtime_ = nullptr;
  int parallel_loops_ = 0;
  bool stored_past_caches_ = false;    // in the function being emitted
  const ir::For* parallel_ = nullptr;  // the loop whose body is being emitted
  std::unordered_map<const ir::ExprNode*, llvm::Value*> turned_;  // loads that load_tile has done
  std::vector<Window> windows_;                                   // of the statements being emitted
  std::unordered_map<const ir::ExprNode*, InWindow> strided_;
};

}  // namespace tenon::backend::llvm_cpu
