// SPDX-License-Identifier: Apache-2.0
#include "simt/run_module.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tenon::simt {
namespace {

using runtime::cuda::DevicePointer;
using runtime::cuda::Driver;
using runtime::cuda::kSuccess;
using runtime::cuda::Status;

constexpr size_t kGuard =
    256;  // bytes in front of a buffer and behind it; buffers stay aligned to as many
constexpr uint8_t kPattern = 0xA5;

class OnDevice {
 public:
  explicit OnDevice(const Driver& driver) : d_(driver) {}
  ~OnDevice() {
    for (const auto& [at, bytes] : memory_) d_.MemFree(at);
    if (loaded_ != nullptr) d_.ModuleUnload(loaded_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Status load(const backend::GpuModule& module) {
    const std::string& code = module.image.empty() ? module.ptx : module.image;
    return d_.ModuleLoadDataEx(&loaded_, code.data(), 0, nullptr, nullptr);
  }
  // What a kernel reads before anybody wrote it is a pattern.
  Status allocate(size_t bytes) {
    DevicePointer at = 0;
    const size_t all = bytes + 2 * kGuard;
    if (const Status s = d_.MemAlloc(&at, all); s != kSuccess) return s;
    memory_.emplace_back(at, bytes);
    return d_.MemsetD8Async(at, kPattern, all, nullptr);
  }
  Status launch(const backend::Launch& l) {
    runtime::cuda::Function function = nullptr;
    Status s = d_.ModuleGetFunction(&function, loaded_, l.kernel.c_str());
    if (s != kSuccess) return s;
    s = d_.FuncSetAttribute(function, runtime::cuda::kFunctionMaxDynamicSharedBytes,
                            static_cast<int32_t>(l.shared_bytes));
    if (s != kSuccess) return s;
    std::vector<DevicePointer> pointers;
    for (const int32_t i : l.arguments) {
      pointers.push_back(
          data(i == backend::kWorkspaceArgument ? memory_.size() - 1 : static_cast<size_t>(i)));
    }
    std::vector<void*> arguments;
    for (DevicePointer& p : pointers) arguments.push_back(&p);
    const auto n = [](int64_t v) { return static_cast<uint32_t>(v); };
    return d_.LaunchKernel(function, n(l.grid[0]), n(l.grid[1]), n(l.grid[2]), n(l.block[0]),
                           n(l.block[1]), n(l.block[2]), n(l.shared_bytes), nullptr,
                           arguments.data(), nullptr);
  }
  Status write(const std::vector<ir::Array>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].bytes() == 0) continue;
      const Status s = d_.MemcpyHtoD(data(i), args[i].data(), static_cast<size_t>(args[i].bytes()));
      if (s != kSuccess) return s;
    }
    return kSuccess;
  }
  Status read(std::vector<ir::Array>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].bytes() == 0) continue;
      const Status s = d_.MemcpyDtoH(args[i].data(), data(i), static_cast<size_t>(args[i].bytes()));
      if (s != kSuccess) return s;
    }
    return kSuccess;
  }
  Status check_guards() {
    std::vector<uint8_t> guard(kGuard);
    for (const auto& [at, bytes] : memory_) {
      for (const DevicePointer from : {at, at + kGuard + bytes}) {
        if (const Status s = d_.MemcpyDtoH(guard.data(), from, kGuard); s != kSuccess) return s;
        const bool intact =
            std::all_of(guard.begin(), guard.end(), [](uint8_t byte) { return byte == kPattern; });
        if (!intact) return runtime::cuda::kIllegalAddress;
      }
    }
    return kSuccess;
  }

 private:
  DevicePointer data(size_t i) const { return memory_[i].first + kGuard; }

  const Driver& d_;
  runtime::cuda::Module loaded_ = nullptr;
  std::vector<std::pair<DevicePointer, size_t>> memory_;  // of the parameters, then the workspace
};

}  // namespace

Status run_module(const Driver& driver, const backend::GpuModule& module,
                  std::vector<ir::Array>& args) {
  OnDevice device(driver);
  Status s = device.load(module);
  for (size_t i = 0; i < args.size() && s == kSuccess; ++i) {
    s = device.allocate(static_cast<size_t>(args[i].bytes()));
  }
  if (s == kSuccess) s = device.allocate(static_cast<size_t>(module.workspace_bytes));
  if (s == kSuccess) s = device.write(args);
  for (size_t i = 0; i < module.launches.size() && s == kSuccess; ++i) {
    s = device.launch(module.launches[i]);
  }
  if (s == kSuccess) s = driver.CtxSynchronize();
  if (s == kSuccess) s = device.check_guards();
  return s == kSuccess ? device.read(args) : s;
}

}  // namespace tenon::simt
