// SPDX-License-Identifier: Apache-2.0
// Loop IR (Dialect::kFlat) to LLVM IR. One Emitter serves one ir::Function: the entry function and
// one internal function per parallel loop, which gets what it uses from outside through a closure
// struct.
//
// How lazily evaluated operands are kept safe: expressions are emitted without control flow, and
// `active_` is the mask of lanes whose value is wanted (null: all). A load that may lie outside its
// buffer is masked by it, an integer division gets the divisor 1 where it is off; everything else
// is evaluated and thrown away.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <span>
#include <unordered_map>
#include <vector>

#include "arith/interval.h"
#include "backend/llvm/index.h"
#include "backend/llvm/ops.h"
#include "backend/llvm/storage_plan.h"
#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

class Emitter {
 public:
  Emitter(llvm::Module& module, const Cpu& cpu, const ir::Function& f);
  // Emits everything; returns the workspace size.
  int64_t run();

 private:
  // Where a buffer is, inside the function being emitted.
  struct Storage {
    llvm::Value* base = nullptr;           // memory
    std::vector<llvm::AllocaInst*> slots;  // registers, parallel to place->slots
    const Place* place = nullptr;          // null for parameters
    llvm::MDNode* scope = nullptr;         // alias.scope of this buffer
    llvm::MDNode* others = nullptr;        // noalias: the scopes of all other buffers
    bool read_only = false;
    bool streamed = false;  // written past the caches: an output that no cache could hold
  };
  struct BoundVar {
    llvm::Value* value = nullptr;
    int depth = 0;  // of loops: a deeper variable changes more often
  };

