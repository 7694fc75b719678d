// SPDX-License-Identifier: Apache-2.0
// A parallel loop becomes a function of its own:
//
//   for i in 0..n parallel { C[i] = A[i] }
//     =>  closure = {A, C} on the stack;  rt->parallel(rt, body, &closure, n)
//         body(closure, begin, end):  for i in begin..end { C[i] = A[i] }
//
// Iterations that are too small for another thread are put together into pieces, at most so many as the threads can
// be given in turn, and a loop that has only one piece runs where it is:
//
//         pieces = fit(n / 100, rt->threads);  closure = {A, C, n, pieces};  rt->parallel(rt, body, &closure, pieces)
//         body(closure, begin, end):  for i in begin*n/pieces..end*n/pieces { C[i] = A[i] }
#include <algorithm>
#include <utility>

#include "backend/llvm/cpu_emitter.h"
#include "backend/llvm/types.h"
#include "backend/llvm/work.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

using llvm::BasicBlock;
using llvm::Value;

namespace {

template <class T>
void add_once(std::vector<const T*>& list, const T* item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) {
    list.push_back(item);
  }
}

}  // namespace

void CpuEmitter::parallel_loop(const ir::For& n) {
  TENON_CHECK(parallel_ == nullptr) << "parallel loop " << n.var.name() << " inside another one";
  std::vector<const ir::BufferNode*> buffers;
  std::vector<const ir::VarNode*> vars;
  const auto use_buffer = [&](const ir::Buffer& b) {
    const auto it = buffers_.find(b.get());
    if (it != buffers_.end() && it->second.base != nullptr) {
      add_once(buffers, b.get());
    }
  };
  const std::function<void(const ir::Expr&)> on_expr = [&](const ir::Expr& e) {
    if (const auto* v = e.as<ir::VarNode>(); v != nullptr && vars_.count(v) != 0) {
      add_once(vars, v);
    } else if (const auto* load = e.as<ir::Load>()) {
      use_buffer(load->buffer);
    }
  };
  ir::visit(n.min, on_expr);
  ir::visit(n.body, on_expr);
  ir::visit(n.body, [&](const ir::Stmt& s) {
    if (const auto* made = s.as<ir::Allocate>()) {
      const Place& place = plan_.places.at(made->buffer.get());
      if (place.stride != 0) {
        buffers_[made->buffer.get()].base = workspace_at(place);
        use_buffer(made->buffer);
      }
    } else if (const auto* store = s.as<ir::Store>()) {
      use_buffer(store->buffer);
    } else if (const auto* fetch = s.as<ir::Prefetch>()) {
      use_buffer(fetch->buffer);
    }
  });

  std::vector<llvm::Type*> fields(buffers.size(), b_.getPtrTy());
  for (const ir::VarNode* v : vars) {
    fields.push_back(carried_type(ctx_, v->dtype));
  }
  fields.insert(fields.end(), {b_.getInt64Ty(), b_.getInt64Ty()});
  llvm::StructType* type = llvm::StructType::get(ctx_, fields);
  llvm::AllocaInst* closure = entry_alloca(type, "closure");
  unsigned field = 0;
  for (const ir::BufferNode* b : buffers) {
    b_.CreateStore(buffers_[b].base, b_.CreateStructGEP(type, closure, field++));
  }
  for (const ir::VarNode* v : vars) {
    b_.CreateStore(vars_[v].value, b_.CreateStructGEP(type, closure, field++));
  }
  Pieces p{iterations_per_piece(n, cpu_), expr(n.extent), nullptr};
  b_.CreateStore(p.extent, b_.CreateStructGEP(type, closure, field++));
  p.number = b_.CreateStructGEP(type, closure, field++);
  dispatch(parallel_body(n, buffers, vars, type), closure, p);
}

// At most kPieces for each thread, and as many for one as for the other if there is one for each.
Value* CpuEmitter::number_of_pieces(const Pieces& p, Value* threads) {
  constexpr uint64_t kPieces = 8;  // what a pool makes of a share at most
  Value* most = b_.CreateUDiv(p.extent, b_.getInt64(static_cast<uint64_t>(p.iterations)));
  threads = b_.CreateZExt(threads, b_.getInt64Ty());
  Value* each = b_.CreateUDiv(most, threads);
  each = b_.CreateSelect(b_.CreateICmpULT(each, b_.getInt64(kPieces)), each, b_.getInt64(kPieces));
  return b_.CreateSelect(b_.CreateIsNull(each), most, b_.CreateMul(each, threads));
}

