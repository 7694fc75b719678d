// SPDX-License-Identifier: Apache-2.0
// LLVM's code generators, and the way from an emitted module to bytes.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/llvm/cpu.h"
#include "backend/objects.h"

namespace tenon::backend::llvm_cpu {

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

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string& triple,
                                                  const std::string& processor,
                                                  const std::string& features);
// The target must be a CPU.
std::unique_ptr<llvm::TargetMachine> make_machine(const target::Target& t);
Cpu cpu_of(const target::Target& t, const llvm::TargetMachine& machine);

// Makes an empty module one of that machine.
void prepare(llvm::Module& module, const llvm::TargetMachine& machine);

// kAssembly or kObject.
std::string generate(llvm::Module& module, llvm::TargetMachine& machine, Emit kind);
// How an emitted module is cleaned up and becomes what a target takes; CPUs have the functions above.
struct Generator {
  void (*optimize)(llvm::Module& module, llvm::TargetMachine& machine);
  std::string (*generate)(llvm::Module& module, llvm::TargetMachine& machine, Emit kind);
};
Generator cpu_generator();
// An emitted module in the form that is asked for; a debug build verifies it first.
std::string finish(llvm::Module& module, llvm::TargetMachine& machine, Emit kind, Timer& timer,
                   CompileStats& stats, const Generator& how = cpu_generator());

// A shared library of these objects; libc and libm are found where it is loaded. Files of a moment are written to
// `folder`.
std::string shared_object(const std::vector<Member>& members, const std::filesystem::path& folder);

}  // namespace tenon::backend::llvm_cpu
