// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include "backend/llvm/emitter.h"
#include "backend/llvm/types.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

using llvm::Value;

Emitter::Emitter(llvm::Module& module, const Cpu& cpu, const ir::Function& f)
    : module_(module), ctx_(module.getContext()), cpu_(cpu), f_(f), b_(ctx_), ops_(b_, cpu_) {
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b_.setFastMathFlags(flags);
}

int64_t Emitter::run() {
  plan_ = plan_storage(f_.body);
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

llvm::Function* Emitter::make_function(const std::string& name, llvm::FunctionType* type) {
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

void Emitter::start_body(llvm::Function* fn) {
  fn_ = fn;
  b_.SetInsertPoint(llvm::BasicBlock::Create(ctx_, "entry", fn));
}

llvm::AllocaInst* Emitter::entry_alloca(llvm::Type* type, const std::string& name) {
  llvm::BasicBlock& entry = fn_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  return at.CreateAlloca(type, nullptr, name);
}

llvm::LoadInst* Emitter::load_pointer(Value* from, int64_t bytes, const std::string& name) {
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

bool Emitter::is_streamed(const ir::Buffer& output) const {
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

void Emitter::end_body() {
  if (stored_past_caches_) {
    // Such stores are ordered by nothing else, not even by the runtime's join.
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  }
  b_.CreateRetVoid();
}

void Emitter::bind_params(Value* params) {
  for (size_t i = 0; i < f_.params.size(); ++i) {
    const ir::Buffer& buffer = f_.params[i];
    Value* at = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), params, i);
    const int64_t bytes = buffer->elements() * buffer.dtype().bytes();
    buffers_[buffer.get()].base = load_pointer(at, bytes, buffer.name());
    buffers_[buffer.get()].read_only = i < f_.num_inputs && static_cast<int32_t>(i) != f_.in_place;
    buffers_[buffer.get()].streamed = i >= f_.num_inputs && is_streamed(buffer);
  }
}

namespace {

bool share_space(const Place& a, const Place& b) {
  const bool both = a.kind == Place::Kind::kWorkspace && b.kind == Place::Kind::kWorkspace;
  return both && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

// One alias scope per buffer, and every access says from which other buffers it stays away: all but
// those that have the same place in the workspace at another time.
void Emitter::make_scopes() {
  std::vector<ir::Buffer> all = f_.params;
  ir::visit(f_.body, [&](const ir::Stmt& s) {
    if (const auto* n = s.as<ir::Allocate>()) {
      all.push_back(n->buffer);
    }
  });
  llvm::MDBuilder md(ctx_);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain(f_.name);
  std::vector<llvm::Metadata*> scopes;
  scopes.reserve(all.size());
  for (const ir::Buffer& b : all) {
    scopes.push_back(md.createAnonymousAliasScope(domain, b.name()));
  }
  const Place param;
  const auto place = [&](const ir::Buffer& b) {
    const auto it = plan_.places.find(b.get());
    return it == plan_.places.end() ? &param : &it->second;
  };
  const auto in_place = [&](size_t a, size_t b) {
    return f_.in_place >= 0 && std::min(a, b) == static_cast<size_t>(f_.in_place) &&
           std::max(a, b) == f_.num_inputs;
  };
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (size_t k = 0; k < all.size(); ++k) {
      if (k != i && !in_place(i, k) && !share_space(*place(all[i]), *place(all[k]))) {
        others.push_back(scopes[k]);
      }
    }
    Storage& s = buffers_[all[i].get()];
    s.scope = llvm::MDNode::get(ctx_, {scopes[i]});
    s.others = llvm::MDNode::get(ctx_, others);
  }
}

}  // namespace tenon::backend::llvm_cpu
