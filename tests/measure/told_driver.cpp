// SPDX-License-Identifier: Apache-2.0
// A CUDA driver for tests: its memory is this process's, and its kernels stand below, chosen by name. Work is done when it
// is put into a stream. A module is any text that begins with "code"; its kernels are those of the table. TOLD_DRIVER_VERSION
// and TOLD_DRIVER_INIT in the environment are its version and what it answers when it is started.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"

namespace cuda = tenon::runtime::cuda;
using cuda::Status;

namespace {

constexpr size_t kCardBytes = size_t{1} << 28;

// After a sticky error nothing works any more.
Status& broken() {
  static Status s = cuda::kSuccess;
  return s;
}

struct Threads {
  int64_t all;
};

struct Kernel {
  const char* name;
  void (*run)(float* in, float* out, Threads t);
};

const Kernel kKernels[] = {
    {"twice",
     [](float* in, float* out, Threads t) {
       for (int64_t i = 0; i < t.all; ++i) out[i] = 2 * in[i];
     }},
    {"behind", [](float*, float* out, Threads t) { out[t.all] = 1; }},
    {"before", [](float*, float* out, Threads) { out[-1] = 1; }},
    {"writes_input", [](float* in, float*, Threads) { in[0] += 1; }},
    {"illegal", [](float*, float*, Threads) { broken() = cuda::kIllegalAddress; }},
    {"hangs",
     [](float*, float*, Threads) {
       for (volatile bool forever = true; forever;) {
       }
     }},
};

struct Node {
  const Kernel* kernel;
  std::vector<cuda::DevicePointer> pointers;
  Threads threads;
  void run() const {
    kernel->run(reinterpret_cast<float*>(pointers[0]), reinterpret_cast<float*>(pointers[1]),
                threads);
  }
};

Node node_of(cuda::Function f, int64_t threads, void** arguments) {
  Node n{reinterpret_cast<const Kernel*>(f), {}, {threads}};
  for (int i = 0; i < 2; ++i)
    n.pointers.push_back(*static_cast<const cuda::DevicePointer*>(arguments[i]));
  return n;
}

using Nodes = std::vector<Node>;

struct Stamp {
  std::chrono::steady_clock::time_point at;
};

// A number from the environment.
int32_t told(const char* name, int32_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

template <class T>
void* pointer(T device) {
  return reinterpret_cast<void*>(device);
}

}  // namespace

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
extern "C" {

Status cuInit(uint32_t flags) { return static_cast<Status>(told("TOLD_DRIVER_INIT", 0)); }
Status cuDriverGetVersion(int32_t* v) {
  return *v = told("TOLD_DRIVER_VERSION", 12040), cuda::kSuccess;
}
Status cuGetErrorName(Status s, const char** t) {
  *t = s == cuda::kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
       : s == cuda::kNotFound     ? "CUDA_ERROR_NOT_FOUND"
                                  : "CUDA_ERROR_INVALID_IMAGE";
  return cuda::kSuccess;
}
Status cuGetErrorString(Status s, const char** t) { return *t = "as told", cuda::kSuccess; }
Status cuDeviceGetCount(int32_t* n) { return *n = 1, cuda::kSuccess; }
Status cuDeviceGet(cuda::Device* d, int32_t i) { return *d = 0, cuda::kSuccess; }
Status cuDeviceGetName(char* name, int32_t bytes, cuda::Device d) {
  std::strncpy(name, "a pretended card", static_cast<size_t>(bytes));
  return cuda::kSuccess;
}
Status cuDeviceGetAttribute(int32_t* v, cuda::DeviceAttribute a, cuda::Device d) {
  *v = a == cuda::kMultiprocessors ? 7 : a == cuda::kL2Bytes ? 1 << 16 : 0;
  return cuda::kSuccess;
}
Status cuDeviceTotalMem_v2(size_t* b, cuda::Device d) { return *b = kCardBytes, cuda::kSuccess; }
Status cuDevicePrimaryCtxRetain(cuda::Context* c, cuda::Device d) { return cuda::kSuccess; }
Status cuDevicePrimaryCtxRelease_v2(cuda::Device d) { return cuda::kSuccess; }
Status cuCtxPushCurrent_v2(cuda::Context c) { return cuda::kSuccess; }
Status cuCtxPopCurrent_v2(cuda::Context* c) { return cuda::kSuccess; }
Status cuCtxSetCurrent(cuda::Context c) { return cuda::kSuccess; }
Status cuCtxSynchronize() { return broken(); }

Status cuMemGetInfo_v2(size_t* f, size_t* t) { return *f = *t = kCardBytes, cuda::kSuccess; }
Status cuMemAlloc_v2(cuda::DevicePointer* p, size_t bytes) {
  if (bytes > kCardBytes) return cuda::kOutOfMemory;
  // A card's memory goes on beside what is taken; here that is a margin on both sides.
  char* memory = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256 + 512));
  *p = reinterpret_cast<cuda::DevicePointer>(memory + 256);
  return broken();
}
Status cuMemFree_v2(cuda::DevicePointer p) {
  if (p != 0) std::free(static_cast<char*>(pointer(p)) - 256);
  return broken();
}
Status cuMemHostAlloc(void** p, size_t bytes, uint32_t f) {
  return *p = std::malloc(bytes), cuda::kSuccess;
}
Status cuMemFreeHost(void* p) { return std::free(p), cuda::kSuccess; }
Status cuMemcpyHtoD_v2(cuda::DevicePointer to, const void* from, size_t n) {
  return std::memcpy(pointer(to), from, n), broken();
}
Status cuMemcpyDtoH_v2(void* to, cuda::DevicePointer from, size_t n) {
  return std::memcpy(to, pointer(from), n), broken();
}
Status cuMemcpyHtoDAsync_v2(cuda::DevicePointer to, const void* from, size_t n, cuda::Stream s) {
  return cuMemcpyHtoD_v2(to, from, n);
}
Status cuMemcpyDtoHAsync_v2(void* to, cuda::DevicePointer from, size_t n, cuda::Stream s) {
  return cuMemcpyDtoH_v2(to, from, n);
}
Status cuMemcpyDtoDAsync_v2(cuda::DevicePointer to, cuda::DevicePointer from, size_t n,
                            cuda::Stream s) {
  return std::memcpy(pointer(to), pointer(from), n), broken();
}
Status cuMemsetD8Async(cuda::DevicePointer to, uint8_t v, size_t n, cuda::Stream s) {
  return std::memset(pointer(to), v, n), broken();
}

