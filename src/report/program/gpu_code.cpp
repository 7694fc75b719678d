// SPDX-License-Identifier: Apache-2.0
#include "report/program/gpu_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/gpu_module.h"
#include "backend/nvptx/ptxas.h"
#include "files/file.h"
#include "support/check.h"
#include "support/private_folder.h"
#include "support/process.h"

namespace tenon::report {
namespace {

namespace fs = std::filesystem;
using backend::nvptx::PtxasReport;

constexpr double kDisassembleS = 60;
constexpr const char* kHint = "put it into PATH, or set CUDA_HOME";

std::vector<PtxasReport> reports_of(const backend::GpuModule& m, const target::Target& t) {
  const auto ptxas = backend::nvptx::find_ptxas();
  if (!ptxas || m.ptx.empty()) return {};
  return backend::nvptx::assemble(*ptxas, {m.ptx}, t.gpu().processor).kernels;
}

struct Blocks {
  std::string_view processor;
  int64_t most;  // on a multiprocessor
};
constexpr Blocks kBlocks[] = {{"sm_80", 32}, {"sm_86", 16}, {"sm_89", 24}, {"sm_90", 32}};

int64_t most_blocks(const target::Gpu& g) {
  for (const Blocks& b : kBlocks) {
    if (b.processor == g.processor) return b.most;
  }
  return kBlocks[0].most;
}

int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Of the threads that a multiprocessor can hold, those that it does. Threads come in whole warps, the registers of a warp and
// the shared memory of a block in units, and each block takes a kilobyte of shared memory more.
double occupancy(const backend::Launch& l, int registers, const target::Gpu& g) {
  constexpr int64_t kRegisterUnit = 256;
  constexpr int64_t kSharedUnit = 128;
  constexpr int64_t kReservedBytes = 1024;
  const int64_t warps = up(l.block[0] * l.block[1] * l.block[2], g.warp_threads) / g.warp_threads;
  const int64_t held = up(int64_t{registers} * g.warp_threads, kRegisterUnit) * warps;
  const int64_t shared = up(l.shared_bytes, kSharedUnit) + kReservedBytes;
  int64_t blocks = g.threads_per_multiprocessor / (warps * g.warp_threads);
  if (held > 0) blocks = std::min(blocks, g.registers_per_multiprocessor / held);
  blocks = std::min({blocks, g.shared_bytes_per_multiprocessor / shared, most_blocks(g)});
  return static_cast<double>(blocks * warps * g.warp_threads) / g.threads_per_multiprocessor;
}

std::string describe(const backend::Launch& l, const std::vector<PtxasReport>& reports,
                     const target::Gpu& g) {
  std::string text = fmt::format("{}  grid {}  block {}  shared {}", l.kernel,
                                 fmt::join(l.grid, "x"), fmt::join(l.block, "x"), l.shared_bytes);
  for (const PtxasReport& r : reports) {
    if (r.kernel != l.kernel) continue;
    text += fmt::format("  registers {}  spilled {}  occupancy {:.0f} %", r.registers,
                        r.spill_store_bytes, 100 * occupancy(l, r.registers, g));
  }
  return text + "\n";
}

}  // namespace

std::string describe_launches(const std::string& module_bytes, const target::Target& t) {
  const backend::GpuModule m = backend::gpu_module_from(module_bytes);
  const std::vector<PtxasReport> reports = reports_of(m, t);
  std::string text;
  for (const backend::Launch& l : m.launches) text += describe(l, reports, t.gpu());
  if (m.workspace_bytes > 0) text += fmt::format("workspace {} bytes\n", m.workspace_bytes);
  return text;
}

std::string launches_as_comments(const std::string& module_bytes, const target::Target& t) {
  std::string text;
  for (const char c : describe_launches(module_bytes, t)) {
    if (text.empty() || text.back() == '\n') text += "// ";
    text += c;
  }
  return text;
}

std::string disassemble(const std::string& module_bytes) {
  const backend::GpuModule m = backend::gpu_module_from(module_bytes);
  if (m.image.empty()) throw UserError("--show sass: ptxas was not found", kHint);
  const auto tool = backend::nvptx::find_cuda_tool("cuobjdump");
  if (!tool) throw UserError("--show sass: cuobjdump was not found", kHint);
  const PrivateFolder folder = PrivateFolder::temporary("sass");
  const fs::path file = folder.path() / "kernels.cubin";
  files::write_file(file, m.image);
  const ProcessResult r = run_process({tool->string(), "-sass", file.string()}, kDisassembleS);
  if (r.status != 0) throw UserError(fmt::format("{}: {}", tool->string(), r.err));
  return r.out;
}

}  // namespace tenon::report
