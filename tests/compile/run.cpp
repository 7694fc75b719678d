// SPDX-License-Identifier: Apache-2.0
#include "compile/run.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "backend/backend.h"

namespace tenon::compile {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Memory = std::unique_ptr<std::byte, Free>;

// NaN in every float: what a kernel forgets to write is seen.
Memory poisoned(int64_t bytes) {
  const auto size = static_cast<size_t>((bytes + 127) / 64 * 64);
  auto* p = static_cast<std::byte*>(std::aligned_alloc(64, size));
  std::memset(p, 0xff, size);
  return Memory(p);
}

// Tensors without elements have no memory to copy from.
void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace

std::vector<ir::Array> run(const artifact::Program& p, const std::vector<ir::Array>& inputs,
                           int threads) {
  std::vector<Memory> in, out;
  for (const ir::Array& a : inputs) {
    in.push_back(poisoned(a.bytes()));
    copy_bytes(in.back().get(), a.data(), a.bytes());
  }
  std::vector<ir::Array> results;
  for (const artifact::TensorInfo& t : p.outputs) {
    results.emplace_back(t.dtype, t.shape);
    out.push_back(poisoned(results.back().bytes()));
  }
  const Memory weights = poisoned(p.weights_bytes);
  for (const artifact::Weight& w : p.weights) {
    copy_bytes(weights.get() + w.offset, w.data->data(), w.data->bytes());
  }
  const Memory arena = poisoned(p.arena_bytes);
  const auto number_bytes = static_cast<int64_t>(p.numbers.size() * sizeof(int64_t));
  const Memory numbers = poisoned(number_bytes);
  copy_bytes(numbers.get(), reinterpret_cast<const std::byte*>(p.numbers.data()), number_bytes);
  const auto at = [&](const artifact::Param& param) -> void* {
    const auto i = static_cast<size_t>(param.index);
    switch (param.place) {
      case artifact::Place::kInput:
        return in[i].get();
      case artifact::Place::kOutput:
        return out[i].get();
      case artifact::Place::kWeights:
        return weights.get() + param.offset;
      case artifact::Place::kArena:
        return arena.get() + param.offset;
      case artifact::Place::kNumbers:
        return numbers.get() + param.offset;
      case artifact::Place::kSize:
        return nullptr;  // of models with open dimensions
    }
    return nullptr;
  };
  std::vector<std::unique_ptr<backend::Kernel>> kernels;
  const auto compiler = backend::make_compiler(p.target);
  for (const artifact::Kernel& k : p.kernels) kernels.push_back(compiler->jit(k.function));
  const tenon_runtime* rt = tenon_runtime_create(threads);
  for (const artifact::Step& s : p.steps) {
    std::vector<void*> params;
    for (const artifact::Param& param : s.params) params.push_back(at(param));
    const backend::Kernel& k = *kernels[static_cast<size_t>(s.kernel)];
    const Memory workspace = poisoned(k.workspace_bytes());
    k.entry()(params.data(), workspace.get(), rt);
  }
  tenon_runtime_destroy(rt);
  for (size_t i = 0; i < results.size(); ++i) {
    copy_bytes(results[i].data(), out[i].get(), results[i].bytes());
  }
  return results;
}

}  // namespace tenon::compile
