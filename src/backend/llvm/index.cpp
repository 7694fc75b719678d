// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/index.h"

#include "ir/build.h"

namespace tenon::backend::llvm_cpu {
namespace {

std::optional<Run> run_of_binary(const ir::Binary& n) {
  const auto a = as_run(n.a);
  const auto b = as_run(n.b);
  if (!a || !b) {
    return std::nullopt;
  }
  const int lanes = a->lanes;
  switch (n.op) {
    case ir::BinaryOp::kAdd:
      return Run{a->base + b->base, a->stride + b->stride, lanes};
    case ir::BinaryOp::kSub:
      return Run{a->base - b->base, a->stride - b->stride, lanes};
    case ir::BinaryOp::kMul: {
      if (a->stride == 0 && b->stride == 0) {
        return Run{a->base * b->base, 0, lanes};
      }
      const Run& moving = a->stride != 0 ? *a : *b;
      const Run& fixed = a->stride != 0 ? *b : *a;
      const auto k = ir::const_int(fixed.base);
      if (fixed.stride != 0 || !k) {
        return std::nullopt;
      }
      return Run{moving.base * fixed.base, moving.stride * *k, lanes};
    }
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Run> as_run(const ir::Expr& index) {
  if (!index.dtype().is_vector()) {
    return Run{index, 0, 1};
  }
  const int lanes = index.dtype().lanes;
  if (const auto* n = index.as<ir::Broadcast>()) {
    return Run{n->value, 0, lanes};
  }
  if (const auto* n = index.as<ir::Ramp>()) {
    const auto stride = ir::const_int(n->stride);
    return stride ? std::optional<Run>(Run{n->base, *stride, lanes}) : std::nullopt;
  }
  const auto* n = index.as<ir::Binary>();
  return n != nullptr ? run_of_binary(*n) : std::nullopt;
}

}  // namespace tenon::backend::llvm_cpu
