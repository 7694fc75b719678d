// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/machine.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "backend/llvm/optimize.h"
#include "backend/llvm/register_targets.h"
#include "support/check.h"

namespace tenon::backend::llvm_cpu {

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string& triple,
                                                  const std::string& processor,
                                                  const std::string& features) {
  static const bool registered = (register_targets(), true);
  TENON_CHECK(registered);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TENON_CHECK(target != nullptr) << error;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.MCOptions.AsmVerbose = true;  // assembly text names its spills
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, processor, features, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
  TENON_CHECK(machine != nullptr) << "no code generator for " << triple;
  return machine;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const target::Target& t) {
  return make_machine(t.triple, t.cpu().processor, t.cpu().features);
}

void prepare(llvm::Module& module, const llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
}

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

std::string print_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

}  // namespace

Generator cpu_generator() { return {optimize, generate}; }

std::string finish(llvm::Module& module, llvm::TargetMachine& machine, Emit kind, Timer& timer,
                   CompileStats& stats, const Generator& how) {
#ifndef NDEBUG
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
  TENON_CHECK(!llvm::verifyModule(module, &broken_out)) << broken << print_module(module);
  timer.lap(stats.emit_s);
#endif
  if (kind == Emit::kLlvmIr) {
    return print_module(module);
  }
  how.optimize(module, machine);
  timer.lap(stats.optimize_s);
  std::string bytes =
      kind == Emit::kOptimizedIr ? print_module(module) : how.generate(module, machine, kind);
  timer.lap(stats.codegen_s);
  return bytes;
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

}  // namespace

std::string shared_object(const std::vector<Member>& members, const std::filesystem::path& folder) {
  const std::string stem = std::to_string(getpid());
  const Removed from(folder / (stem + ".a"));
  const Removed to(folder / (stem + ".so"));
  write_bytes(from.path, make_archive(members));
  backend::link({.archive = from.path,
                 .output = to.path,
                 .soname = "candidate.so",
                 .needed = {},
                 .open = true});
  return read_bytes(to.path);
}

}  // namespace tenon::backend::llvm_cpu
