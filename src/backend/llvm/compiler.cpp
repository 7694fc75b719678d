// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/compiler.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "backend/llvm/cpu.h"
#include "backend/llvm/cpu_emitter.h"
#include "backend/llvm/loader.h"
#include "backend/llvm/machine.h"
#include "backend/llvm/optimize.h"
#include "backend/llvm/register_targets.h"
#include "backend/objects.h"
#include "ir/verify.h"
#include "support/check.h"

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

namespace {

// Files of a moment.
class Removed {
 public:
  explicit Removed(std::filesystem::path file) : path(std::move(file)) {}
  ~Removed() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  Removed(const Removed&) = delete;
  Removed& operator=(const Removed&) = delete;
  const std::filesystem::path path;
};

void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw UserError(file.string() + " cannot be written: " + strerror(errno));
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.empty()) throw UserError(file.string() + " cannot be read back");
  return bytes;
}

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
    const std::string stem = std::to_string(getpid());
    const Removed from(folder / (stem + ".a"));
    const Removed to(folder / (stem + ".so"));
    write_bytes(from.path, make_archive({{"kernel.o", object}, {"entry.o", entry_object_}}));
    backend::link({.archive = from.path,
                   .output = to.path,
                   .soname = "candidate.so",
                   .needed = {},
                   .open = true});
    return read_bytes(to.path);
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
  module.setTargetTriple(machine_->getTargetTriple().str());
  module.setDataLayout(machine_->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  Code code;
  code.workspace_bytes = CpuEmitter(module, cpu_, f).run();
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
#ifndef NDEBUG
  TENON_CHECK(!llvm::verifyModule(module, &broken_out)) << broken << print_module(module);
#endif
  timer.lap(stats.emit_s);
  if (kind == Emit::kLlvmIr) {
    code.bytes = print_module(module);
    return code;
  }
  optimize(module, *machine_);
  timer.lap(stats.optimize_s);
  code.bytes =
      kind == Emit::kOptimizedIr ? print_module(module) : generate(module, *machine_, kind);
  timer.lap(stats.codegen_s);
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
