// SPDX-License-Identifier: Apache-2.0
#include "compile/run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
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

int64_t number_at(const void* p) {
  int64_t n = 0;
  std::memcpy(&n, p, sizeof n);
  return n;
}

// Follows the instructions of a program, written down once more, apart from the runtime. Tells how many rows outputs got.
std::map<int32_t, int64_t> follow(const artifact::Program& p,
                                  const std::function<void*(const artifact::Param&)>& place,
                                  const std::function<void(int64_t, int64_t)>& run_steps) {
  using artifact::FlowKind;
  std::map<int32_t, int64_t> rows;
  for (size_t i = 0; i < p.flow.size();) {
    const artifact::FlowOp& op = p.flow[i];
    auto* to = static_cast<std::byte*>(place(op.to));
    auto* from = static_cast<std::byte*>(place(op.from));
    bool goes = op.kind == FlowKind::kJump;
    const auto element = [&](std::byte* begin) {
      const int64_t n = number_at(place(op.at));
      return begin + op.count * (op.number > 0 ? op.number - 1 - n : n);
    };
    if (op.kind == FlowKind::kRun) run_steps(op.number, op.count);
    if (op.kind == FlowKind::kCopy) copy_bytes(to, from, op.count);
    if (op.kind == FlowKind::kClear) std::memset(to, 0, static_cast<size_t>(op.count));
    if (op.kind == FlowKind::kTake) copy_bytes(to, element(from), op.count);
    if (op.kind == FlowKind::kPut) copy_bytes(element(to), from, op.count);
    if (op.kind == FlowKind::kSet) std::memcpy(to, &op.number, sizeof op.number);
    if (op.kind == FlowKind::kAdd) {
      const int64_t next = number_at(to) + op.number;
      std::memcpy(to, &next, sizeof next);
    }
    if (op.kind == FlowKind::kUnless) goes = *from == std::byte{0};
    if (op.kind == FlowKind::kReached) goes = number_at(place(op.at)) >= number_at(from);
    if (op.kind == FlowKind::kCount) rows[op.to.index] = number_at(place(op.at));
    i = goes ? static_cast<size_t>(op.target) : i + 1;
  }
  return rows;
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
  const auto run_steps = [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      const artifact::Step& s = p.steps[static_cast<size_t>(i)];
      std::vector<void*> params;
      for (const artifact::Param& param : s.params) params.push_back(at(param));
      const backend::Kernel& k = *kernels[static_cast<size_t>(s.kernel)];
      const Memory workspace = poisoned(k.workspace_bytes());
      k.entry()(params.data(), workspace.get(), rt);
    }
  };
  std::map<int32_t, int64_t> rows;
  if (p.flow.empty()) {
    run_steps(0, static_cast<int64_t>(p.steps.size()));
  } else {
    rows = follow(p, at, run_steps);
  }
  tenon_runtime_destroy(rt);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto counted = rows.find(static_cast<int32_t>(i));
    if (counted != rows.end()) {
      std::vector<int64_t> shape = results[i].shape();
      shape[0] = std::min(shape[0], counted->second);
      results[i] = ir::Array(results[i].dtype(), shape);
    }
    copy_bytes(results[i].data(), out[i].get(), results[i].bytes());
  }
  return results;
}

}  // namespace tenon::compile
