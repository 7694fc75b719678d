// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "backend/nvptx/kernel_form.h"
#include "ir/thread_tags.h"
#include "simt/simt.h"
#include "support/check.h"

namespace tenon::backend::nvptx {
namespace {

using llvm::Value;

class SimtForm : public KernelForm {
 public:
  llvm::Function* begin(llvm::Module& module, llvm::IRBuilder<>& b, const std::string& name,
                        const Nest& nest) override {
    llvm::LLVMContext& ctx = module.getContext();
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
    fn_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, &module);
    describe(module, b, name, nest);
    b.SetInsertPoint(llvm::BasicBlock::Create(ctx, "entry", fn_));
    return fn_;
  }

  Value* argument(llvm::IRBuilder<>& b, size_t number, bool /*alone*/) override {
    Value* at = b.CreateConstInBoundsGEP1_64(b.getPtrTy(), fn_->getArg(0), number);
    return constant_load(b, b.getPtrTy(), at);
  }

  Value* thread_number(llvm::IRBuilder<>& b, ir::ThreadTag tag, int64_t /*extent*/) override {
    const size_t first = ir::is_block_tag(tag) ? offsetof(tenon_simt_thread, block)
                                               : offsetof(tenon_simt_thread, thread);
    return field(b, b.getInt32Ty(), first + sizeof(int32_t) * ir::dimension_of(tag));
  }

  Value* shared_memory(llvm::IRBuilder<>& b) override {
    return field(b, b.getPtrTy(), offsetof(tenon_simt_thread, shared));
  }

  void barrier(llvm::IRBuilder<>& b) override {
    Value* wait = field(b, b.getPtrTy(), offsetof(tenon_simt_thread, barrier));
    Value* self = field(b, b.getPtrTy(), offsetof(tenon_simt_thread, self));
    b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false), wait, {self});
  }

  Value* exchange(llvm::IRBuilder<>& b, Value* value, int64_t apart, int64_t threads) override {
    llvm::Type *i32 = b.getInt32Ty(), *pointer = b.getPtrTy();
    Value* swap = field(b, pointer, offsetof(tenon_simt_thread, exchange));
    Value* self = field(b, pointer, offsetof(tenon_simt_thread, self));
    auto* type = llvm::FunctionType::get(i32, {pointer, i32, i32, i32}, false);
    Value* got =
        b.CreateCall(type, swap,
                     {self, b.CreateBitCast(value, i32), b.getInt32(static_cast<uint32_t>(apart)),
                      b.getInt32(static_cast<uint32_t>(threads))});
    return b.CreateBitCast(got, value->getType());
  }

 private:
  // What is told about a thread does not change while it runs.
  static Value* constant_load(llvm::IRBuilder<>& b, llvm::Type* type, Value* at) {
    llvm::LoadInst* load = b.CreateLoad(type, at);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    return load;
  }
  Value* field(llvm::IRBuilder<>& b, llvm::Type* type, size_t offset) {
    return constant_load(b, type,
                         b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), fn_->getArg(1), offset));
  }
  static void describe(llvm::Module& module, llvm::IRBuilder<>& b, const std::string& name,
                       const Nest& nest) {
    static_assert(sizeof(tenon_simt_kernel) == 2 * sizeof(int32_t));
    llvm::Constant* fields[] = {b.getInt32(static_cast<uint32_t>(nest.arguments.size())),
                                b.getInt32(nest.has_barriers ? 1 : 0)};
    llvm::Constant* value = llvm::ConstantStruct::getAnon(fields);
    new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage,
                             value, name + TENON_SIMT_KERNEL_SUFFIX);
  }

  llvm::Function* fn_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelForm> simt_form() { return std::make_unique<SimtForm>(); }

}  // namespace tenon::backend::nvptx
