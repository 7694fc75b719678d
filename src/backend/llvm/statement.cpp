// SPDX-License-Identifier: Apache-2.0
#include "arith/interval.h"
#include "backend/llvm/emitter.h"
#include "backend/llvm/types.h"
#include "ir/build.h"

namespace tenon::backend::llvm_cpu {

using ir::Stmt;
using ir::StmtKind;
using llvm::BasicBlock;
using llvm::Value;

void Emitter::stmt(const Stmt& s) {
  if (!s.defined()) {
    return;
  }
  memo_.clear();
  switch (s.kind()) {
    case StmtKind::kFor:
      return for_loop(*s.as<ir::For>());
    case StmtKind::kStore:
      return store(*s.as<ir::Store>());
    case StmtKind::kIf: {
      const auto* n = s.as<ir::If>();
      return if_then_else(expr(n->condition), n->then_case, n->else_case);
    }
    case StmtKind::kBlock:
      return block(*s.as<ir::Block>());
    case StmtKind::kAllocate:
      return allocate(*s.as<ir::Allocate>());
    case StmtKind::kBarrier:
      return barrier();
    case StmtKind::kPrefetch:
      return prefetch(*s.as<ir::Prefetch>());
    case StmtKind::kCombine:
      return combine(*s.as<ir::Combine>());
  }
  TENON_CHECK(false) << "statement kind " << static_cast<int>(s.kind()) << " is not known";
}

void Emitter::bind_range(const ir::For& n) {
  const arith::Interval min = arith::interval_of(n.min, ranges_);
  const arith::Interval extent = arith::interval_of(n.extent, ranges_);
  arith::Interval r;
  if (min.lo != arith::Interval::kMinusInf) {
    r.lo = min.lo;
  }
  if (min.hi != arith::Interval::kPlusInf && extent.hi != arith::Interval::kPlusInf) {
    r.hi = min.hi + extent.hi - 1;
  }
  ranges_.bind(n.var, r);
}

void Emitter::for_loop(const ir::For& n) {
  const auto extent = ir::const_int(n.extent);
  if (extent && *extent <= 0) {
    return;
  }
  bind_range(n);
  if (n.loop_kind == ir::ForKind::kParallel) {
    return parallel_loop(n);
  }
  if (n.loop_kind == ir::ForKind::kThread) {
    return thread_loop(n);
  }
  TENON_CHECK(n.loop_kind == ir::ForKind::kSerial)
      << "loop " << n.var.name() << " is neither serial nor parallel";
  Value* min = narrow(n.min);
  Value* count = min == nullptr || !fits_narrow(n.min + n.extent) ? nullptr : narrow(n.extent);
  if (count == nullptr) {
    min = expr(n.min);
  }
  if (extent && *extent == 1) {
    bind_var(n.var, min, depth_);
    return stmt(n.body);
  }
  Value* end = b_.CreateNSWAdd(min, count == nullptr ? expr(n.extent) : count);
  loop(n, min, end, extent.has_value());
}

void Emitter::bind_var(const ir::Var& v, Value* value, int depth) {
  const bool is_narrow = value->getType()->getIntegerBitWidth() < v.dtype().bits;
  Value* wide = is_narrow ? b_.CreateSExt(value, b_.getInt64Ty()) : value;
  vars_[v.node()] = {wide, depth, is_narrow ? value : nullptr};
  addresses_.clear();
}

namespace {

// The schedule has said what is unrolled; LLVM adds nothing.
llvm::MDNode* loop_metadata(llvm::LLVMContext& ctx) {
  auto flag = [&](const char* name) {
    return llvm::MDNode::get(ctx, llvm::MDString::get(ctx, name));
  };
  llvm::MDNode* id = llvm::MDNode::getDistinct(
      ctx, {nullptr, flag("llvm.loop.mustprogress"), flag("llvm.loop.unroll.disable")});
  id->replaceOperandWith(0, id);
  return id;
}

}  // namespace

// Emitted with the test at the bottom, a preheader and an exit of its own, so that no pass has to
// rotate the loop before it can move code out of it.
void Emitter::loop(const ir::For& n, Value* begin, Value* end, bool never_empty) {
  BasicBlock* before = BasicBlock::Create(ctx_, n.var.name() + ".before", fn_);
  BasicBlock* body = BasicBlock::Create(ctx_, n.var.name() + ".body", fn_);
  BasicBlock* after = BasicBlock::Create(ctx_, n.var.name() + ".after", fn_);
  BasicBlock* done = BasicBlock::Create(ctx_, n.var.name() + ".done", fn_);
  if (never_empty) {
    b_.CreateBr(before);
  } else {
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), before, done);
  }
  b_.SetInsertPoint(before);
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::PHINode* i = b_.CreatePHI(begin->getType(), 2, n.var.name());
  i->addIncoming(begin, before);
  bind_var(n.var, i, ++depth_);
  stmt(n.body);
  --depth_;
  Value* next = b_.CreateNSWAdd(i, llvm::ConstantInt::get(i->getType(), 1));
  i->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst* back = b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, after);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop_metadata(ctx_));
  b_.SetInsertPoint(after);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

void Emitter::if_then_else(Value* condition, const Stmt& then_case, const Stmt& else_case) {
  BasicBlock* yes = BasicBlock::Create(ctx_, "then", fn_);
  BasicBlock* no = else_case.defined() ? BasicBlock::Create(ctx_, "else", fn_) : nullptr;
  BasicBlock* done = BasicBlock::Create(ctx_, "endif", fn_);
  b_.CreateCondBr(condition, yes, no != nullptr ? no : done);
  b_.SetInsertPoint(yes);
  stmt(then_case);
  b_.CreateBr(done);
  if (no != nullptr) {
    b_.SetInsertPoint(no);
    stmt(else_case);
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
}

void Emitter::allocate(const ir::Allocate& n) {
  const Place& place = plan_.places.at(n.buffer.get());
  Storage& s = buffers_[n.buffer.get()];
  s.place = &place;
  const ir::DType t = n.buffer.dtype();
  switch (place.kind) {
    case Place::Kind::kRegisters:
      s.slots.clear();
      for (const Slot& slot : place.slots) {
        s.slots.push_back(
            entry_alloca(carried_type(ctx_, t.with_lanes(slot.lanes)), n.buffer.name()));
      }
      break;
    case Place::Kind::kStack: {
      const auto count = static_cast<uint64_t>(n.buffer->elements() + place.behind);
      llvm::Type* array = llvm::ArrayType::get(stored_type(ctx_, t), count);
      llvm::AllocaInst* memory = entry_alloca(array, n.buffer.name());
      memory->setAlignment(llvm::Align(64));
      s.base = memory;
      break;
    }
    case Place::Kind::kWorkspace:
    case Place::Kind::kShared:
      s.base = memory_of(n, place);
      break;
  }
  stmt(n.body);
}

void Emitter::prefetch(const ir::Prefetch& n) {
  const Storage& s = storage(n.buffer);
  const auto run = as_run(n.indices.front());
  if (!s.slots.empty() || !run) {
    return;
  }
  Value* p = address(s, n.buffer.dtype(), run->base).first;
  constexpr uint32_t kRead = 0, kKeep = 3, kData = 1;
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {p->getType()},
                     {p, b_.getInt32(kRead), b_.getInt32(kKeep), b_.getInt32(kData)});
}

}  // namespace tenon::backend::llvm_cpu
