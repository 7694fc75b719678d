// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/compiler.h"

#include <llvm/MC/MCSubtargetInfo.h>

#include "backend/llvm/cpu.h"
#include "backend/llvm/cpu_emitter.h"
#include "backend/llvm/loader.h"
#include "backend/llvm/machine.h"
#include "backend/objects.h"
#include "ir/verify.h"
#include "support/check.h"

namespace tenon::backend::llvm_cpu {

namespace {

// vpermi2b takes two registers of 64 bytes as one table; pshufb takes 16 bytes, repeated in registers of any length.
int look_up_bytes(const llvm::MCSubtargetInfo& info, int vector_bytes) {
  const bool wide = vector_bytes == 64;
  if (wide && info.checkFeatures("+avx512vbmi")) return 128;
  const char* needed = wide ? "+avx512bw" : vector_bytes == 32 ? "+avx2" : "+ssse3";
  return info.checkFeatures(needed) ? 16 : 0;
}

}  // namespace

Cpu cpu_of(const target::Target& t, const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& info = *machine.getMCSubtargetInfo();
  const auto has = [&](const char* feature) { return info.checkFeatures(feature); };
  Cpu cpu;
  cpu.vector_bytes = t.cpu().vector_bytes;
  cpu.l3_bytes = t.cpu().l3_bytes;
  cpu.parallel_vectors = t.cpu().parallel_vectors;
  cpu.x86 = t.arch == target::Arch::kX86_64;
  if (!cpu.x86) {
    cpu.fma = cpu.half_convert = cpu.round = true;
    cpu.dot = has("+dotprod");
    cpu.look_up_bytes = 64;
    return cpu;
  }
  cpu.fma = has("+fma") || has("+avx512f");
  cpu.half_convert = has("+f16c") || has("+avx512f");
  cpu.round = has("+sse4.1");
  cpu.scale = has("+avx512dq") && has("+avx512vl");
  cpu.dot = has("+avx512vnni") || has("+avxvnni");
  cpu.dot_bf16 = has("+avx512bf16");
  cpu.look_up_bytes = look_up_bytes(info, cpu.vector_bytes);
  return cpu;
}

namespace {

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

// Kernels are hidden outside of the library that they are linked into; this is what a loader finds.
std::string entry_ir(const std::string& hidden, const std::string& entry) {
  return "declare hidden void @" + hidden + "(ptr, ptr, ptr)\ndefine void @" + entry +
         "(ptr %p, ptr %w, ptr %r) {\n  tail call void @" + hidden +
         "(ptr %p, ptr %w, ptr %r)\n  ret void\n}\n";
}

class CpuCompiler : public Compiler {
 public:
  explicit CpuCompiler(const target::Target& t)
      : target_(t), machine_(make_machine(t)), cpu_(cpu_of(t, *machine_)) {}

  Code emit(const ir::Function& f, Emit kind, CompileStats* stats) override {
    CompileStats ignored;
    return compile(f, kind, stats != nullptr ? *stats : ignored);
  }

  // A shared library; libc and libm are found where it is loaded.
  std::string link(const std::string& object, const std::string& name, const std::string& entry,
                   const std::filesystem::path& folder) override {
    const std::string ir = entry_ir(name, entry);
    if (ir != entry_ir_) {
      entry_object_ = compile_ir(ir, target_);
      entry_ir_ = ir;
    }
    return shared_object({{"kernel.o", object}, {"entry.o", entry_object_}}, folder);
  }

  std::unique_ptr<Kernel> jit(const ir::Function& f, CompileStats* stats) override {
    CompileStats ignored;
    CompileStats& times = stats != nullptr ? *stats : ignored;
    TENON_CHECK(target::runs_here(target_)) << target_.name << " does not run here";
    Code object = compile(f, Emit::kObject, times);
    Timer timer;
    auto kernel =
        std::make_unique<LoadedKernel>(std::move(object.bytes), f.name, object.workspace_bytes);
    timer.lap(times.link_s);
    return kernel;
  }

 private:
  Code compile(const ir::Function& f, Emit kind, CompileStats& stats);

  target::Target target_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  Cpu cpu_;
  std::string entry_ir_, entry_object_;  // of the last link: most ask for the same
};

Code CpuCompiler::compile(const ir::Function& f, Emit kind, CompileStats& stats) {
#ifndef NDEBUG
  ir::verify(f, ir::Dialect::kFlat);
#endif
  Timer timer;
  llvm::LLVMContext context;
  llvm::Module module(f.name, context);
  prepare(module, *machine_);
  module.setPICLevel(llvm::PICLevel::BigPIC);
  Code code;
  code.workspace_bytes = CpuEmitter(module, cpu_, f).run();
  timer.lap(stats.emit_s);
  code.bytes = finish(module, *machine_, kind, timer, stats);
  return code;
}

}  // namespace

bool makes_code_for(const target::Target& t) {
  return t.is_cpu() && (t.arch == target::Arch::kX86_64 || t.arch == target::Arch::kAArch64);
}

std::unique_ptr<Compiler> make_compiler(const target::Target& t) {
  return std::make_unique<CpuCompiler>(t);
}

}  // namespace tenon::backend::llvm_cpu
