// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/index.h"

#include <algorithm>

#include "arith/interval.h"
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

namespace {

bool is_uniform(const Pattern& p) {
  return std::all_of(p.offsets.begin(), p.offsets.end(), [](int64_t o) { return o == 0; });
}

std::optional<Pattern> product(const Pattern& a, const Pattern& b) {
  if (is_uniform(a) && is_uniform(b)) {
    return Pattern{a.base * b.base, a.offsets};
  }
  const Pattern& moving = is_uniform(a) ? b : a;
  const Pattern& fixed = is_uniform(a) ? a : b;
  const auto k = ir::const_int(fixed.base);
  if (!is_uniform(fixed) || !k) {
    return std::nullopt;
  }
  Pattern r{moving.base * fixed.base, moving.offsets};
  for (int64_t& o : r.offsets) {
    o *= *k;
  }
  return r;
}

// Division by a constant, of constants.
std::optional<Pattern> quotient(ir::BinaryOp op, const Pattern& a, const Pattern& b) {
  const auto base = ir::const_int(a.base);
  const auto by = ir::const_int(b.base);
  if (!base || !by || *by <= 0 || !is_uniform(b)) {
    return std::nullopt;
  }
  Pattern r{ir::Expr(0), a.offsets};
  for (int64_t& o : r.offsets) {
    o = op == ir::BinaryOp::kFloorDiv ? arith::floor_div(*base + o, *by)
                                      : arith::floor_mod(*base + o, *by);
  }
  return r;
}

// The lesser or the greater of constants, as at the ends of what is read.
std::optional<Pattern> bound(ir::BinaryOp op, const Pattern& a, const Pattern& b) {
  const auto x = ir::const_int(a.base), y = ir::const_int(b.base);
  if (!x || !y) {
    return std::nullopt;
  }
  Pattern r{ir::Expr(0), a.offsets};
  for (size_t i = 0; i < r.offsets.size(); ++i) {
    const int64_t one = *x + a.offsets[i], other = *y + b.offsets[i];
    r.offsets[i] = op == ir::BinaryOp::kMin ? std::min(one, other) : std::max(one, other);
  }
  return r;
}

std::optional<Pattern> pattern_of_binary(const ir::Binary& n) {
  auto a = as_pattern(n.a);
  const auto b = as_pattern(n.b);
  if (!a || !b) {
    return std::nullopt;
  }
  switch (n.op) {
    case ir::BinaryOp::kAdd:
    case ir::BinaryOp::kSub: {
      const bool minus = n.op == ir::BinaryOp::kSub;
      a->base = minus ? a->base - b->base : a->base + b->base;
      for (size_t i = 0; i < a->offsets.size(); ++i) {
        a->offsets[i] += minus ? -b->offsets[i] : b->offsets[i];
      }
      return a;
    }
    case ir::BinaryOp::kMul:
      return product(*a, *b);
    case ir::BinaryOp::kFloorDiv:
    case ir::BinaryOp::kFloorMod:
      return quotient(n.op, *a, *b);
    case ir::BinaryOp::kMin:
    case ir::BinaryOp::kMax:
      return bound(n.op, *a, *b);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Pattern> as_pattern(const ir::Expr& index) {
  const auto lanes = static_cast<size_t>(index.dtype().lanes);
  if (const auto* n = index.as<ir::Broadcast>()) {
    return Pattern{n->value, std::vector<int64_t>(lanes, 0)};
  }
  if (const auto* n = index.as<ir::Ramp>()) {
    const auto stride = ir::const_int(n->stride);
    if (!stride) {
      return std::nullopt;
    }
    Pattern r{n->base, std::vector<int64_t>(lanes)};
    for (size_t i = 0; i < lanes; ++i) {
      r.offsets[i] = static_cast<int64_t>(i) * *stride;
    }
    return r;
  }
  const auto* n = index.as<ir::Binary>();
  return n != nullptr ? pattern_of_binary(*n) : std::nullopt;
}

}  // namespace tenon::backend::llvm_cpu
