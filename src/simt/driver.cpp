// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's functions except graphs. Everything is done before a function returns, so that streams and events
// have nothing to wait for.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simt/state.h"

namespace tenon::simt {

Memory& memory() {
  static Memory all;
  return all;
}

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
using tenon::simt::memory;

namespace {

constexpr const char* kCardName = "simt on this machine's processor";

struct Text {
  Status status;
  const char* name;
  const char* words;
};
constexpr Text kTexts[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for the card"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
};

const Text* text_of(Status status) {
  const auto* end = std::end(kTexts);
  const auto* at =
      std::find_if(std::begin(kTexts), end, [&](const Text& t) { return t.status == status; });
  return at == end ? nullptr : at;
}

struct Value {
  DeviceAttribute attribute;
  int32_t value;
};
constexpr Value kValues[] = {
    {kMaxThreadsPerBlock, static_cast<int32_t>(tenon::simt::kMostThreads)},
    {kMaxGridX, 2147483647},
    {kMaxGridY, 65535},
    {kMaxGridZ, 65535},
    {kMaxSharedBytesPerBlock, 48 << 10},
    {kWarpThreads, 32},
    {kMaxRegistersPerBlock, 65536},
    {kClockKilohertz, 1000000},
    {kMultiprocessors, 4},
    {kMemoryClockKilohertz, 1000000},
    {kMemoryBusBits, 64},
    {kL2Bytes, 4 << 20},
    {kMaxThreadsPerMultiprocessor, 2048},
    {kMaxSharedBytesPerMultiprocessor, 100 << 10},
    {kMaxRegistersPerMultiprocessor, 65536},
    {kMaxSharedBytesPerBlockOptin, static_cast<int32_t>(tenon::simt::kMostSharedBytes)},
    {kMaxBlocksPerMultiprocessor, 32},
};

ContextObject the_context;                  // of the one card
thread_local std::vector<Context> current;  // contexts of this thread, the current one last

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

TENON_SIMT_EXPORT Status cuInit(uint32_t /*flags*/) { return kSuccess; }

TENON_SIMT_EXPORT Status cuDriverGetVersion(int32_t* version) {
  *version = 12040;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGetErrorName(Status status, const char** text) {
  const Text* t = text_of(status);
  *text = t != nullptr ? t->name : nullptr;
  return t != nullptr ? kSuccess : kInvalidValue;
}

TENON_SIMT_EXPORT Status cuGetErrorString(Status status, const char** text) {
  const Text* t = text_of(status);
  *text = t != nullptr ? t->words : nullptr;
  return t != nullptr ? kSuccess : kInvalidValue;
}

TENON_SIMT_EXPORT Status cuDeviceGetCount(int32_t* count) {
  *count = 1;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuDeviceGet(Device* device, int32_t ordinal) {
  *device = 0;
  return ordinal == 0 ? kSuccess : kInvalidDevice;
}

TENON_SIMT_EXPORT Status cuDeviceGetName(char* name, int32_t bytes, Device /*device*/) {
  std::snprintf(name, static_cast<size_t>(bytes), "%s", kCardName);
  return kSuccess;
}

// What is not in the table is 0: a capability of 0.0 is that of no real card.
TENON_SIMT_EXPORT Status cuDeviceGetAttribute(int32_t* value, DeviceAttribute attribute,
                                              Device /*device*/) {
  *value = 0;
  for (const Value& v : kValues) {
    if (v.attribute == attribute) *value = v.value;
  }
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuDeviceTotalMem_v2(size_t* bytes, Device /*device*/) {
  *bytes = tenon::simt::Memory::kTotalBytes;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuDevicePrimaryCtxRetain(Context* context, Device device) {
  *context = &the_context;
  return device == 0 ? kSuccess : kInvalidDevice;
}

TENON_SIMT_EXPORT Status cuDevicePrimaryCtxRelease_v2(Device /*device*/) { return kSuccess; }

TENON_SIMT_EXPORT Status cuCtxPushCurrent_v2(Context context) {
  current.push_back(context);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuCtxPopCurrent_v2(Context* context) {
  if (current.empty()) return kInvalidContext;
  if (context != nullptr) *context = current.back();
  current.pop_back();
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuCtxSetCurrent(Context context) {
  if (!current.empty()) current.pop_back();
  if (context != nullptr) current.push_back(context);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuCtxSynchronize() {
  return memory().intact() ? kSuccess : kIllegalAddress;
}

TENON_SIMT_EXPORT Status cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = memory().free_bytes();
  *total = tenon::simt::Memory::kTotalBytes;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemAlloc_v2(DevicePointer* data, size_t bytes) {
  *data = memory().allocate(bytes);
  return *data != 0 ? kSuccess : bytes == 0 ? kInvalidValue : kOutOfMemory;
}

TENON_SIMT_EXPORT Status cuMemFree_v2(DevicePointer data) {
  bool intact = true;
  if (data != 0 && !memory().free(data, intact)) return kInvalidValue;
  return intact ? kSuccess : kIllegalAddress;
}

TENON_SIMT_EXPORT Status cuMemHostAlloc(void** data, size_t bytes, uint32_t /*flags*/) {
  *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *data != nullptr ? kSuccess : kOutOfMemory;
}

TENON_SIMT_EXPORT Status cuMemFreeHost(void* data) {
  std::free(data);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t bytes) {
  if (!memory().contains(to, bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t bytes) {
  if (!memory().contains(from, bytes)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes,
                                              Stream /*stream*/) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}

TENON_SIMT_EXPORT Status cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes,
                                              Stream /*stream*/) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}

TENON_SIMT_EXPORT Status cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes,
                                              Stream /*stream*/) {
  if (!memory().contains(to, bytes)) return kInvalidValue;
  return cuMemcpyDtoH_v2(reinterpret_cast<void*>(to), from, bytes);
}

TENON_SIMT_EXPORT Status cuMemsetD8Async(DevicePointer to, uint8_t value, size_t count,
                                         Stream /*stream*/) {
  if (!memory().contains(to, count)) return kInvalidValue;
  std::memset(reinterpret_cast<void*>(to), value, count);
  return kSuccess;
}

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

TENON_SIMT_EXPORT Status cuStreamCreate(Stream* stream, uint32_t /*flags*/) {
  *stream = new StreamObject;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuStreamDestroy_v2(Stream stream) {
  delete stream;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuStreamSynchronize(Stream /*stream*/) { return cuCtxSynchronize(); }

TENON_SIMT_EXPORT Status cuStreamWaitEvent(Stream /*stream*/, Event /*event*/, uint32_t /*flags*/) {
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventCreate(Event* event, uint32_t /*flags*/) {
  *event = new EventObject;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventDestroy_v2(Event event) {
  delete event;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventRecord(Event event, Stream /*stream*/) {
  event->at = std::chrono::steady_clock::now();
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventSynchronize(Event /*event*/) { return cuCtxSynchronize(); }

TENON_SIMT_EXPORT Status cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return kSuccess;
}
