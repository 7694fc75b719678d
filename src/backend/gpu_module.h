// SPDX-License-Identifier: Apache-2.0
// A GpuModule is what a GPU runs for one ir::Function. It holds kernels, as PTX and as machine code
// of one card, and their launches in order. Each outermost nest of thread-bound loops is a kernel.
//
//   split-K product  =>  launches {partial sums, grid 7x4x9}, {their sum, grid 49}
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::backend {

// Arguments of a kernel are pointers: a parameter of the function by its number, or the workspace.
inline constexpr int32_t kWorkspaceArgument = -1;

struct Launch {
  std::string kernel;  // a symbol of the module
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t shared_bytes = 0;
  std::vector<int32_t> arguments;
  bool early = false;  // it may begin before the launch in front of it is done, and waits by itself
  bool operator==(const Launch&) const = default;
};

struct GpuModule {
  std::vector<Launch> launches;
  int64_t workspace_bytes = 0;
  std::string ptx;    // text; the driver compiles it where there is no image for the card
  std::string image;  // machine code for the target's processor; empty where no assembler was found
  bool operator==(const GpuModule&) const = default;
};

std::string to_bytes(const GpuModule& m);
// Throws UserError for bytes that are not such a module.
GpuModule gpu_module_from(std::string_view bytes);

}  // namespace tenon::backend
