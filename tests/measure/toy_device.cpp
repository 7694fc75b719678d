// SPDX-License-Identifier: Apache-2.0
#include "measure/toy_device.h"

#include "measure/run/cpu.h"

namespace tenon::run {
namespace {

// Bytes lie scrambled: whoever reads them as the host's own gets rubbish.
class ToyBuffer : public Buffer {
 public:
  explicit ToyBuffer(int64_t bytes) : held_(static_cast<size_t>(bytes)) {}
  int64_t bytes() const override { return static_cast<int64_t>(held_.size()); }
  void put(const void* from, int64_t count, int64_t at) override {
    const auto* bytes = static_cast<const uint8_t*>(from);
    for (int64_t i = 0; i < count; ++i) held_[static_cast<size_t>(at + i)] = bytes[i] ^ kScrambled;
  }
  void get(void* to, int64_t count, int64_t at) const override {
    auto* bytes = static_cast<uint8_t*>(to);
    for (int64_t i = 0; i < count; ++i) bytes[i] = held_[static_cast<size_t>(at + i)] ^ kScrambled;
  }
  bool intact() const override { return true; }

 private:
  static constexpr uint8_t kScrambled = 0x5a;
  std::vector<uint8_t> held_;
};

void copy(const Buffer& from, Buffer& to) {
  std::vector<char> bytes(static_cast<size_t>(from.bytes()));
  from.get(bytes.data(), from.bytes(), 0);
  to.put(bytes.data(), from.bytes(), 0);
}

class ToyKernel : public Kernel {
 public:
  ToyKernel(Device& cpu, std::unique_ptr<Kernel> kernel) : cpu_(cpu), kernel_(std::move(kernel)) {}

  void launch(const Arguments& a) override {
    Arguments inside;
    inside.workspace = cpu_.allocate(a.workspace->bytes(), Place::kFront);
    for (const auto& p : a.params) {
      inside.params.push_back(cpu_.allocate(p->bytes(), Place::kFront));
      copy(*p, *inside.params.back());
    }
    kernel_->launch(inside);
    for (size_t i = 0; i < a.params.size(); ++i) copy(*inside.params[i], *a.params[i]);
  }

  std::vector<double> time(const Arguments& a, const TimingRules&) override {
    launch(a);
    return std::vector<double>(3, kToySeconds);
  }

 private:
  Device& cpu_;
  std::unique_ptr<Kernel> kernel_;
};

class Toy : public Device {
 public:
  std::unique_ptr<Buffer> allocate(int64_t bytes, Place) override {
    return std::make_unique<ToyBuffer>(bytes);
  }
  std::unique_ptr<Kernel> load(const std::string& module, int threads) override {
    return std::make_unique<ToyKernel>(*cpu_, cpu_->load(module, threads));
  }

 private:
  std::unique_ptr<Device> cpu_ = open_cpu();
};

}  // namespace

std::unique_ptr<Device> open_toy() { return std::make_unique<Toy>(); }

}  // namespace tenon::run
