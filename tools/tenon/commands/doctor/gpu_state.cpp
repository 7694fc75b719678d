// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/doctor/gpu_state.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "backend/nvptx/ptxas.h"
#include "runtime/cuda/driver.h"
#include "support/check.h"
#include "target/target.h"

namespace tenon::tools {
namespace {

using timing::Fact;
using timing::Health;

namespace cuda = runtime::cuda;

Fact card_fact() {
  try {
    const target::Target t = target::card_target();
    const target::Gpu& g = t.gpu();
    return {"card",
            fmt::format("{} ({}, {} multiprocessors, {} KiB of shared memory per block)", t.machine,
                        g.processor, g.multiprocessors, g.shared_bytes_per_block / 1024)};
  } catch (const UserError&) {
    return {"card", "none that can be used"};
  }
}

Fact driver_fact() {
  char sentence[runtime::kSentenceBytes] = {};
  const cuda::Driver* driver = cuda::open_driver(sentence);
  if (driver == nullptr) return {"CUDA driver", sentence};
  return {"CUDA driver", fmt::format("{}.{}", driver->version / 1000, driver->version % 1000 / 10)};
}

Fact tool_fact(const std::string& name, const std::optional<std::filesystem::path>& found,
               const std::string& without) {
  if (found) return {name, found->string()};
  return {name, "not found: " + without, Health::kGood, "put it into PATH, or set CUDA_HOME"};
}

Fact ptxas_fact() {
  try {
    return tool_fact("ptxas", backend::nvptx::find_ptxas(),
                     "the driver makes machine code, one candidate at a time");
  } catch (const UserError& e) {
    return {"ptxas", e.what(), Health::kDisturbing};
  }
}

}  // namespace

std::vector<Fact> examine_gpu() {
  return {card_fact(), driver_fact(), ptxas_fact(),
          tool_fact("cuobjdump", backend::nvptx::find_cuda_tool("cuobjdump"),
                    "tenon explain has no --show sass")};
}

}  // namespace tenon::tools