void CpuEmitter::dispatch(llvm::Function* body, Value* closure, const Pieces& p) {
  BasicBlock* look = BasicBlock::Create(ctx_, "look", fn_);
  BasicBlock* count = BasicBlock::Create(ctx_, "count", fn_);
  BasicBlock* alone = BasicBlock::Create(ctx_, "alone", fn_);
  BasicBlock* fork = BasicBlock::Create(ctx_, "fork", fn_);
  BasicBlock* done = BasicBlock::Create(ctx_, "joined", fn_);
  llvm::Type* ptr = b_.getPtrTy();
  b_.CreateCondBr(b_.CreateIsNull(runtime_), alone, look);
  b_.SetInsertPoint(look);
  // struct tenon_runtime { parallel, pool, threads }
  llvm::StructType* runtime = llvm::StructType::get(ctx_, {ptr, ptr, b_.getInt32Ty()});
  Value* threads = b_.CreateLoad(b_.getInt32Ty(), b_.CreateStructGEP(runtime, runtime_, 2));
  b_.CreateCondBr(b_.CreateICmpSLE(threads, b_.getInt32(1)), alone, count);
  b_.SetInsertPoint(count);
  Value* pieces = p.iterations == 1 ? p.extent : number_of_pieces(p, threads);
  b_.CreateCondBr(b_.CreateICmpSLE(pieces, b_.getInt64(1)), alone, fork);
  b_.SetInsertPoint(alone);
  b_.CreateStore(b_.getInt64(1), p.number);
  b_.CreateCall(body, {closure, b_.getInt64(0), p.iterations == 1 ? p.extent : b_.getInt64(1)});
  b_.CreateBr(done);
  b_.SetInsertPoint(fork);
  b_.CreateStore(pieces, p.number);
  Value* parallel = b_.CreateLoad(ptr, b_.CreateStructGEP(runtime, runtime_, 0));
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, b_.getInt64Ty()}, false);
  b_.CreateCall(type, parallel, {runtime_, body, closure, pieces});
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

llvm::Function* CpuEmitter::parallel_body(const ir::For& n,
                                          const std::vector<const ir::BufferNode*>& buffers,
                                          const std::vector<const ir::VarNode*>& vars,
                                          llvm::StructType* closure_type) {
  llvm::Type* i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), i64, i64}, false);
  const std::string name = f_.name + ".parallel" + std::to_string(parallel_loops_++);
  llvm::Function* body = make_function(name, type);
  body->addFnAttr(llvm::Attribute::NoInline);

  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  llvm::Function* outer_fn = fn_;
  const auto outer_buffers = buffers_;
  const auto outer_vars = vars_;
  const int outer_depth = depth_;
  start_body(body);
  unsigned field = 0;
  for (const ir::BufferNode* b : buffers) {
    Value* from = b_.CreateStructGEP(closure_type, body->getArg(0), field++);
    buffers_[b].base = load_pointer(from, b->elements() * b->dtype.bytes(), b->name);
  }
  vars_.clear();
  for (const ir::VarNode* v : vars) {
    Value* from = b_.CreateStructGEP(closure_type, body->getArg(0), field++);
    vars_[v] = {b_.CreateLoad(carried_type(ctx_, v->dtype), from, v->name), 0};
  }
  depth_ = 0;
  memo_.clear();
  parallel_ = &n;
  const bool outer_stored = std::exchange(stored_past_caches_, false);
  Value* min = expr(n.min);
  Value* begin = body->getArg(1);
  Value* end = body->getArg(2);
  if (iterations_per_piece(n, cpu_) > 1) {
    Value* extent = b_.CreateLoad(i64, b_.CreateStructGEP(closure_type, body->getArg(0), field++));
    Value* pieces = b_.CreateLoad(i64, b_.CreateStructGEP(closure_type, body->getArg(0), field++));
    begin = b_.CreateUDiv(b_.CreateNUWMul(begin, extent), pieces);
    end = b_.CreateUDiv(b_.CreateNUWMul(end, extent), pieces);
  }
  loop(n, b_.CreateNSWAdd(min, begin), b_.CreateNSWAdd(min, end), false);
  end_body();
  stored_past_caches_ = outer_stored;
  parallel_ = nullptr;
  fn_ = outer_fn;
  buffers_ = outer_buffers;
  vars_ = outer_vars;
  depth_ = outer_depth;
  memo_.clear();
  return body;
}

}  // namespace tenon::backend::llvm_cpu
