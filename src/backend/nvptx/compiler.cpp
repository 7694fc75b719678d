// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/compiler.h"

#include <utility>

#include "backend/gpu_module.h"
#include "backend/llvm/cpu.h"
#include "backend/llvm/machine.h"
#include "backend/llvm/optimize.h"
#include "backend/nvptx/gpu_emitter.h"
#include "backend/nvptx/kernel_form.h"
#include "backend/nvptx/ptxas.h"
#include "backend/nvptx/write_ptx.h"
#include "ir/verify.h"
#include "support/check.h"
#include "support/private_folder.h"

namespace tenon::backend::nvptx {
namespace {

using llvm_cpu::Timer;

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

// The oldest version of PTX that knows the processor, so that the oldest drivers take it.
struct Processor {
  const char* name;
  const char* features;
  bool early;  // kernels can wait by themselves for those in front of them
};
constexpr Processor kProcessors[] = {{"sm_80", "+ptx70", false},
                                     {"sm_86", "+ptx71", false},
                                     {"sm_89", "+ptx78", false},
                                     {"sm_90", "+ptx78", true}};

const Processor* processor_of(const target::Target& t) {
  for (const Processor& p : kProcessors) {
    if (t.gpu().processor == p.name) return &p;
  }
  return nullptr;
}

bool is_simt(const target::Target& t) { return t.gpu().processor == "simt"; }

// Both forms of kernels are computed with the same operations.
llvm_cpu::Cpu features_of_gpu() {
  llvm_cpu::Cpu features;
  features.x86 = false;
  features.fma = features.half_convert = features.round = true;
  features.narrow_indices = true;
  return features;
}

// It holds what a device runs for one function, and the LLVM module that this is made of.
struct Emitted {
  explicit Emitted(const std::string& name) : module(name, context) {}
  llvm::LLVMContext context;
  llvm::Module module;
  GpuModule out;
};

class GpuCompiler : public Compiler {
 public:
  Code emit(const ir::Function& f, Emit kind, CompileStats* stats) override {
    CompileStats ignored;
    CompileStats& times = stats != nullptr ? *stats : ignored;
    Timer timer;
    Emitted e(f.name);
    write(f, e);
    timer.lap(times.emit_s);
    if (kind != Emit::kObject) {
      return {llvm_cpu::finish(e.module, *machine_, kind, timer, times, generator_),
              e.out.workspace_bytes};
    }
    fill(e.out, e.module, timer, times);
    assemble_all(std::span(&e.out, 1));
    timer.lap(times.link_s);
    return {to_bytes(e.out), e.out.workspace_bytes};
  }

  std::vector<Code> emit_objects(std::span<const ir::Function> functions) override {
    CompileStats ignored;
    Timer timer;
    std::vector<GpuModule> made;
    for (const ir::Function& f : functions) {
      Emitted e(f.name);
      write(f, e);
      fill(e.out, e.module, timer, ignored);
      made.push_back(std::move(e.out));
    }
    assemble_all(made);
    std::vector<Code> out;
    for (const GpuModule& m : made) out.push_back({to_bytes(m), m.workspace_bytes});
    return out;
  }

  // An object is all that a device needs.
  std::string link(const std::string& object, const std::string& /*name*/,
                   const std::string& /*entry*/, const std::filesystem::path& /*folder*/) override {
    return object;
  }

  std::unique_ptr<Kernel> jit(const ir::Function& /*f*/, CompileStats* /*stats*/) override {
    throw UserError("kernels of a GPU cannot be loaded into this process");
  }

 protected:
  GpuCompiler(std::unique_ptr<llvm::TargetMachine> machine, llvm_cpu::Cpu features,
              std::unique_ptr<KernelForm> form, llvm_cpu::Generator generator)
      : machine_(std::move(machine)),
        features_(features),
        form_(std::move(form)),
        generator_(generator) {}

  // Compiles the module and puts it into `out`.
  virtual void fill(GpuModule& out, llvm::Module& module, Timer& timer, CompileStats& stats) = 0;
  // Puts what another tool makes of the modules into each of them. Names of kernels differ.
  virtual void assemble_all(std::span<GpuModule> /*modules*/) {}

  // Writes the kernels of a function as LLVM IR.
  void write(const ir::Function& f, Emitted& e) {
#ifndef NDEBUG
    ir::verify(f, ir::Dialect::kFlat);
#endif
    llvm_cpu::prepare(e.module, *machine_);
    e.module.setPICLevel(llvm::PICLevel::BigPIC);
    GpuEmitter emitter(e.module, features_, f, *form_);
    e.out.launches = emitter.run();
    e.out.workspace_bytes = emitter.workspace_bytes();
  }

  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm_cpu::Cpu features_;
  std::unique_ptr<KernelForm> form_;
  llvm_cpu::Generator generator_;
};

class PtxCompiler : public GpuCompiler {
 public:
  explicit PtxCompiler(const Processor& processor)
      : GpuCompiler(llvm_cpu::make_machine(kTriple, processor.name, processor.features),
                    features_of_gpu(), ptx_form(processor.early),
                    {llvm_cpu::optimize_briefly, write_ptx}),
        processor_(processor.name),
        ptxas_(find_ptxas()) {}

 private:
  void fill(GpuModule& out, llvm::Module& module, Timer& timer, CompileStats& stats) override {
    out.ptx = llvm_cpu::finish(module, *machine_, Emit::kAssembly, timer, stats, generator_);
  }

  void assemble_all(std::span<GpuModule> modules) override {
    if (!ptxas_) return;
    std::vector<std::string> texts;
    for (const GpuModule& m : modules) texts.push_back(m.ptx);
    const std::string image = assemble(*ptxas_, texts, processor_).image;
    for (GpuModule& m : modules) m.image = image;
  }

  std::string processor_;
  std::optional<std::filesystem::path> ptxas_;
};

class SimtCompiler : public GpuCompiler {
 public:
  SimtCompiler() : SimtCompiler(target::host_target()) {}

 private:
  explicit SimtCompiler(const target::Target& host)
      : GpuCompiler(llvm_cpu::make_machine(host), features_of_gpu(), simt_form(),
                    llvm_cpu::cpu_generator()) {
    features_.half_convert = llvm_cpu::cpu_of(host, *machine_).half_convert;
  }
  void fill(GpuModule& out, llvm::Module& module, Timer& timer, CompileStats& stats) override {
    const std::string object = llvm_cpu::finish(module, *machine_, Emit::kObject, timer, stats);
    const PrivateFolder folder = PrivateFolder::temporary("simt");
    out.image = llvm_cpu::shared_object({{"kernels.o", object}}, folder.path());
  }
};

}  // namespace

bool makes_code_for(const target::Target& t) {
  return !t.is_cpu() && t.arch == target::Arch::kNvptx64 &&
         (is_simt(t) || processor_of(t) != nullptr);
}

std::unique_ptr<Compiler> make_compiler(const target::Target& t) {
  TENON_CHECK(makes_code_for(t)) << t.name;
  if (is_simt(t)) return std::make_unique<SimtCompiler>();
  return std::make_unique<PtxCompiler>(*processor_of(t));
}

}  // namespace tenon::backend::nvptx
