// SPDX-License-Identifier: Apache-2.0
// The table of backends: another one is a row here and a folder beside llvm/.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "backend/backend.h"
#include "backend/llvm/compiler.h"
#include "backend/nvptx/compiler.h"
#include "support/check.h"

namespace tenon::backend {
namespace {

constexpr Backend kBackends[] = {
    {"llvm-cpu", llvm_cpu::makes_code_for, llvm_cpu::make_compiler},
    {"nvptx", nvptx::makes_code_for, nvptx::make_compiler},
};

}  // namespace

std::vector<Code> Compiler::emit_objects(std::span<const ir::Function> functions) {
  std::vector<Code> out;
  for (const ir::Function& f : functions) out.push_back(emit(f, Emit::kObject));
  return out;
}

std::span<const Backend> backends() { return kBackends; }

const Backend& backend_for(const target::Target& t) {
  std::vector<std::string> names;
  for (const Backend& b : kBackends) {
    names.emplace_back(b.name);
    if (t.backend != b.name) continue;
    if (b.makes_code_for(t)) return b;
    throw UserError(
        fmt::format("target '{}': backend {} makes no code for its architecture", t.name, b.name));
  }
  throw UserError(fmt::format("target '{}': there is no backend '{}'", t.name, t.backend),
                  fmt::format("known: {}", fmt::join(names, ", ")));
}

std::unique_ptr<Compiler> make_compiler(const target::Target& t) {
  return backend_for(t).make_compiler(t);
}

std::unique_ptr<Kernel> jit(const ir::Function& f, const target::Target& t, CompileStats* stats) {
  return make_compiler(t)->jit(f, stats);
}

Code emit(const ir::Function& f, const target::Target& t, Emit kind) {
  return make_compiler(t)->emit(f, kind);
}

}  // namespace tenon::backend