Status cuModuleLoadDataEx(cuda::Module* m, const void* image, uint32_t n, cuda::JitOption* o,
                          void** values) {
  const std::string text = static_cast<const char*>(image);
  if (text.starts_with("another")) return cuda::kNoBinaryForGpu;
  if (text.starts_with("code")) return broken();
  std::strcpy(static_cast<char*>(values[0]), "line 1: this is no code");
  return cuda::kInvalidPtx;
}
Status cuModuleUnload(cuda::Module m) { return cuda::kSuccess; }
Status cuModuleGetFunction(cuda::Function* f, cuda::Module m, const char* name) {
  for (const Kernel& k : kKernels) {
    if (std::strcmp(k.name, name) != 0) continue;
    *f = reinterpret_cast<cuda::Function>(const_cast<Kernel*>(&k));
    return cuda::kSuccess;
  }
  return cuda::kNotFound;
}
Status cuFuncGetAttribute(int32_t* v, cuda::FunctionAttribute a, cuda::Function f) {
  return *v = 0, cuda::kSuccess;
}
Status cuFuncSetAttribute(cuda::Function f, cuda::FunctionAttribute a, int32_t v) {
  return v > 100 << 10 ? cuda::kInvalidValue : cuda::kSuccess;
}
Status cuLaunchKernel(cuda::Function f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
                      uint32_t by, uint32_t bz, uint32_t shared, cuda::Stream s, void** arguments,
                      void** extra) {
  if (broken() == cuda::kSuccess) node_of(f, int64_t{gx} * bx, arguments).run();
  return cuda::kSuccess;
}

Status cuStreamCreate(cuda::Stream* s, uint32_t f) { return cuda::kSuccess; }
Status cuStreamDestroy_v2(cuda::Stream s) { return cuda::kSuccess; }
Status cuStreamSynchronize(cuda::Stream s) { return broken(); }
Status cuStreamWaitEvent(cuda::Stream s, cuda::Event e, uint32_t f) { return cuda::kSuccess; }
Status cuEventCreate(cuda::Event* e, uint32_t f) {
  return *e = reinterpret_cast<cuda::Event>(new Stamp), cuda::kSuccess;
}
Status cuEventDestroy_v2(cuda::Event e) {
  return delete reinterpret_cast<Stamp*>(e), cuda::kSuccess;
}
Status cuEventRecord(cuda::Event e, cuda::Stream s) {
  reinterpret_cast<Stamp*>(e)->at = std::chrono::steady_clock::now();
  return broken();
}
Status cuEventSynchronize(cuda::Event e) { return broken(); }
Status cuEventElapsedTime(float* ms, cuda::Event a, cuda::Event b) {
  *ms = std::chrono::duration<float, std::milli>(reinterpret_cast<Stamp*>(b)->at -
                                                 reinterpret_cast<Stamp*>(a)->at)
            .count();
  return broken();
}

Status cuGraphCreate(cuda::Graph* g, uint32_t f) {
  return *g = reinterpret_cast<cuda::Graph>(new Nodes), cuda::kSuccess;
}
Status cuGraphDestroy(cuda::Graph g) { return delete reinterpret_cast<Nodes*>(g), cuda::kSuccess; }
Status cuGraphAddKernelNode_v2(cuda::GraphNode* node, cuda::Graph g, const cuda::GraphNode* after,
                               size_t count, const cuda::KernelNodeParams* p) {
  auto& nodes = *reinterpret_cast<Nodes*>(g);
  if (count != (nodes.empty() ? 0 : 1)) return cuda::kInvalidValue;
  nodes.push_back(node_of(p->function, int64_t{p->grid[0]} * p->block[0], p->arguments));
  *node = reinterpret_cast<cuda::GraphNode>(nodes.size());
  return cuda::kSuccess;
}
Status cuGraphInstantiateWithFlags(cuda::GraphExec* e, cuda::Graph g, uint64_t f) {
  *e = reinterpret_cast<cuda::GraphExec>(new Nodes(*reinterpret_cast<Nodes*>(g)));
  return broken();
}
Status cuGraphExecDestroy(cuda::GraphExec e) {
  return delete reinterpret_cast<Nodes*>(e), cuda::kSuccess;
}
Status cuGraphExecKernelNodeSetParams_v2(cuda::GraphExec e, cuda::GraphNode n,
                                         const cuda::KernelNodeParams* p) {
  return cuda::kNotSupported;
}
Status cuGraphLaunch(cuda::GraphExec e, cuda::Stream s) {
  for (const Node& n : *reinterpret_cast<Nodes*>(e)) {
    if (broken() == cuda::kSuccess) n.run();
  }
  return cuda::kSuccess;
}

}  // extern "C"
