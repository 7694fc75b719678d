// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/compiler.h"

#include <utility>

#include "backend/gpu_module.h"
#include "backend/llvm/cpu.h"
#include "backend/llvm/machine.h"
#include "backend/nvptx/gpu_emitter.h"
#include "backend/nvptx/kernel_form.h"
#include "backend/nvptx/ptxas.h"
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

class GpuCompiler : public Compiler {
 public:
  Code emit(const ir::Function& f, Emit kind, CompileStats* stats) override {
    CompileStats ignored;
    CompileStats& times = stats != nullptr ? *stats : ignored;
#ifndef NDEBUG
    ir::verify(f, ir::Dialect::kFlat);
#endif
    Timer timer;
    llvm::LLVMContext context;
    llvm::Module module(f.name, context);
    llvm_cpu::prepare(module, *machine_);
    module.setPICLevel(llvm::PICLevel::BigPIC);
    GpuEmitter emitter(module, features_, f, *form_);
    GpuModule out;
    out.launches = emitter.run();
    out.workspace_bytes = emitter.workspace_bytes();
    timer.lap(times.emit_s);
    Code code;
    code.workspace_bytes = out.workspace_bytes;
    if (kind != Emit::kObject) {
      code.bytes = llvm_cpu::finish(module, *machine_, kind, timer, times);
      return code;
    }
    fill(out, module, timer, times);
    timer.lap(times.link_s);
    code.bytes = to_bytes(out);
    return code;
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
              std::unique_ptr<KernelForm> form)
      : machine_(std::move(machine)), features_(features), form_(std::move(form)) {}

  // Compiles the module and puts it into `out`.
  virtual void fill(GpuModule& out, llvm::Module& module, Timer& timer, CompileStats& stats) = 0;

  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm_cpu::Cpu features_;
  std::unique_ptr<KernelForm> form_;
};

class PtxCompiler : public GpuCompiler {
 public:
  explicit PtxCompiler(const Processor& processor)
      : GpuCompiler(llvm_cpu::make_machine(kTriple, processor.name, processor.features),
                    features_of_gpu(), ptx_form(processor.early)),
        processor_(processor.name),
        ptxas_(find_ptxas()) {}

 private:
  void fill(GpuModule& out, llvm::Module& module, Timer& timer, CompileStats& stats) override {
    out.ptx = llvm_cpu::finish(module, *machine_, Emit::kAssembly, timer, stats);
    if (ptxas_) out.image = assemble(*ptxas_, out.ptx, processor_).image;
  }

  std::string processor_;
  std::optional<std::filesystem::path> ptxas_;
};

class SimtCompiler : public GpuCompiler {
 public:
  SimtCompiler() : SimtCompiler(target::host_target()) {}

 private:
  explicit SimtCompiler(const target::Target& host)
      : GpuCompiler(llvm_cpu::make_machine(host), features_of_gpu(), simt_form()) {
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
