// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/types.h"

#include "support/check.h"

namespace tenon::graph_fuzz {
namespace {

struct Numbered {
  ir::DType type;
  int32_t onnx;
};

constexpr Numbered kTypes[] = {
    {ir::kF32, 1},  {ir::kF64, 11}, {ir::kF16, 10}, {ir::kBF16, 16}, {ir::kI8, 3},
    {ir::kI16, 5},  {ir::kI32, 6},  {ir::kI64, 7},  {ir::kU8, 2},    {ir::kU16, 4},
    {ir::kU32, 12}, {ir::kU64, 13}, {ir::kBool, 9},
};

size_t position(ir::DType t) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].type == t) return i;
  }
  throw InternalError("no such element type: " + ir::to_string(t));
}

}  // namespace

const std::vector<ir::DType>& element_types() {
  static const std::vector<ir::DType> all = [] {
    std::vector<ir::DType> types;
    for (const Numbered& t : kTypes) types.push_back(t.type);
    return types;
  }();
  return all;
}

Types set_of(ir::DType t) { return Types{1} << position(t); }

int32_t onnx_number(ir::DType t) { return kTypes[position(t)].onnx; }

}  // namespace tenon::graph_fuzz