  // function.cpp
  llvm::Function* make_function(const std::string& name, llvm::FunctionType* type);
  void start_body(llvm::Function* fn);
  void bind_params(llvm::Value* params);
  void make_scopes();
  bool is_streamed(const ir::Buffer& output) const;
  void end_body();
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const std::string& name);
  llvm::LoadInst* load_pointer(llvm::Value* from, int64_t bytes, const std::string& name);

  // statement.cpp
  void stmt(const ir::Stmt& s);
  void for_loop(const ir::For& n);
  void loop(const ir::For& n, llvm::Value* begin, llvm::Value* end, bool never_empty);
  void if_then_else(llvm::Value* condition, const ir::Stmt& then_case, const ir::Stmt& else_case);
  void allocate(const ir::Allocate& n);
  llvm::Value* workspace_at(const Place& place);
  void prefetch(const ir::Prefetch& n);
  void bind_range(const ir::For& n);

  // parallel.cpp
  void parallel_loop(const ir::For& n);
  void dispatch(llvm::Function* body, llvm::Value* closure, llvm::Value* extent);
  llvm::Function* parallel_body(const ir::For& n, const std::vector<const ir::BufferNode*>& buffers,
                                const std::vector<const ir::VarNode*>& vars,
                                llvm::StructType* closure_type);

  // expression.cpp
  llvm::Value* expr(const ir::Expr& e);
  llvm::Value* fresh_expr(const ir::Expr& e);
  llvm::Value* binary(const ir::Binary& n);
  llvm::Value* contracted(const ir::Binary& n);
  llvm::Value* times_sigmoid(const ir::Binary& n);  // null if n is not x * sigmoid(x)
  llvm::Value* division(const ir::Binary& n);
  llvm::Value* logical(const ir::Binary& n);
  // A comparison of evenly spaced indices, in 32 bits; null if it is no such thing.
  llvm::Value* compare_runs(const ir::Binary& n);
  llvm::Value* select(const ir::Select& n);
  llvm::Value* ramp(const ir::Ramp& n);
  // The combined lanes of each group, added to `acc` unless that is undefined (kAdd only).
  llvm::Value* reduce_groups(const ir::VectorReduce& n, const ir::Expr& acc);
  // `e` evaluated for the lanes of `mask` among those active now.
  llvm::Value* expr_where(const ir::Expr& e, llvm::Value* mask);
  // True if evaluating `e` where it is not wanted could fault.
  bool needs_mask(const ir::Expr& e);
  // active_ for a value of that many lanes; null when all are active.
  llvm::Value* active_mask(int lanes);
  bool is_index(const ir::Expr& e);

  // access.cpp
  llvm::Value* load(const ir::Load& n);
  llvm::Value* load_run(const Storage& s, ir::DType t, const Run& run, llvm::Value* mask,
                        bool in_bounds);
  llvm::Value* load_scalar(const Storage& s, ir::DType t, const ir::Expr& index, llvm::Value* mask);
  llvm::Value* load_strided(const Storage& s, ir::DType t, const Run& run);
  llvm::Value* load_lanes(const Storage& s, ir::DType t, const Run& run);
  // Null if the lanes lie too far apart.
  llvm::Value* load_pattern(const Storage& s, ir::DType t, const Pattern& pattern);
  llvm::Value* gather(const Storage& s, ir::DType t, llvm::Value* pointers, llvm::Value* mask);
  llvm::Value* load_slot(const Storage& s, ir::DType t, const Run& run);
  void store(const ir::Store& n);
  void store_value(const ir::Store& n, llvm::Value* mask);
  void store_slot(const Storage& s, ir::DType t, const Run& run, llvm::Value* v, llvm::Value* mask);
  void store_lanes(const Storage& s, ir::DType t, const Run& run, llvm::Value* stored);
  void store_run(const Storage& s, ir::DType t, const Run& run, llvm::Value* stored);
  // transpose.cpp
  void block(const ir::Block& n);
  size_t store_tile(std::span<const ir::Stmt> stmts);
  size_t load_tile(std::span<const ir::Stmt> stmts);
  void turn_loads(const std::vector<const ir::Load*>& loads, const Run& first,
                  std::span<const std::pair<int64_t, size_t>> run);
  void store_front(const Storage& s, ir::DType t, const ir::Expr& base, llvm::Value* v, int count);

  // access.cpp
  llvm::Value* vector_pointers(const Storage& s, const ir::Buffer& b, const ir::Expr& index);
  // The address of base[index] and how it is aligned.
  std::pair<llvm::Value*, llvm::Align> address(const Storage& s, ir::DType t,
                                               const ir::Expr& index);
  bool in_bounds(const ir::Buffer& b, const ir::Expr& index);
  template <class I>
  I* annotate(const Storage& s, I* access) {
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, s.scope);
    access->setMetadata(llvm::LLVMContext::MD_noalias, s.others);
    if (s.read_only && llvm::isa<llvm::LoadInst>(access)) {
      access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ctx_, {}));
    }
    return access;
  }
  int depth_of(const ir::Expr& e);
  Storage& storage(const ir::Buffer& b);

  llvm::Module& module_;
  llvm::LLVMContext& ctx_;
  const Cpu& cpu_;
  const ir::Function& f_;
  llvm::IRBuilder<> b_;
  Ops ops_;
  StoragePlan plan_;
  llvm::Function* fn_ = nullptr;
  llvm::Value* workspace_ = nullptr;
  llvm::Value* runtime_ = nullptr;
  std::unordered_map<const ir::BufferNode*, Storage> buffers_;
  std::unordered_map<const ir::VarNode*, BoundVar> vars_;
  arith::Ranges ranges_;
  int depth_ = 0;
  int parallel_loops_ = 0;
  bool stored_past_caches_ = false;    // in the function being emitted
  const ir::For* parallel_ = nullptr;  // the loop whose body is being emitted

  llvm::Value* active_ = nullptr;
  std::unordered_map<const ir::ExprNode*, llvm::Value*> turned_;  // loads that load_tile has done
  // Values of the statement being emitted, by node and by the mask under which they were evaluated.
  struct Key {
    const ir::ExprNode* node;
    llvm::Value* active;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.node) ^ (std::hash<const void*>()(k.active) << 1);
    }
  };
  // The handle keeps the node, which may be a temporary, from being freed and its address reused.
  std::unordered_map<Key, std::pair<ir::Expr, llvm::Value*>, KeyHash> memo_;
};

}  // namespace tenon::backend::llvm_cpu
