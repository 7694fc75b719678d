// SPDX-License-Identifier: Apache-2.0
#include "measure/run/cuda_module.h"

#include <algorithm>

#include "support/check.h"

namespace tenon::run {
namespace {

namespace cuda = runtime::cuda;

constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostBlocks = INT32_MAX;

backend::GpuModule read_module(const std::string& bytes) {
  try {
    return backend::gpu_module_from(bytes);
  } catch (const UserError& e) {
    throw Unfit(e.what());
  }
}

bool has_sizes(const backend::Launch& l) {
  const auto within = [](int64_t n, int64_t most) { return n >= 1 && n <= most; };
  return std::all_of(l.grid.begin(), l.grid.end(),
                     [&](int64_t n) { return within(n, kMostBlocks); }) &&
         std::all_of(l.block.begin(), l.block.end(),
                     [&](int64_t n) { return within(n, kMostThreads); }) &&
         l.shared_bytes >= 0 && l.shared_bytes <= INT32_MAX;
}

}  // namespace

CardModule::CardModule(Card& card, const std::string& bytes)
    : card_(card), module_(read_module(bytes)) {
  std::string said;
  cuda::Status s = cuda::kNoBinaryForGpu;
  if (!module_.image.empty()) s = load(module_.image, said);
  const bool another_card = s == cuda::kNoBinaryForGpu || s == cuda::kInvalidImage;
  if (another_card && !module_.ptx.empty()) s = load(module_.ptx, said);
  card_.check(s, said.empty() ? "loading the module" : said.c_str());
  try {
    find_kernels();
  } catch (...) {
    card_.driver().ModuleUnload(loaded_);
    throw;
  }
}

CardModule::~CardModule() { card_.driver().ModuleUnload(loaded_); }

// The code is followed by a zero byte, which ends PTX.
cuda::Status CardModule::load(const std::string& code, std::string& said) {
  char log[1024] = {};
  cuda::JitOption options[] = {cuda::kJitErrorLogBuffer, cuda::kJitErrorLogBufferBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const cuda::Status s =
      card_.driver().ModuleLoadDataEx(&loaded_, code.c_str(), 2, options, values);
  said = log;
  return s;
}

void CardModule::find_kernels() {
  for (const backend::Launch& l : module_.launches) {
    if (!has_sizes(l)) throw Unfit("kernel " + l.kernel + " has no possible number of threads");
    cuda::Function f = nullptr;
    card_.check(card_.driver().ModuleGetFunction(&f, loaded_, l.kernel.c_str()),
                "finding a kernel");
    if (l.shared_bytes > 0) {
      card_.check(card_.driver().FuncSetAttribute(f, cuda::kFunctionMaxDynamicSharedBytes,
                                                  static_cast<int32_t>(l.shared_bytes)),
                  "asking for shared memory");
    }
    kernels_.push_back(f);
  }
}

void CardModule::check_arguments(size_t params, int64_t workspace_bytes) const {
  if (workspace_bytes < module_.workspace_bytes) throw Unfit("the workspace is too small");
  for (const backend::Launch& l : module_.launches) {
    for (const int32_t a : l.arguments) {
      const bool known = a == backend::kWorkspaceArgument || (a >= 0 && a < int64_t(params));
      if (!known) throw Unfit("kernel " + l.kernel + " asks for a parameter that is not there");
    }
  }
}

cuda::KernelNodeParams CardModule::params_of(size_t launch, const Pointers& p,
                                             std::vector<void*>& arguments) const {
  const backend::Launch& l = module_.launches[launch];
  arguments.clear();
  for (const int32_t a : l.arguments) {
    const size_t at = a == backend::kWorkspaceArgument ? p.size() - 1 : static_cast<size_t>(a);
    arguments.push_back(const_cast<cuda::DevicePointer*>(&p[at]));
  }
  cuda::KernelNodeParams out = {};
  out.function = kernels_[launch];
  for (size_t d = 0; d < 3; ++d) {
    out.grid[d] = static_cast<uint32_t>(l.grid[d]);
    out.block[d] = static_cast<uint32_t>(l.block[d]);
  }
  out.shared_bytes = static_cast<uint32_t>(l.shared_bytes);
  out.arguments = arguments.data();
  return out;
}

void CardModule::enqueue(const Pointers& p) const {
  std::vector<void*> arguments;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const cuda::KernelNodeParams n = params_of(i, p, arguments);
    card_.check(card_.driver().LaunchKernel(n.function, n.grid[0], n.grid[1], n.grid[2], n.block[0],
                                            n.block[1], n.block[2], n.shared_bytes, card_.stream(),
                                            n.arguments, nullptr),
                "launching");
  }
}

void CardModule::add_to(cuda::Graph graph, cuda::GraphNode& last, const Pointers& p) const {
  std::vector<void*> arguments;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const cuda::KernelNodeParams n = params_of(i, p, arguments);
    cuda::GraphNode node = nullptr;
    const bool early = module_.launches[i].early && last != nullptr &&
                       card_.driver().GraphAddDependencies != nullptr;
    const bool waits = last != nullptr && !early;
    card_.check(card_.driver().GraphAddKernelNode(&node, graph, &last, waits ? 1 : 0, &n),
                "adding to a graph");
    if (early) {
      card_.check(
          card_.driver().GraphAddDependencies(graph, &last, &node, &cuda::kProgrammaticEdge, 1),
          "adding to a graph");
    }
    last = node;
  }
}

}  // namespace tenon::run
