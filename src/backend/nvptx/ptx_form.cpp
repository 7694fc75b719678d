// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/nvptx/kernel_form.h"
#include "support/check.h"

namespace tenon::backend::nvptx {
namespace {

using llvm::Value;

constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kSharedSpace = 3;
constexpr uint64_t kPointerAlignment = 256;

llvm::Intrinsic::ID register_of(ir::ThreadTag tag) {
  switch (tag) {
    case ir::ThreadTag::kBlockX:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x;
    case ir::ThreadTag::kBlockY:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y;
    case ir::ThreadTag::kBlockZ:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z;
    case ir::ThreadTag::kThreadX:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x;
    case ir::ThreadTag::kThreadY:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y;
    case ir::ThreadTag::kThreadZ:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z;
    case ir::ThreadTag::kNone:
    case ir::ThreadTag::kVThread:
      break;
  }
  TENON_CHECK(false) << "no register for thread tag " << static_cast<int>(tag);
  return llvm::Intrinsic::not_intrinsic;
}

class PtxForm : public KernelForm {
 public:
  explicit PtxForm(bool early) : early_(early) {}

  llvm::Function* begin(llvm::Module& module, llvm::IRBuilder<>& b, const std::string& name,
                        const Nest& nest) override {
    llvm::LLVMContext& ctx = module.getContext();
    llvm::Type* pointer = llvm::PointerType::get(ctx, kGlobalSpace);
    const std::vector<llvm::Type*> types(nest.arguments.size(), pointer);
    auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
    fn_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, &module);
    fn_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    // A block never has more threads: with less, the assembler would keep registers for 1,024.
    const char* limits[] = {"maxntidx", "maxntidy", "maxntidz"};
    for (size_t i = 0; i < nest.block.size(); ++i) annotate(module, b, limits[i], nest.block[i]);
    b.SetInsertPoint(llvm::BasicBlock::Create(ctx, "entry", fn_));
    return fn_;
  }

  Value* argument(llvm::IRBuilder<>& b, size_t number, bool alone) override {
    llvm::Argument* a = fn_->getArg(static_cast<unsigned>(number));
    const llvm::Align align(kPointerAlignment);
    a->addAttr(llvm::Attribute::getWithAlignment(b.getContext(), align));
    if (alone) a->addAttr(llvm::Attribute::NoAlias);
    return a;
  }

  Value* thread_number(llvm::IRBuilder<>& b, ir::ThreadTag tag, int64_t extent) override {
    llvm::CallInst* call = b.CreateIntrinsic(register_of(tag), {}, {});
    const llvm::APInt zero(32, 0);
    call->addRangeRetAttr({zero, llvm::APInt(32, static_cast<uint64_t>(extent))});
    return call;
  }

  // One array for all buffers: what is declared with its size may not be over 48 KiB.
  Value* shared_memory(llvm::IRBuilder<>& b) override {
    llvm::Module& module = *fn_->getParent();
    constexpr const char* kName = "tenon_shared";
    if (llvm::GlobalVariable* known = module.getGlobalVariable(kName)) return known;
    auto* made = new llvm::GlobalVariable(module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                          llvm::GlobalValue::ExternalLinkage, nullptr, kName,
                                          nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    made->setAlignment(llvm::Align(16));
    return made;
  }

  // The next kernel is let in as soon as this one may touch memory: its blocks take the places that
  // become free, and wait there.
  bool wait_for_kernels(llvm::IRBuilder<>& b) override {
    if (!early_) return false;
    assembly(b, "griddepcontrol.wait;");
    assembly(b, "griddepcontrol.launch_dependents;");
    return true;
  }

  bool begins_early() const override { return early_; }
  bool has_copies() const override { return true; }

  bool begin_copy(llvm::IRBuilder<>& b, Value* to, Value* from, int64_t bytes,
                  Value* wanted) override {
    const auto id = bytes == 16  ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_16_s
                    : bytes == 8 ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s
                                 : llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s;
    Value* size = b.getInt32(static_cast<uint32_t>(bytes));
    if (wanted != nullptr) size = b.CreateSelect(wanted, size, b.getInt32(0));
    b.CreateIntrinsic(id, {}, {to, from, size});
    return true;
  }

  void wait_for_copies(llvm::IRBuilder<>& b) override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {}, {});
  }

  void barrier(llvm::IRBuilder<>& b) override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  }

  // Other threads of the warp may be elsewhere: only those that exchange are named.
  Value* exchange(llvm::IRBuilder<>& b, Value* value, int64_t apart, int64_t threads) override {
    constexpr uint32_t kWarp = 32, kAll = 0xFFFFFFFF;
    Value* mask = b.getInt32(kAll);
    if (threads < kWarp) {
      const auto n = static_cast<uint32_t>(threads);
      Value* lane = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
      mask = b.CreateShl(b.getInt32((1U << n) - 1), b.CreateAnd(lane, b.getInt32(kWarp - n)));
    }
    const auto id = value->getType()->isFloatTy() ? llvm::Intrinsic::nvvm_shfl_sync_bfly_f32
                                                  : llvm::Intrinsic::nvvm_shfl_sync_bfly_i32;
    Value* by = b.getInt32(static_cast<uint32_t>(apart));
    return b.CreateIntrinsic(id, {}, {mask, value, by, b.getInt32(kWarp - 1)});
  }

 private:
  static void assembly(llvm::IRBuilder<>& b, const char* text) {
    auto* type = llvm::FunctionType::get(b.getVoidTy(), false);
    b.CreateCall(llvm::InlineAsm::get(type, text, "~{memory}", /*hasSideEffects=*/true));
  }

  void annotate(llvm::Module& module, llvm::IRBuilder<>& b, const char* what, int64_t value) {
    llvm::LLVMContext& ctx = module.getContext();
    auto* number = llvm::ConstantAsMetadata::get(b.getInt32(static_cast<uint32_t>(value)));
    module.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(
            ctx, {llvm::ConstantAsMetadata::get(fn_), llvm::MDString::get(ctx, what), number}));
  }

  bool early_;
  llvm::Function* fn_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelForm> ptx_form(bool early) { return std::make_unique<PtxForm>(early); }

}  // namespace tenon::backend::nvptx
