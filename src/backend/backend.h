// SPDX-License-Identifier: Apache-2.0
// From loop IR (Dialect::kFlat) to machine code.
//
//   auto kernel = backend::llvm_cpu::jit(function, target);
//   kernel->entry()(params, workspace, runtime);
//
// Every parameter, and the workspace, is aligned to 64 bytes; distinct parameters do not overlap.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "target/target.h"
#include "tenon/runtime.h"

namespace tenon::backend {

class Kernel {  // thread-safe to run at once with different params and workspaces
 public:
  virtual ~Kernel() = default;
  virtual tenon_kernel entry() const = 0;
  virtual int64_t workspace_bytes()
      const = 0;  // 64-byte aligned, given by the caller; 0: may be null
};

// Wall time of compiling, by part.
struct CompileStats {
  double emit_s = 0, optimize_s = 0, codegen_s = 0, link_s = 0;
};

namespace llvm_cpu {

enum class Emit : uint8_t { kLlvmIr, kOptimizedIr, kAssembly, kObject };
struct Artifact {
  std::string bytes;  // text, or an ELF relocatable object that defines f.name
  int64_t workspace_bytes = 0;
};

// Compiles for one target, as often as wanted. Not thread-safe; one per thread is cheap.
class Compiler {
 public:
  explicit Compiler(const target::Target& t);
  ~Compiler();
  // Compiles and loads for this machine; the target must run here.
  std::unique_ptr<Kernel> jit(const ir::Function& f, CompileStats* stats = nullptr);
  Artifact emit(const ir::Function& f, Emit kind, CompileStats* stats = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// With a Compiler of their own.
std::unique_ptr<Kernel> jit(const ir::Function& f, const target::Target& t,
                            CompileStats* stats = nullptr);
Artifact emit(const ir::Function& f, const target::Target& t, Emit kind);

}  // namespace llvm_cpu
}  // namespace tenon::backend
