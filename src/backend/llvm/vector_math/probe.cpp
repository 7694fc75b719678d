// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/vector_math/probe.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include "backend/llvm/register_targets.h"
#include "backend/llvm/vector_math.h"

namespace tenon::backend::llvm_cpu {
namespace {

constexpr const char* kName = "probe";

std::unique_ptr<llvm::TargetMachine> make_machine(const ProbeSpec& spec) {
  register_targets();
  const std::string triple = spec.triple.empty() ? llvm::sys::getProcessTriple() : spec.triple;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TENON_CHECK(target != nullptr) << error;
  llvm::TargetMachine* machine = target->createTargetMachine(
      triple, spec.cpu, spec.features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive);
  TENON_CHECK(machine != nullptr) << "no code generator for " << triple;
  return std::unique_ptr<llvm::TargetMachine>(machine);
}

llvm::Value* call_function(llvm::IRBuilder<>& b, const ProbeSpec& spec,
                           const std::vector<llvm::Value*>& args) {
  const MathOptions opt{
      .has_fma = spec.has_fma, .has_round = spec.has_round, .has_scale = spec.has_scale};
  llvm::Type* type = args[0]->getType();
  if (spec.gelu) {
    auto constant = [&](double v) { return llvm::ConstantFP::get(type, v); };
    llvm::Value* scaled = b.CreateFMul(args[0], constant(0x1.6a09e667f3bcdp-1));
    llvm::Value* erf = emit_math(b, spec.fn, {scaled}, opt);
    llvm::Value* half = b.CreateFMul(args[0], constant(0.5));
    return b.CreateFMul(half, b.CreateFAdd(erf, constant(1.0)));
  }
  if (spec.fast_builder) {
    b.setFastMathFlags(llvm::FastMathFlags::getFast());
  }
  if (spec.silu) return emit_times_sigmoid(b, args[0], args[0], opt);
  llvm::Value* y = emit_math(b, spec.fn, args, opt);
  return y->getType() == type ? y : b.CreateUIToFP(y, type);
}

size_t inputs_of(ir::Intrinsic fn) {
  return fn == ir::Intrinsic::kFma ? 3 : fn == ir::Intrinsic::kPow ? 2 : 1;
}

void emit_body(llvm::IRBuilder<>& b, llvm::Function* f, llvm::Value* i, const ProbeSpec& spec) {
  llvm::Type* element = spec.f64 ? b.getDoubleTy() : b.getFloatTy();
  llvm::Type* type = element;
  if (spec.lanes > 1) {
    type = llvm::FixedVectorType::get(element, static_cast<unsigned>(spec.lanes));
  }
  const llvm::Align align(spec.f64 ? 8 : 4);
  llvm::Value* at = b.CreateMul(i, b.getInt64(static_cast<uint64_t>(spec.lanes)));
  std::vector<llvm::Value*> args;
  for (unsigned k = 0; k < inputs_of(spec.fn); ++k) {
    args.push_back(b.CreateAlignedLoad(type, b.CreateGEP(element, f->getArg(k), {at}), align));
  }
  b.CreateAlignedStore(call_function(b, spec, args), b.CreateGEP(element, f->getArg(3), {at}),
                       align);
}

std::unique_ptr<llvm::Module> make_module(llvm::LLVMContext& context, const ProbeSpec& spec,
                                          const llvm::TargetMachine& machine) {
  auto module = std::make_unique<llvm::Module>(kName, context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* index = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, pointer, pointer, index}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kName, module.get());
  f->addFnAttr("prefer-vector-width", "512");
  f->addParamAttr(3, llvm::Attribute::NoAlias);
  auto* entry = llvm::BasicBlock::Create(context, "entry", f);
  auto* loop = llvm::BasicBlock::Create(context, "loop", f);
  auto* done = llvm::BasicBlock::Create(context, "done", f);
  llvm::IRBuilder<> b(entry);
  b.CreateCondBr(b.CreateICmpSGT(f->getArg(4), b.getInt64(0)), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(index, 2);
  emit_body(b, f, i, spec);
  llvm::Value* next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(b.getInt64(0), entry);
  i->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpSLT(next, f->getArg(4)), loop, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  std::string problem;
  llvm::raw_string_ostream out(problem);
  TENON_CHECK(!llvm::verifyModule(*module, &out)) << problem;
  return module;
}

std::string generate(const ProbeSpec& spec, llvm::CodeGenFileType kind) {
  const std::unique_ptr<llvm::TargetMachine> machine = make_machine(spec);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = make_module(context, spec, *machine);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  TENON_CHECK(!machine->addPassesToEmitFile(passes, out, nullptr, kind)) << "no emission";
  passes.run(*module);
  return std::string(bytes);
}

template <class T>
T expect(llvm::Expected<T> value) {
  TENON_CHECK(static_cast<bool>(value)) << llvm::toString(value.takeError());
  return std::move(*value);
}

}  // namespace

struct Probe::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

Probe::Probe(const ProbeSpec& spec) : impl_(std::make_unique<Impl>()) {
  const std::string object = generate(spec, llvm::CodeGenFileType::ObjectFile);
  // without the process's symbols a call to libm would be a link error
  impl_->jit = expect(llvm::orc::LLJITBuilder()
                          .setLinkProcessSymbolsByDefault(false)
                          .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                          .create());
  llvm::Error error =
      impl_->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, kName));
  TENON_CHECK(!error) << llvm::toString(std::move(error));
  function_ = expect(impl_->jit->lookup(kName)).toPtr<ProbeFunction>();
}

Probe::~Probe() = default;

std::string probe_assembly(const ProbeSpec& spec) {
  return generate(spec, llvm::CodeGenFileType::AssemblyFile);
}

std::vector<std::string> probe_undefined_symbols(const ProbeSpec& spec) {
  const std::string object = generate(spec, llvm::CodeGenFileType::ObjectFile);
  const auto file =
      expect(llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, kName)));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : file->symbols()) {
    if ((expect(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined) != 0) {
      const std::string name = expect(symbol.getName()).str();
      if (!name.empty()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace tenon::backend::llvm_cpu
