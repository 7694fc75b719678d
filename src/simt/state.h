// SPDX-License-Identifier: Apache-2.0
// The functions of the driver share the objects behind its handles, and the one card.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"
#include "simt/launch.h"
#include "simt/memory.h"

// Handles are pointers to these.
namespace tenon::runtime::cuda {
struct ContextObject {
  int uses = 0;
};
struct FunctionObject {
  simt::Kernel kernel;
};
struct ModuleObject {
  int file = -1;
  void* library = nullptr;
  std::map<std::string, std::unique_ptr<FunctionObject>> functions;
};
struct StreamObject {};
struct EventObject {
  std::chrono::steady_clock::time_point at = {};
};
}  // namespace tenon::runtime::cuda

namespace tenon::simt {

#define TENON_SIMT_EXPORT extern "C" __attribute__((visibility("default")))

// The card's memory: made with the first use, gone with the process.
Memory& memory();

// The launch with its arguments copied; nothing if the function is null.
std::optional<Launch> make_launch(runtime::cuda::Function function, const uint32_t* grid,
                                  const uint32_t* block, uint32_t shared_bytes, void** arguments);

}  // namespace tenon::simt
