// SPDX-License-Identifier: Apache-2.0
// The interface of the driver, as programs for GPUs use it.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backend/gpu_kernels.h"
#include "simt/harness.h"

namespace tenon::simt {
namespace {

using namespace runtime::
    cuda;  // NOLINT(google-build-using-namespace): the interface that is tested

struct Loaded {
  explicit Loaded(const ir::Function& f) : code(compile(f)) {
    EXPECT_EQ(driver().ModuleLoadDataEx(&module, code.image.data(), 0, nullptr, nullptr), kSuccess);
    EXPECT_EQ(driver().ModuleGetFunction(&function, module, code.launches[0].kernel.c_str()),
              kSuccess);
  }
  ~Loaded() { EXPECT_EQ(driver().ModuleUnload(module), kSuccess); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  backend::GpuModule code;
  Module module = nullptr;
  Function function = nullptr;
};

DevicePointer device_floats(size_t count, float first) {
  DevicePointer p = 0;
  EXPECT_EQ(driver().MemAlloc(&p, count * sizeof(float)), kSuccess);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  EXPECT_EQ(driver().MemcpyHtoD(p, values.data(), count * sizeof(float)), kSuccess);
  return p;
}

float float_at(DevicePointer p, size_t i) {
  float v = 0;
  EXPECT_EQ(driver().MemcpyDtoH(&v, p + i * sizeof(float), sizeof v), kSuccess);
  return v;
}

TEST(SimtDriver, SaysWhatItIs) {
  const Driver& d = driver();
  int32_t count = 0;
  EXPECT_EQ(d.DeviceGetCount(&count), kSuccess);
  EXPECT_EQ(count, 1);
  Device device = -1;
  EXPECT_EQ(d.DeviceGet(&device, 0), kSuccess);
  EXPECT_EQ(d.DeviceGet(&device, 1), kInvalidDevice);
  char name[64];
  EXPECT_EQ(d.DeviceGetName(name, sizeof name, 0), kSuccess);
  EXPECT_NE(std::string(name).find("simt"), std::string::npos);
  int32_t value = 0;
  EXPECT_EQ(d.DeviceGetAttribute(&value, kMaxThreadsPerBlock, 0), kSuccess);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(d.DeviceGetAttribute(&value, kMaxSharedBytesPerBlockOptin, 0), kSuccess);
  EXPECT_EQ(value, simt_target().gpu().shared_bytes_per_block);
  char words[128];
  explain(d, kLaunchFailed, words, sizeof words);
  EXPECT_STREQ(words, "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure");
}

TEST(SimtDriver, ContextsAreAStack) {
  const Driver& d = driver();
  Context context = nullptr;
  ASSERT_EQ(d.DevicePrimaryCtxRetain(&context, 0), kSuccess);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(d.CtxPushCurrent(context), kSuccess);
  Context popped = nullptr;
  EXPECT_EQ(d.CtxPopCurrent(&popped), kSuccess);
  EXPECT_EQ(popped, context);
  EXPECT_EQ(d.CtxPopCurrent(&popped), kInvalidContext);
  EXPECT_EQ(d.DevicePrimaryCtxRelease(0), kSuccess);
}

TEST(SimtDriver, MemoryHasEnds) {
  const Driver& d = driver();
  size_t free_before = 0, free_now = 0, total = 0;
  ASSERT_EQ(d.MemGetInfo(&free_before, &total), kSuccess);
  DevicePointer p = 0;
  EXPECT_EQ(d.MemAlloc(&p, total + 1), kOutOfMemory);
  EXPECT_EQ(d.MemAlloc(&p, 0), kInvalidValue);
  ASSERT_EQ(d.MemAlloc(&p, 100), kSuccess);
  EXPECT_EQ(p % 256, 0U);
  ASSERT_EQ(d.MemGetInfo(&free_now, &total), kSuccess);
  EXPECT_EQ(free_before - free_now, 100U);
  char bytes[128] = {};
  EXPECT_EQ(d.MemcpyHtoD(p, bytes, 100), kSuccess);
  EXPECT_EQ(d.MemcpyHtoD(p + 50, bytes, 51), kInvalidValue);
  EXPECT_EQ(d.MemcpyDtoH(bytes, p, 101), kInvalidValue);
  EXPECT_EQ(d.MemsetD8Async(p, 7, 100, nullptr), kSuccess);
  EXPECT_EQ(d.MemcpyDtoHAsync(bytes, p + 99, 1, nullptr), kSuccess);
  EXPECT_EQ(bytes[0], 7);
  EXPECT_EQ(d.MemFree(p), kSuccess);
  EXPECT_EQ(d.MemFree(p), kInvalidValue);
}

TEST(SimtDriver, AWriteBesideItsMemoryIsFound) {
  const Driver& d = driver();
  DevicePointer p = 0;
  ASSERT_EQ(d.MemAlloc(&p, 100), kSuccess);
  auto* behind = reinterpret_cast<unsigned char*>(p + 100);
  const unsigned char before = *behind;
  *behind = 1;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(d.CtxSynchronize(), kIllegalAddress);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "simt: a kernel wrote beside 100 bytes of device memory\n");
  *behind = before;
  EXPECT_EQ(d.CtxSynchronize(), kSuccess);
  EXPECT_EQ(d.MemFree(p), kSuccess);
}

TEST(SimtDriver, ImagesThatAreNoneAreRefused) {
  const Driver& d = driver();
  Module module = nullptr;
  EXPECT_EQ(d.ModuleLoadDataEx(&module, ".version 7.8\n", 0, nullptr, nullptr), kNoBinaryForGpu);
  std::string broken(256, '\0');
  broken.replace(0, 4, "\177ELF");
  EXPECT_EQ(d.ModuleLoadDataEx(&module, broken.data(), 0, nullptr, nullptr), kInvalidImage);
  const Loaded good(backend::scale_rows_gpu());
  Function function = nullptr;
  EXPECT_EQ(d.ModuleGetFunction(&function, good.module, "no_such_kernel"), kNotFound);
}

TEST(SimtDriver, LaunchesThatNoCardTakes) {
  const Driver& d = driver();
  const Loaded k(backend::copy_gpu(1, 0, ir::kF32));
  DevicePointer a = device_floats(256, 1), out = device_floats(256, 0);
  void* arguments[] = {&a, &out};
  const auto launch = [&](uint32_t grid, uint32_t block, uint32_t shared) {
    return d.LaunchKernel(k.function, grid, 1, 1, block, 1, 1, shared, nullptr, arguments, nullptr);
  };
  EXPECT_EQ(launch(0, 64, 0), kInvalidValue);
  EXPECT_EQ(launch(4, 2048, 0), kInvalidValue);
  EXPECT_EQ(launch(4, 64, 64 << 10), kInvalidValue);
  EXPECT_EQ(d.FuncSetAttribute(k.function, kFunctionMaxDynamicSharedBytes, 128 << 10),
            kInvalidValue);
  EXPECT_EQ(d.FuncSetAttribute(k.function, kFunctionMaxDynamicSharedBytes, 64 << 10), kSuccess);
  EXPECT_EQ(launch(4, 64, 64 << 10), kSuccess);
  EXPECT_EQ(float_at(out, 200), 201);
  d.MemFree(a);
  d.MemFree(out);
}

TEST(SimtDriver, StreamsAndEvents) {
  const Driver& d = driver();
  Stream stream = nullptr;
  Event start = nullptr, end = nullptr;
  ASSERT_EQ(d.StreamCreate(&stream, kStreamNonBlocking), kSuccess);
  ASSERT_EQ(d.EventCreate(&start, 0), kSuccess);
  ASSERT_EQ(d.EventCreate(&end, 0), kSuccess);
  EXPECT_EQ(d.EventRecord(start, stream), kSuccess);
  EXPECT_EQ(d.EventRecord(end, stream), kSuccess);
  EXPECT_EQ(d.StreamWaitEvent(stream, end, 0), kSuccess);
  EXPECT_EQ(d.EventSynchronize(end), kSuccess);
  float milliseconds = -1;
  EXPECT_EQ(d.EventElapsedTime(&milliseconds, start, end), kSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(d.StreamSynchronize(stream), kSuccess);
  d.EventDestroy(start);
  d.EventDestroy(end);
  d.StreamDestroy(stream);
}

// copy a to b, then b to c: in the order of the edges, not of making; then with another input.
TEST(SimtDriver, GraphsRunInTheOrderOfTheirEdges) {
  const Driver& d = driver();
  const Loaded k(backend::copy_gpu(1, 0, ir::kF32));
  DevicePointer a = device_floats(256, 1), b = device_floats(256, 0), c = device_floats(256, 0);
  DevicePointer other = device_floats(256, 1000);
  const auto params = [&](void** arguments) {
    KernelNodeParams p = {};
    p.function = k.function;
    p.grid[0] = 4, p.grid[1] = p.grid[2] = 1;
    p.block[0] = 64, p.block[1] = p.block[2] = 1;
    p.arguments = arguments;
    return p;
  };
  Graph graph = nullptr;
  ASSERT_EQ(d.GraphCreate(&graph, 0), kSuccess);
  GraphNode second = nullptr, first = nullptr, copy = nullptr;
  {
    void* b_to_c[] = {&b, &c};
    const KernelNodeParams p = params(b_to_c);
    ASSERT_EQ(d.GraphAddKernelNode(&second, graph, nullptr, 0, &p), kSuccess);
    void* a_to_b[] = {&a, &b};
    const KernelNodeParams q = params(a_to_b);
    ASSERT_EQ(d.GraphAddKernelNode(&first, graph, nullptr, 0, &q), kSuccess);
  }
  ASSERT_EQ(d.GraphAddDependencies(graph, &first, &second, &kProgrammaticEdge, 1), kSuccess);
  float host[256] = {};
  Memcpy3d to_host = {};
  to_host.from.type = kMemoryDevice;
  to_host.from.device = c;
  to_host.to.type = kMemoryHost;
  to_host.to.host = host;
  to_host.width_bytes = sizeof host;
  to_host.height = to_host.depth = 1;
  ASSERT_EQ(d.GraphAddMemcpyNode(&copy, graph, &second, 1, &to_host, nullptr), kSuccess);
  GraphExec exec = nullptr;
  ASSERT_EQ(d.GraphInstantiate(&exec, graph, 0), kSuccess);
  ASSERT_EQ(d.GraphUpload(exec, nullptr), kSuccess);
  ASSERT_EQ(d.GraphLaunch(exec, nullptr), kSuccess);
  EXPECT_EQ(host[255], 256);
  void* other_to_b[] = {&other, &b};
  const KernelNodeParams p = params(other_to_b);
  ASSERT_EQ(d.GraphExecKernelNodeSetParams(exec, first, &p), kSuccess);
  ASSERT_EQ(d.GraphLaunch(exec, nullptr), kSuccess);
  EXPECT_EQ(host[0], 1000);
  EXPECT_EQ(d.GraphExecDestroy(exec), kSuccess);
  ASSERT_EQ(d.GraphAddDependencies(graph, &second, &first, &kProgrammaticEdge, 1), kSuccess);
  EXPECT_EQ(d.GraphInstantiate(&exec, graph, 0), kInvalidValue);
  EXPECT_EQ(d.GraphDestroy(graph), kSuccess);
  for (const DevicePointer x : {a, b, c, other}) d.MemFree(x);
}

}  // namespace
}  // namespace tenon::simt
