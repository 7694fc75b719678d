// SPDX-License-Identifier: Apache-2.0
// NVIDIA's assembler, where it is found, turns PTX into machine code of one processor. Nothing of it is linked; the driver
// compiles PTX by itself where it is absent.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::backend::nvptx {

// A report is what the assembler says of one kernel.
struct PtxasReport {
  std::string kernel;
  int registers = 0;  // per thread
  int stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  int shared_bytes = 0;  // static ones; ours are given at launch
  bool operator==(const PtxasReport&) const = default;
};

struct Assembled {
  std::string image;
  std::vector<PtxasReport> kernels;
};

// Looks in the folders of PATH, in CUDA_HOME/bin, and in /usr/local/cuda/bin.
std::optional<std::filesystem::path> find_cuda_tool(const std::string& name);

// Finds what TENON_PTXAS names, else the ptxas of find_cuda_tool. Throws UserError when
// TENON_PTXAS names no program; "none" there means that there is none.
std::optional<std::filesystem::path> find_ptxas();

// Several texts whose kernels have different names become one image, each kernel as it would be alone; the assembler's
// start, which takes it as long as a small kernel, is paid once. Throws UserError with the assembler's first line where it
// refuses one of them.
Assembled assemble(const std::filesystem::path& ptxas, const std::vector<std::string>& texts,
                   const std::string& processor);

// Reads the text of `ptxas -v`.
std::vector<PtxasReport> parse_report(std::string_view text);

}  // namespace tenon::backend::nvptx
