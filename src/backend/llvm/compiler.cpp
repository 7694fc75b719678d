// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <chrono>

#include "backend/backend.h"
#include "backend/llvm/cpu.h"
#include "backend/llvm/emitter.h"
#include "backend/llvm/loader.h"
#include "backend/llvm/machine.h"
#include "backend/llvm/optimize.h"
#include "backend/llvm/register_targets.h"
#include "ir/verify.h"

namespace tenon::backend::llvm_cpu {
std::unique_ptr<llvm::TargetMachine> make_machine(const target::Target& t) {
  static const bool registered = (register_targets(), true);
  TENON_CHECK(registered);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(t.triple, error);
  TENON_CHECK(target != nullptr) << error;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.MCOptions.AsmVerbose = true;  // assembly text names its spills
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(t.triple, t.cpu().processor, t.cpu().features, options,
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  TENON_CHECK(machine != nullptr) << "no code generator for " << t.triple;
  return machine;
}

namespace {

Cpu cpu_of(const target::Target& t, const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& info = *machine.getMCSubtargetInfo();
  const auto has = [&](const char* feature) { return info.checkFeatures(feature); };
  Cpu cpu;
  cpu.vector_bytes = t.cpu().vector_bytes;
  cpu.l3_bytes = t.cpu().l3_bytes;
  cpu.x86 = t.arch == target::Arch::kX86_64;
  if (!cpu.x86) {
    cpu.fma = cpu.half_convert = cpu.round = true;
    cpu.dot = has("+dotprod");
    return cpu;
  }
  cpu.fma = has("+fma") || has("+avx512f");
  cpu.half_convert = has("+f16c") || has("+avx512f");
  cpu.round = has("+sse4.1");
  cpu.scale = has("+avx512dq") && has("+avx512vl");
  cpu.dot = has("+avx512vnni") || has("+avxvnni");
  cpu.dot_bf16 = has("+avx512bf16");
  return cpu;
}

class Timer {
 public:
  // Adds the time since construction or the last call.
  void lap(double& to) {
    const auto now = std::chrono::steady_clock::now();
    to += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class LoadedKernel : public Kernel {
 public:
  LoadedKernel(std::string object, const std::string& name, int64_t workspace_bytes)
      : object_(std::move(object)),
        entry_(reinterpret_cast<tenon_kernel>(object_.symbol(name))),
        workspace_bytes_(workspace_bytes) {}
  tenon_kernel entry() const override { return entry_; }
  int64_t workspace_bytes() const override { return workspace_bytes_; }

 private:
  LoadedObject object_;
  tenon_kernel entry_;
  int64_t workspace_bytes_;
};

std::string print_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

}  // namespace

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, Emit kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  const auto type = kind == Emit::kAssembly ? llvm::CodeGenFileType::AssemblyFile
                                            : llvm::CodeGenFileType::ObjectFile;
  const bool failed =
      machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true);
  TENON_CHECK(!failed) << "the target cannot write this kind of file";
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

struct Compiler::Impl {
  explicit Impl(const target::Target& t)
      : target(t), machine(make_machine(t)), cpu(cpu_of(t, *machine)) {}
  Artifact compile(const ir::Function& f, Emit kind, CompileStats& stats);

  target::Target target;
  std::unique_ptr<llvm::TargetMachine> machine;
  Cpu cpu;
};

Artifact Compiler::Impl::compile(const ir::Function& f, Emit kind, CompileStats& stats) {
#ifndef NDEBUG
  ir::verify(f, ir::Dialect::kFlat);
#endif
  Timer timer;
  llvm::LLVMContext context;
  llvm::Module module(f.name, context);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  Artifact artifact;
  artifact.workspace_bytes = Emitter(module, cpu, f).run();
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
#ifndef NDEBUG
  TENON_CHECK(!llvm::verifyModule(module, &broken_out)) << broken << print_module(module);
#endif
  timer.lap(stats.emit_s);
  if (kind == Emit::kLlvmIr) {
    artifact.bytes = print_module(module);
    return artifact;
  }
  optimize(module, *machine);
  timer.lap(stats.optimize_s);
  artifact.bytes =
      kind == Emit::kOptimizedIr ? print_module(module) : generate(module, *machine, kind);
  timer.lap(stats.codegen_s);
  return artifact;
}

Compiler::Compiler(const target::Target& t) : impl_(std::make_unique<Impl>(t)) {}
Compiler::~Compiler() = default;

Artifact Compiler::emit(const ir::Function& f, Emit kind, CompileStats* stats) {
  CompileStats ignored;
  return impl_->compile(f, kind, stats != nullptr ? *stats : ignored);
}

std::unique_ptr<Kernel> Compiler::jit(const ir::Function& f, CompileStats* stats) {
  CompileStats ignored;
  CompileStats& times = stats != nullptr ? *stats : ignored;
  TENON_CHECK(target::runs_here(impl_->target)) << impl_->target.name << " does not run here";
  Artifact object = impl_->compile(f, Emit::kObject, times);
  Timer timer;
  auto kernel =
      std::make_unique<LoadedKernel>(std::move(object.bytes), f.name, object.workspace_bytes);
  timer.lap(times.link_s);
  return kernel;
}

std::unique_ptr<Kernel> jit(const ir::Function& f, const target::Target& t, CompileStats* stats) {
  return Compiler(t).jit(f, stats);
}

Artifact emit(const ir::Function& f, const target::Target& t, Emit kind) {
  return Compiler(t).emit(f, kind);
}

}  // namespace tenon::backend::llvm_cpu
