// SPDX-License-Identifier: Apache-2.0
// A backend turns loop IR (Dialect::kFlat) into machine code. A target names its backend, a row of backends.cpp; callers ask for the
// row, never for a backend by its own name.
//
//   auto kernel = backend::jit(function, target);
//   kernel->entry()(params, workspace, runtime);
//
// Every parameter, and the workspace, is aligned to 64 bytes; distinct parameters do not overlap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
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

enum class Emit : uint8_t { kLlvmIr, kOptimizedIr, kAssembly, kObject };
struct Code {
  std::string bytes;  // text, or an object that defines f.name
  int64_t workspace_bytes = 0;
};

// Compiles for one target, as often as wanted. Not thread-safe; one per thread is cheap.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual Code emit(const ir::Function& f, Emit kind, CompileStats* stats = nullptr) = 0;
  // An object for each of several functions whose names differ. They are made together, so that what takes long to start
  // is started once; where one of them fails, all do.
  virtual std::vector<Code> emit_objects(std::span<const ir::Function> functions);
  // An object that defines `name` as the file that a device loads, in which it finds `entry`. Files of a moment are
  // written to `folder`. Throws UserError where they cannot be.
  virtual std::string link(const std::string& object, const std::string& name,
                           const std::string& entry, const std::filesystem::path& folder) = 0;
  // Compiles and loads into this process; the target must run here.
  virtual std::unique_ptr<Kernel> jit(const ir::Function& f, CompileStats* stats = nullptr) = 0;
};

struct Backend {
  const char* name;  // as target::Target::backend has it
  bool (*makes_code_for)(const target::Target& t);
  std::unique_ptr<Compiler> (*make_compiler)(const target::Target& t);
};
std::span<const Backend> backends();
// Throws UserError for a target whose backend is not there or makes no code for its architecture.
const Backend& backend_for(const target::Target& t);

std::unique_ptr<Compiler> make_compiler(const target::Target& t);
// These two make a compiler of their own.
std::unique_ptr<Kernel> jit(const ir::Function& f, const target::Target& t,
                            CompileStats* stats = nullptr);
Code emit(const ir::Function& f, const target::Target& t, Emit kind);

}  // namespace tenon::backend
