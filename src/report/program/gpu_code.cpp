// SPDX-License-Identifier: Apache-2.0
#include "report/program/gpu_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
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
  return backend::nvptx::assemble(*ptxas, m.ptx, t.gpu().processor).kernels;
}

// Of the threads that a multiprocessor can hold, those that it does.
double occupancy(const backend::Launch& l, int registers, const target::Gpu& g) {
  constexpr int64_t kRegisterUnit = 8;  // a thread has a multiple of them
  const int64_t threads = l.block[0] * l.block[1] * l.block[2];
  const int64_t held = (registers + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit * threads;
  int64_t blocks = g.threads_per_multiprocessor / threads;
  if (held > 0) blocks = std::min(blocks, g.registers_per_multiprocessor / held);
  if (l.shared_bytes > 0) {
    blocks = std::min(blocks, g.shared_bytes_per_multiprocessor / l.shared_bytes);
  }
  return static_cast<double>(blocks * threads) / g.threads_per_multiprocessor;
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
