// SPDX-License-Identifier: Apache-2.0
#include "artifact/gpu_table.h"

#include <fmt/format.h>

#include "artifact/table_text.h"
#include "backend/gpu_module.h"
#include "runtime/cuda/table.h"

namespace tenon::artifact {
namespace {

// The types of runtime/cuda/table.h.
constexpr const char* kTypes =
    "%module = type { ptr, ptr }\n"
    "%launch = type { ptr, ptr, i32, i32, [3 x i32], [3 x i32], i32, i32 }\n"
    "%gpustep = type { i32, i32, i64, ptr, i64 }\n"
    "%cuda = type { ptr, ptr, ptr, ptr, i32, i32 }\n";
static_assert(sizeof(tenon_cuda_module) == 16 && sizeof(tenon_cuda_launch) == 56 &&
              sizeof(tenon_cuda_step) == 32 && sizeof(tenon_cuda_table) == 40);
static_assert(backend::kWorkspaceArgument == kTenonScratch);

std::string triple(const std::array<int64_t, 3>& v) {
  return fmt::format("[3 x i32] [i32 {}, i32 {}, i32 {}]", v[0], v[1], v[2]);
}

std::string launch_row(TableText& text, const backend::Launch& l, size_t module) {
  const std::string symbol = text.string(l.kernel);
  const std::string arguments = text.numbers(l.arguments);
  return fmt::format("{{ ptr {}, ptr {}, i32 {}, i32 {}, {}, {}, i32 {}, i32 {} }}", symbol,
                     arguments, l.arguments.size(), module, triple(l.grid), triple(l.block),
                     l.shared_bytes, l.early ? 1 : 0);
}

}  // namespace

void append_gpu_table(std::string& out, TableText& text, const Program& program,
                      const std::vector<CompiledKernel>& kernels) {
  out += kTypes;
  std::vector<std::string> modules;
  std::vector<std::string> launches;
  std::vector<size_t> first;  // launch of each kernel
  for (size_t k = 0; k < kernels.size(); ++k) {
    const backend::GpuModule& gpu = kernels[k].gpu;
    const std::string image = text.bytes(gpu.image);
    modules.push_back(fmt::format("{{ ptr {}, ptr {} }}", image, text.bytes(gpu.ptx)));
    first.push_back(launches.size());
    for (const backend::Launch& l : gpu.launches) {
      launches.push_back(launch_row(text, l, k));
    }
  }
  const GpuSteps order = order_steps(program, kernels);
  std::vector<std::string> steps;
  for (size_t s = 0; s < order.steps.size(); ++s) {
    const auto k = static_cast<size_t>(program.steps[s].kernel);
    const GpuStep& step = order.steps[s];
    const std::string after = text.numbers(step.after);
    steps.push_back(fmt::format("{{ i32 {}, i32 {}, i64 {}, ptr {}, i64 {} }}", first[k],
                                kernels[k].gpu.launches.size(), step.scratch_offset, after,
                                step.after.size()));
  }
  const std::string processor = text.string(program.target.gpu().processor);
  const std::string module_list = text.array("%module", modules);
  const std::string launch_list = text.array("%launch", launches);
  const std::string step_list = text.array("%gpustep", steps);
  out += fmt::format(
      "@{}_rt_cuda = hidden constant %cuda {{ ptr {}, ptr {}, ptr {}, ptr {}, i32 {}, i32 {} }}\n",
      program.name, processor, module_list, launch_list, step_list, modules.size(),
      launches.size());
}

}  // namespace tenon::artifact
