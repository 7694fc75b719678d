// SPDX-License-Identifier: Apache-2.0
// The driver's functions for modules, their functions and launches.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "simt/state.h"

namespace tenon::simt {

std::optional<Launch> make_launch(runtime::cuda::Function function, const uint32_t* grid,
                                  const uint32_t* block, uint32_t shared_bytes, void** arguments) {
  if (function == nullptr) return std::nullopt;
  Launch launch;
  launch.kernel = &function->kernel;
  std::copy(grid, grid + 3, launch.grid);
  std::copy(block, block + 3, launch.block);
  launch.shared_bytes = shared_bytes;
  for (int32_t i = 0; i < function->kernel.about.arguments; ++i) {
    launch.arguments.push_back(*static_cast<void**>(arguments[i]));
  }
  return launch;
}

}  // namespace tenon::simt

using namespace tenon::runtime::
    cuda;  // NOLINT(google-build-using-namespace): its functions are defined here

namespace {

// Section headers are the last thing in a library that our linker wrote.
size_t image_bytes(const void* image) {
  Elf64_Ehdr head;
  std::memcpy(&head, image, sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_DYN) return 0;
  return head.e_shoff + size_t{head.e_shnum} * head.e_shentsize;
}

bool open_image(ModuleObject& module, const void* image) {
  const size_t bytes = image_bytes(image);
  module.file = memfd_create("kernels", MFD_CLOEXEC);
  if (bytes == 0 || module.file < 0) return false;
  if (write(module.file, image, bytes) != static_cast<ssize_t>(bytes)) return false;
  const std::string path = "/proc/self/fd/" + std::to_string(module.file);
  module.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module.library == nullptr) std::fprintf(stderr, "simt: %s\n", dlerror());
  return module.library != nullptr;
}

void close_image(ModuleObject& module) {
  if (module.library != nullptr) dlclose(module.library);
  if (module.file >= 0) close(module.file);
}

Status launch(const std::optional<tenon::simt::Launch>& what) {
  return what ? tenon::simt::run(*what) : kInvalidHandle;
}

}  // namespace

// An image is a shared library of this machine. PTX is for real cards: this one has no compiler.
TENON_SIMT_EXPORT Status cuModuleLoadDataEx(Module* module, const void* image, uint32_t /*count*/,
                                            JitOption* /*options*/, void** /*values*/) {
  auto made = std::make_unique<ModuleObject>();
  const auto* text = static_cast<const char*>(image);
  if (text[0] != ELFMAG0) return kNoBinaryForGpu;
  if (!open_image(*made, image)) {
    close_image(*made);
    return kInvalidImage;
  }
  *module = made.release();
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuModuleUnload(Module module) {
  if (module == nullptr) return kInvalidHandle;
  close_image(*module);
  delete module;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuModuleGetFunction(Function* function, Module module, const char* name) {
  auto& known = module->functions[name];
  if (known == nullptr) {
    const std::string about = std::string(name) + TENON_SIMT_KERNEL_SUFFIX;
    void* entry = dlsym(module->library, name);
    const void* data = dlsym(module->library, about.c_str());
    if (entry == nullptr || data == nullptr) return kNotFound;
    known = std::make_unique<FunctionObject>();
    known->kernel.name = name;
    known->kernel.entry = reinterpret_cast<tenon_simt_function>(entry);
    known->kernel.about = *static_cast<const tenon_simt_kernel*>(data);
  }
  *function = known.get();
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuFuncGetAttribute(int32_t* value, FunctionAttribute attribute,
                                            Function function) {
  *value = attribute == kFunctionMaxThreadsPerBlock
               ? static_cast<int32_t>(tenon::simt::kMostThreads)
           : attribute == kFunctionMaxDynamicSharedBytes
               ? static_cast<int32_t>(function->kernel.most_shared_bytes)
               : 0;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuFuncSetAttribute(Function function, FunctionAttribute attribute,
                                            int32_t value) {
  if (attribute != kFunctionMaxDynamicSharedBytes) return kSuccess;
  if (value < 0 || static_cast<uint32_t>(value) > tenon::simt::kMostSharedBytes) {
    return kInvalidValue;
  }
  function->kernel.most_shared_bytes = static_cast<uint32_t>(value);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuLaunchKernel(Function function, uint32_t grid_x, uint32_t grid_y,
                                        uint32_t grid_z, uint32_t block_x, uint32_t block_y,
                                        uint32_t block_z, uint32_t shared_bytes, Stream /*stream*/,
                                        void** arguments, void** /*extra*/) {
  const uint32_t grid[] = {grid_x, grid_y, grid_z};
  const uint32_t block[] = {block_x, block_y, block_z};
  return launch(tenon::simt::make_launch(function, grid, block, shared_bytes, arguments));
}

TENON_SIMT_EXPORT Status cuLaunchKernelEx(const LaunchConfig* config, Function function,
                                          void** arguments, void** /*extra*/) {
  return launch(tenon::simt::make_launch(function, config->grid, config->block,
                                         config->shared_bytes, arguments));
}
