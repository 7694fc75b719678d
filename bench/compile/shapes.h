// SPDX-License-Identifier: Apache-2.0
// Models of any length, as ONNX files: what a compiler's phases are measured on.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tenon::bench {

struct ChainShape {
  const char* name;
  const char* what;
  int64_t longest;  // beyond it every node is a kernel of its own, or the importer's budget ends
  std::string (*write)(int64_t nodes);  // the bytes of a model with about so many nodes
};
std::span<const ChainShape> chain_shapes();

}  // namespace tenon::bench
