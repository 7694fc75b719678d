// SPDX-License-Identifier: Apache-2.0
#include "compile/loaded_kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "artifact/random_array.h"
#include "lower/lower.h"
#include "support/check.h"
#include "support/rng.h"

namespace tenon::compile {

struct LoadedKernel::Memory {
  static constexpr size_t kAlignment = 64;  // what generated code relies on

  explicit Memory(int64_t size)
      : bytes(static_cast<size_t>(size)),
        data(std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment)) {
    TENON_CHECK(data != nullptr) << "no memory for " << size << " bytes";
    std::memset(data, 0xff, bytes);  // NaN in every float type: what is not written shows
  }
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  size_t bytes;
  void* data;
};

void check_fits_memory(const te::ComputeDag& dag) {
  const auto bytes_of = [](const te::Tensor& t) {
    return static_cast<double>(t.get()->elements()) * static_cast<double>(t.dtype().bytes());
  };
  double needed = 0;
  for (const te::Input& input : dag.inputs) {
    needed += bytes_of(input.tensor);
  }
  for (const te::OpRef& op : dag.ops) {
    needed += bytes_of(op->output);
  }
  const double available =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > available / 2) {
    throw UserError(fmt::format("its tensors take {:.1f} GiB and this machine has {:.1f} GiB",
                                needed / (1 << 30), available / (1 << 30)));
  }
}

std::vector<ir::Array> random_inputs(const te::ComputeDag& dag, uint64_t seed) {
  Rng rng(seed);
  std::vector<ir::Array> inputs;
  for (const te::Input& input : dag.inputs) {
    inputs.push_back(artifact::random_array(input.tensor.dtype(), input.tensor.shape(), rng));
  }
  return inputs;
}

LoadedKernel::LoadedKernel(const schedule::State& state, const ir::Function& function,
                           const std::vector<ir::Array>& inputs)
    : state_(state) {
  const target::Target& target = state_.target();
  if (!target::runs_here(target)) {
    throw UserError(fmt::format("target '{}' does not run on this machine", target.name),
                    "explain shows its code");
  }
  const auto start = std::chrono::steady_clock::now();
  kernel_ = backend::jit(function, target);
  compile_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<ir::Array> packed = lower::pack_inputs(state_, inputs);
  num_inputs_ = packed.size();
  for (const ir::Array& array : packed) {
    params_.push_back(std::make_unique<Memory>(array.bytes()));
    std::memcpy(params_.back()->data, array.data(), static_cast<size_t>(array.bytes()));
  }
  for (const ir::Array& array : lower::make_outputs(state_)) {
    params_.push_back(std::make_unique<Memory>(array.bytes()));
  }
  for (const auto& memory : params_) {
    pointers_.push_back(memory->data);
  }
  workspace_ = std::make_unique<Memory>(kernel_->workspace_bytes());
}

LoadedKernel::~LoadedKernel() = default;

void LoadedKernel::run(const tenon_runtime* runtime) const {
  kernel_->entry()(pointers_.data(), workspace_->data, runtime);
}

std::vector<ir::Array> LoadedKernel::outputs() const {
  std::vector<ir::Array> stored = lower::make_outputs(state_);
  for (size_t i = 0; i < stored.size(); ++i) {
    const Memory& memory = *params_[num_inputs_ + i];
    std::memcpy(stored[i].data(), memory.data, memory.bytes);
  }
  return lower::unpack_outputs(state_, stored);
}

}  // namespace tenon::compile
