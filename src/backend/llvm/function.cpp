// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IntrinsicsX86.h>

#include "backend/llvm/cpu_emitter.h"
#include "backend/llvm/types.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

using llvm::Value;

int64_t CpuEmitter::run() {
  // Masked vectors are read whole, also from the end of a buffer.
  constexpr int64_t kAlignment = 64, kBehind = 64;
  plan_ = plan_storage(f_.body, kAlignment, kBehind);
  make_scopes();
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Function* fn =
      make_function(f_.name, llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr}, false));
  fn->setLinkage(llvm::Function::ExternalLinkage);
  fn->setVisibility(
      llvm::Function::HiddenVisibility);  // a finished library does not show its kernels
  fn->getArg(0)->setName("params");
  fn->getArg(1)->setName("workspace");
  fn->getArg(2)->setName("rt");
  start_body(fn);
  workspace_ = fn->getArg(1);
  runtime_ = fn->getArg(2);
  if (plan_.workspace_bytes > 0) {
    fn->getArg(1)->addAttr(llvm::Attribute::getWithAlignment(ctx_, llvm::Align(64)));
    fn->getArg(1)->addAttr(llvm::Attribute::getWithDereferenceableBytes(
        ctx_, static_cast<uint64_t>(plan_.workspace_bytes)));
  }
  bind_params(fn->getArg(0));
  stmt(f_.body);
  end_body();
  return plan_.workspace_bytes;
}

llvm::Function* CpuEmitter::make_function(const std::string& name, llvm::FunctionType* type) {
  llvm::Function* fn =
      llvm::Function::Create(type, llvm::Function::InternalLinkage, name, &module_);
  fn->addFnAttr(llvm::Attribute::NoUnwind);
  fn->addFnAttr("no-trapping-math", "true");
  fn->addFnAttr("frame-pointer", "none");
  // Vectors of the schedule are used as they are, even on processors that LLVM thinks prefer narrow
  // ones.
  fn->addFnAttr("prefer-vector-width", std::to_string(cpu_.vector_bytes * 8));
  for (llvm::Argument& a : fn->args()) {
    if (a.getType()->isPointerTy()) {
      a.addAttr(llvm::Attribute::NoAlias);
    }
  }
  return fn;
}

void CpuEmitter::start_body(llvm::Function* fn) {
  fn_ = fn;
  b_.SetInsertPoint(llvm::BasicBlock::Create(ctx_, "entry", fn));
}

llvm::LoadInst* CpuEmitter::load_pointer(Value* from, int64_t bytes, const std::string& name) {
  llvm::LoadInst* p = b_.CreateLoad(b_.getPtrTy(), from, name);
  const auto number = [&](int64_t v) {
    return llvm::MDNode::get(ctx_,
                             llvm::ConstantAsMetadata::get(b_.getInt64(static_cast<uint64_t>(v))));
  };
  llvm::MDNode* none = llvm::MDNode::get(ctx_, {});
  p->setMetadata(llvm::LLVMContext::MD_invariant_load, none);
  p->setMetadata(llvm::LLVMContext::MD_nonnull, none);
  p->setMetadata(llvm::LLVMContext::MD_noundef, none);
  p->setMetadata(llvm::LLVMContext::MD_align, number(64));
  p->setMetadata(llvm::LLVMContext::MD_dereferenceable, number(bytes));
  return p;
}

bool CpuEmitter::is_streamed(const ir::Buffer& output) const {
  const int64_t bytes = output->elements() * output.dtype().bytes();
  if (!cpu_.x86 || cpu_.l3_bytes == 0 || bytes <= cpu_.l3_bytes) {
    return false;
  }
  bool read_back = false;
  ir::visit(f_.body, [&](const ir::Expr& e) {
    const auto* l = e.as<ir::Load>();
    read_back = read_back || (l != nullptr && l->buffer.same_as(output));
  });
  return !read_back;
}

void CpuEmitter::end_body() {
  if (stored_past_caches_) {
    // Such stores are ordered by nothing else, not even by the runtime's join.
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  }
  b_.CreateRetVoid();
}

void CpuEmitter::bind_params(Value* params) {
  for (size_t i = 0; i < f_.params.size(); ++i) {
    const ir::Buffer& buffer = f_.params[i];
    Value* at = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), params, i);
    const int64_t bytes = buffer->elements() * buffer.dtype().bytes();
    buffers_[buffer.get()].base = load_pointer(at, bytes, buffer.name());
    buffers_[buffer.get()].read_only = i < f_.num_inputs && static_cast<int32_t>(i) != f_.in_place;
    buffers_[buffer.get()].streamed = i >= f_.num_inputs && is_streamed(buffer);
  }
}

void CpuEmitter::thread_loop(const ir::For& n) {
  TENON_CHECK(false) << "loop " << n.var.name() << " is bound to threads of a GPU";
}

void CpuEmitter::barrier() { TENON_CHECK(false) << "a barrier on a CPU"; }

void CpuEmitter::combine(const ir::Combine& n) {
  TENON_CHECK(false) << "threads combine " << n.buffer.name() << " on a CPU";
}

Value* CpuEmitter::memory_of(const ir::Allocate& n, const Place& place) {
  TENON_CHECK(place.kind == Place::Kind::kWorkspace) << n.buffer.name() << " is shared by threads";
  if (place.stride == 0) {
    return workspace_at(place);
  }
  // The base of all copies came with the closure.
  Value* copy = b_.CreateNSWSub(vars_[parallel_->var.node()].value, expr(parallel_->min));
  Value* offset = b_.CreateNSWMul(copy, b_.getInt64(static_cast<uint64_t>(place.stride)));
  return b_.CreateGEP(b_.getInt8Ty(), buffers_[n.buffer.get()].base, offset, n.buffer.name());
}

Value* CpuEmitter::workspace_at(const Place& place) {
  const auto offset = static_cast<uint64_t>(place.offset);
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), workspace_, offset);
}

}  // namespace tenon::backend::llvm_cpu
