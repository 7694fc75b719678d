// SPDX-License-Identifier: Apache-2.0
// Index expressions: logical to storage step by step, and back in reverse order.
#include <span>

#include "ir/build.h"
#include "layout/layout.h"
#include "support/check.h"

namespace tenon::layout {
namespace {

using ir::Expr;
using Exprs = std::vector<Expr>;
using Shape = std::vector<int64_t>;

// Digits of x in the mixed radix `extents`; the first is not reduced.
Exprs digits(const Expr& x, const Shape& extents) {
  Exprs out(extents.size());
  int64_t inner = 1;
  for (size_t j = extents.size(); j-- > 0;) {
    const Expr q = ir::floor_div(x, Expr(inner));
    out[j] = j == 0 ? q : ir::floor_mod(q, Expr(extents[j]));
    inner *= extents[j];
  }
  return out;
}

Expr from_digits(std::span<const Expr> d, std::span<const int64_t> extents) {
  Expr x = d[0];
  for (size_t j = 1; j < d.size(); ++j) {
    x = x * Expr(extents[j]) + d[j];
  }
  return x;
}

void simplify_all(Exprs& index, const arith::Ranges& ranges) {
  for (Expr& e : index) {
    e = arith::simplify(e, ranges);
  }
}

void replace(Exprs& index, int64_t at, int64_t count, Exprs by, const arith::Ranges& ranges) {
  simplify_all(by, ranges);
  const auto first = index.begin() + at;
  index.insert(index.erase(first, first + count), by.begin(), by.end());
}

Shape slice(const Shape& s, int64_t at, int64_t count) {
  return Shape(s.begin() + at, s.begin() + at + count);
}

// Its own inverse.
Expr swizzled(const LayoutStep& step, const Exprs& index) {
  const Expr& by = index[static_cast<size_t>(step.args[0])];
  return ir::make_binary(ir::BinaryOp::kBitXor, index[static_cast<size_t>(step.dim)],
                         ir::floor_mod(by, Expr(step.args[1])));
}

// What a step makes of indices; `before` is the shape that it is applied to. Only the indices it changes are
// simplified.
void forward(const LayoutStep& step, const Shape& before, Exprs& index,
             const arith::Ranges& ranges) {
  const size_t k = static_cast<size_t>(step.dim);
  switch (step.op) {
    case LayoutOp::kSplit:
      replace(index, step.dim, 1, digits(index[k], step.args), ranges);
      break;
    case LayoutOp::kReorder: {
      const Exprs old = index;
      for (size_t d = 0; d < old.size(); ++d) {
        index[d] = old[static_cast<size_t>(step.args[d])];
      }
      break;
    }
    case LayoutOp::kFuse: {
      const int64_t n = step.args[0];
      const std::span<const Expr> parts(index.data() + k, static_cast<size_t>(n));
      replace(index, step.dim, n, {from_digits(parts, slice(before, step.dim, n))}, ranges);
      break;
    }
    case LayoutOp::kPad:
      index[k] = arith::simplify(index[k] + Expr(step.args[0]), ranges);
      break;
    case LayoutOp::kUnfold: {
      const int64_t size = step.args[0], stride = step.args[1];
      const int64_t last = arith::ceil_div(before[k] - size, stride);
      const Expr tile = ir::min(ir::floor_div(index[k], Expr(stride)), Expr(last));
      replace(index, step.dim, 1, {tile, index[k] - tile * Expr(stride)}, ranges);
      break;
    }
    case LayoutOp::kSwizzle:
      index[k] = arith::simplify(swizzled(step, index), ranges);
      break;
    case LayoutOp::kStoreAt:
      break;
  }
}

void backward(const LayoutStep& step, const Shape& before, Exprs& index,
              const arith::Ranges& ranges) {
  const size_t k = static_cast<size_t>(step.dim);
  switch (step.op) {
    case LayoutOp::kSplit: {
      const size_t n = step.args.size();
      const Expr whole = from_digits(std::span<const Expr>(index.data() + k, n), step.args);
      replace(index, step.dim, static_cast<int64_t>(n), {whole}, ranges);
      break;
    }
    case LayoutOp::kReorder: {
      const Exprs old = index;
      for (size_t d = 0; d < old.size(); ++d) {
        index[static_cast<size_t>(step.args[d])] = old[d];
      }
      break;
    }
    case LayoutOp::kFuse:
      replace(index, step.dim, 1, digits(index[k], slice(before, step.dim, step.args[0])), ranges);
      break;
    case LayoutOp::kPad:
      index[k] = arith::simplify(index[k] - Expr(step.args[0]), ranges);
      break;
    case LayoutOp::kUnfold:
      replace(index, step.dim, 2, {index[k] * Expr(step.args[1]) + index[k + 1]}, ranges);
      break;
    case LayoutOp::kSwizzle:
      index[k] = arith::simplify(swizzled(step, index), ranges);
      break;
    case LayoutOp::kStoreAt:
      break;
  }
}

// Whether the index that `backward` has just made lies in the dimension that the step was applied to.
Expr inside(const LayoutStep& step, const Shape& before, const Exprs& index) {
  const size_t k = static_cast<size_t>(step.dim);
  switch (step.op) {
    case LayoutOp::kSplit:
    case LayoutOp::kUnfold:
    case LayoutOp::kStoreAt:
      return ir::lt(index[k], Expr(before[k]));
    case LayoutOp::kPad:
      return ir::logical_and(ir::le(Expr(0), index[k]), ir::lt(index[k], Expr(before[k])));
    case LayoutOp::kReorder:
    case LayoutOp::kFuse:
    case LayoutOp::kSwizzle:
      break;
  }
  return ir::make_bool(true);
}

}  // namespace

std::vector<Expr> Layout::to_storage(const std::vector<Expr>& logical,
                                     const arith::Ranges& ranges) const {
  TENON_CHECK(logical.size() == logical_.size());
  Exprs index = logical;
  const auto before = shapes();
  for (size_t i = 0; i < steps_.size(); ++i) {
    forward(steps_[i], before[i], index, ranges);
  }
  return index;
}

std::vector<Expr> Layout::to_logical(const std::vector<Expr>& storage,
                                     const arith::Ranges& ranges) const {
  TENON_CHECK(storage.size() == storage_.size());
  Exprs index = storage;
  const auto before = shapes();
  for (size_t i = steps_.size(); i-- > 0;) {
    backward(steps_[i], before[i], index, ranges);
  }
  return index;
}

Expr Layout::holds_element(const std::vector<Expr>& storage, const arith::Ranges& ranges) const {
  TENON_CHECK(storage.size() == storage_.size());
  Exprs index = storage;
  Expr holds = ir::make_bool(true);
  const auto before = shapes();
  for (size_t i = steps_.size(); i-- > 0;) {
    backward(steps_[i], before[i], index, ranges);
    holds = ir::logical_and(holds, arith::simplify(inside(steps_[i], before[i], index), ranges));
  }
  return arith::simplify(holds, ranges);
}

std::optional<UnfoldedIndex> rewrite_sliding(const SlidingAccess& access, int64_t size,
                                             int64_t stride, const arith::Ranges& ranges) {
  TENON_CHECK(access.stride >= 1 && access.window >= 1);
  if (size < access.window) {
    return std::nullopt;
  }
  const int64_t windows = (size - access.window) / access.stride + 1;
  if (stride != access.stride * windows) {
    return std::nullopt;
  }
  const Expr tile = arith::simplify(ir::floor_div(access.window_index, Expr(windows)), ranges);
  const Expr element = access.window_index * Expr(access.stride) + access.offset;
  return UnfoldedIndex{tile, arith::simplify(element - tile * Expr(stride), ranges)};
}

}  // namespace tenon::layout
