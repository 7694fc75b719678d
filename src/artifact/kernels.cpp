// SPDX-License-Identifier: Apache-2.0
#include "artifact/kernels.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "backend/backend.h"

namespace tenon::artifact {
namespace {

using backend::Compiler;
using backend::Emit;

CompiledKernel compile(Compiler& compiler, const Kernel& kernel, const std::string& symbol,
                       bool for_gpu, const KernelOptions& options) {
  ir::Function f = kernel.function;
  f.name = symbol;
  CompiledKernel made;
  made.symbol = symbol;
  auto object = compiler.emit(f, Emit::kObject);
  if (for_gpu) {
    made.gpu = backend::gpu_module_from(object.bytes);
  } else {
    made.object = std::move(object.bytes);
  }
  made.workspace_bytes = object.workspace_bytes;
  if (options.ir) {
    made.ir = compiler.emit(f, Emit::kOptimizedIr).bytes;
  }
  if (options.assembly) {
    made.assembly = compiler.emit(f, Emit::kAssembly).bytes;
  }
  return made;
}

}  // namespace

std::vector<CompiledKernel> compile_kernels(const Program& program, const KernelOptions& options) {
  std::vector<CompiledKernel> made(program.kernels.size());
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  const auto work = [&] {
    try {
      const auto compiler = backend::make_compiler(program.target);
      for (size_t i = next++; i < made.size(); i = next++) {
        const Kernel& k = program.kernels[i];
        made[i] =
            compile(*compiler, k, program.name + "_k_" + k.name, !program.target.is_cpu(), options);
      }
    } catch (...) {
      const std::lock_guard lock(guard);
      failure = failure != nullptr ? failure : std::current_exception();
      next = made.size();
    }
  };
  const size_t wanted = options.threads > 0 ? static_cast<size_t>(options.threads)
                                            : std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(wanted, made.size()); ++i) {
      others.emplace_back(work);
    }
    if (!made.empty()) {
      work();
    }
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
  return made;
}

}  // namespace tenon::artifact
