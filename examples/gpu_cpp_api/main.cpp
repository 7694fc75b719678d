// SPDX-License-Identifier: Apache-2.0
// Runs a model that was compiled for a GPU many times on one stream, with everything in memory of the card, and prints the
// time of a run. For a model that was compiled by `tenon compile net.onnx --target "cuda sm_90" -o out`:
//
//   c++ -std=c++17 -Iout -I/usr/local/cuda/include main.cpp out/libnet.so -Wl,-rpath,out -lcuda -o main
//   ./main [RUNS]
#include <cuda.h>
#include <net.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(CUresult result) {
  const char* text = "CUDA failed";
  if (result != CUDA_SUCCESS) {
    cuGetErrorString(result, &text);
    throw std::runtime_error(text);
  }
}

// Device memory, filled with ones.
class Tensor {
 public:
  explicit Tensor(const net_tensor& t) {
    check(cuMemAlloc(&data_, t.bytes > 0 ? t.bytes : 1));
    const std::vector<float> ones(t.bytes / sizeof(float), 1.0F);
    check(cuMemcpyHtoD(data_, ones.data(), ones.size() * sizeof(float)));
  }
  ~Tensor() { cuMemFree(data_); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  uint64_t address() const { return data_; }

 private:
  CUdeviceptr data_ = 0;
};

struct Destroy {
  void operator()(net_ctx* ctx) const { net_destroy(ctx); }
};
using Net = std::unique_ptr<net_ctx, Destroy>;

Net create() {
  const char* why = "";
  Net net(net_create(0, &why));
  if (net == nullptr) throw std::runtime_error(why);
  return net;
}

using Tensors = std::vector<std::unique_ptr<Tensor>>;

std::vector<uint64_t> addresses(const Tensors& tensors) {
  std::vector<uint64_t> list;
  for (const auto& t : tensors) list.push_back(t->address());
  return list;
}

// Milliseconds of a run. The stream waits for the copies to Tensors, as one of CU_STREAM_NON_BLOCKING would not.
// Launches are handed over ahead of the card, which does one after the other.
float time_runs(net_ctx* net, const Tensors& in, const Tensors& out, int runs) {
  const std::vector<uint64_t> inputs = addresses(in);
  const std::vector<uint64_t> outputs = addresses(out);
  CUstream stream = nullptr;
  CUevent start = nullptr;
  CUevent end = nullptr;
  check(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  check(cuEventCreate(&start, CU_EVENT_DEFAULT));
  check(cuEventCreate(&end, CU_EVENT_DEFAULT));
  int status = net_run_device(net, inputs.data(), outputs.data(), stream);  // to warm up
  check(cuEventRecord(start, stream));
  for (int i = 0; i < runs && status == 0; ++i) {
    status = net_run_device(net, inputs.data(), outputs.data(), stream);
  }
  check(cuEventRecord(end, stream));
  check(cuStreamSynchronize(stream));
  float milliseconds = 0;
  check(cuEventElapsedTime(&milliseconds, start, end));
  cuEventDestroy(start);
  cuEventDestroy(end);
  cuStreamDestroy(stream);
  if (status != 0) throw std::runtime_error(net_error(status));
  return milliseconds / static_cast<float>(runs);
}

void run(int runs) {
  const Net net = create();
  CUdevice device = 0;
  CUcontext context = nullptr;
  check(cuInit(0));
  check(cuDeviceGet(&device, net_device(net.get())));
  check(cuDevicePrimaryCtxRetain(&context, device));  // the one that the library uses too
  check(cuCtxSetCurrent(context));
  {
    Tensors in;
    for (int32_t i = 0; i < net_input_count(); ++i) {
      in.push_back(std::make_unique<Tensor>(*net_input(i)));
    }
    Tensors out;
    for (int32_t i = 0; i < net_output_count(); ++i) {
      out.push_back(std::make_unique<Tensor>(*net_output(i)));
    }
    std::printf("%d runs, %.4f ms each\n", runs, time_runs(net.get(), in, out, runs));
  }
  check(cuDevicePrimaryCtxRelease(device));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoi(argv[1]) : 1000);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
