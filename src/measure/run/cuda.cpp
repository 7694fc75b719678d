// SPDX-License-Identifier: Apache-2.0
#include "measure/run/cuda.h"

#include "measure/run/cuda_timing.h"

namespace tenon::run {
namespace {

class CudaKernel : public Kernel {
 public:
  CudaKernel(Card& card, const std::string& bytes) : card_(card), module_(card, bytes) {}

  void launch(const Arguments& a) override {
    module_.check_arguments(a.params.size(), a.workspace->bytes());
    CardModule::Pointers p;
    for (const auto& b : a.params) p.push_back(data_of(*b));
    p.push_back(data_of(*a.workspace));
    module_.enqueue(p);
    card_.wait();
  }

  std::vector<double> time(const Arguments& a, const TimingRules& rules) override {
    module_.check_arguments(a.params.size(), a.workspace->bytes());
    return time_on_card(card_, module_, a, rules);
  }

 private:
  static runtime::cuda::DevicePointer data_of(const Buffer& b) {
    return static_cast<const CardBuffer&>(b).data();  // all buffers of this device are such
  }

  Card& card_;
  CardModule module_;
};

class Cuda : public Device {
 public:
  std::unique_ptr<Buffer> allocate(int64_t bytes, Place) override {
    return std::make_unique<CardBuffer>(card_, bytes);
  }
  std::unique_ptr<Kernel> load(const std::string& module, int) override {
    return std::make_unique<CudaKernel>(card_, module);
  }

 private:
  Card card_;
};

}  // namespace

std::unique_ptr<Device> open_cuda() { return std::make_unique<Cuda>(); }

}  // namespace tenon::run
