// SPDX-License-Identifier: Apache-2.0
// Loop IR (Dialect::kFlat) to LLVM IR, as far as all machines agree: statements, expressions, registers and addresses.
// A class for each kind of machine says what a function is, where memory lies and how it is accessed: CpuEmitter
// (cpu_emitter.h) and GpuEmitter (backend/nvptx/gpu_emitter.h). One Emitter serves one ir::Function.
//
// Lazily evaluated operands are kept safe: expressions are emitted without control flow, and
// `active_` is the mask of lanes whose value is wanted (null: all). A load that may lie outside its
// buffer is masked by it, an integer division gets the divisor 1 where it is off; everything else
// is evaluated and thrown away.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "arith/interval.h"
#include "arith/linear.h"
#include "backend/llvm/address_memo.h"
#include "backend/llvm/index.h"
#include "backend/llvm/ops.h"
#include "backend/llvm/storage_plan.h"
#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

class Emitter {
 public:
  virtual ~Emitter() = default;

 protected:
  Emitter(llvm::Module& module, const Cpu& cpu, const ir::Function& f);

  // A Storage says where a buffer is, inside the function being emitted.
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
    int depth = 0;                  // of loops: a deeper variable changes more often
    llvm::Value* narrow = nullptr;  // the value in 32 bits, where it was made so
  };

  // Each kind of machine does these in its own way.
  virtual void parallel_loop(const ir::For& n) = 0;
  virtual void thread_loop(const ir::For& n) = 0;
  virtual void barrier() = 0;
  virtual void combine(const ir::Combine& n) = 0;
  virtual void block(const ir::Block& n) = 0;
  virtual void prefetch(const ir::Prefetch& n);
  // The memory of a buffer that is neither in registers nor on the stack.
  virtual llvm::Value* memory_of(const ir::Allocate& n, const Place& place) = 0;
  // The carried value, 0 in lanes that are off; `safe`: even those lie inside of the buffer.
  virtual llvm::Value* load_memory(const Storage& s, const ir::Load& n, llvm::Value* mask,
                                   bool safe) = 0;
  virtual void store_memory(const Storage& s, const ir::Store& n, llvm::Value* stored,
                            llvm::Value* mask) = 0;

  // emitter.cpp
  void make_scopes();
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const std::string& name);

  // statement.cpp
  void stmt(const ir::Stmt& s);
  void for_loop(const ir::For& n);
  void loop(const ir::For& n, llvm::Value* begin, llvm::Value* end, bool never_empty);
  void if_then_else(llvm::Value* condition, const ir::Stmt& then_case, const ir::Stmt& else_case);
  void allocate(const ir::Allocate& n);
  void bind_range(const ir::For& n);
  // A value of 32 bits is widened for those who want it so.
  void bind_var(const ir::Var& v, llvm::Value* value, int depth);

  // narrow.cpp: index expressions in 32 bits, where the machine wants them so and their ranges allow it
  llvm::Value* narrow(const ir::Expr& e);       // null if it does not fit
  llvm::Value* narrow_form(const ir::Expr& e);  // null too where an operand has no such form
  bool fits_narrow(const ir::Expr& e);
  llvm::Value* narrow_binary(const ir::Binary& n);
  llvm::Value* narrow_ramp(const ir::Ramp& n);
  // The terms of `l` without its constant, in the order of the second numbers; null if it may not fit.
  llvm::Value* narrow_sum(const arith::Linear& l, const std::vector<std::pair<int, size_t>>& order);

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
  llvm::Value* own_mask(const ir::Expr& predicate);
  llvm::Value* load_slot(const Storage& s, ir::DType t, const Run& run);
  virtual void store(const ir::Store& n);
  llvm::Value* stored_value(const ir::Store& n, llvm::Value* mask);
  void store_value(const ir::Store& n, llvm::Value* mask);
  void store_slot(const Storage& s, ir::DType t, const Run& run, llvm::Value* v, llvm::Value* mask);
  // The address of base[index] and how it is aligned.
  std::pair<llvm::Value*, llvm::Align> address(const Storage& s, ir::DType t,
                                               const ir::Expr& index);
  // Null if the sum of the terms, which are to be added in this order, may not fit into 32 bits.
  llvm::Value* narrow_address(const Storage& s, llvm::Type* element, const arith::Linear& l,
                              const std::vector<std::pair<int, size_t>>& order);
  llvm::Value* elements_behind(llvm::Type* element, llvm::Value* p, int64_t elements);
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
  std::unordered_map<const ir::BufferNode*, Storage> buffers_;
  std::unordered_map<const ir::VarNode*, BoundVar> vars_;
  arith::Ranges ranges_;
  int depth_ = 0;

  llvm::Value* active_ = nullptr;
  llvm::Value* stored_mask_ = nullptr;  // of the store that is being emitted, and its predicate
  ir::Expr stored_if_;
  // Values of the statement being emitted, by node and by the mask under which they were evaluated.
  struct Key {
    const ir::ExprNode* node;
    llvm::Value* active;
    bool narrow = false;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.node) ^ (std::hash<const void*>()(k.active) << 1) ^
             static_cast<size_t>(k.narrow);
    }
  };
  // The handle keeps the node, which may be a temporary, from being freed and its address reused.
  std::unordered_map<Key, std::pair<ir::Expr, llvm::Value*>, KeyHash> memo_;
  AddressMemo addresses_;
};

}  // namespace tenon::backend::llvm_cpu
