// SPDX-License-Identifier: Apache-2.0
#include "fuzz/families.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ir/build.h"

namespace tenon::fuzz {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Intrinsic;
using te::Tensor;
using Values = std::span<const Expr>;

Expr number(const Expr& like, double v) { return ir::make_const(like.dtype(), v); }

// ---- products --------------------------------------------------------------------------------

void draw_matmul(Growth& g) {
  const Tensor a = g.operand(2, 2);
  const bool ta = g.rng.chance(0.2);
  const bool tb = g.rng.chance(0.4);
  const int64_t k = a.shape()[ta ? 0 : 1];
  const int64_t n = g.extent(17);
  const auto want = tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  matmul(g.b, g.name("mm"), a, g.input(a.dtype(), want), ta, tb);
}

// What the intrinsics of tensorize multiply.
void draw_narrow_matmul(Growth& g) {
  using Types = std::pair<ir::DType, ir::DType>;
  const auto [ta, tb] = g.rng.pick(std::vector<Types>{{ir::kU8, ir::kI8},
                                                      {ir::kI8, ir::kI8},
                                                      {ir::kI8, ir::kU8},
                                                      {ir::kU8, ir::kU8},
                                                      {ir::kI16, ir::kI16},
                                                      {ir::kBF16, ir::kBF16}});
  const int64_t k = g.rng.chance(0.6) ? 4 * g.rng.between(1, 4) : g.extent(17);
  const int64_t n = g.extent(17);
  const bool trans = g.rng.chance(0.3);
  const Tensor a = g.input(ta, {g.extent(5), k});
  const auto want = trans ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  matmul(g.b, g.name("narrow"), a, g.input(tb, want), false, trans);
}

void draw_batch_matmul(Growth& g) {
  const Tensor a = g.operand(3, 4);
  const bool ta = g.rng.chance(0.2);
  const bool tb = g.rng.chance(0.4);
  const int64_t k = a.shape()[a.rank() - (ta ? 2 : 1)];
  const int64_t n = g.extent(7);
  std::vector<int64_t> dims(a.shape().begin(), a.shape().end() - 2);
  if (g.rng.chance(0.2)) {
    dims.erase(dims.begin());
  } else if (g.rng.chance(0.2)) {
    dims[0] = 1;
  }
  dims.insert(dims.end(), {tb ? n : k, tb ? k : n});
  batch_matmul(g.b, g.name("bmm"), a, g.input(a.dtype(), dims), ta, tb);
}

// A matmul of two tensors that are both computed already, if shapes meet.
void draw_join(Growth& g) {
  const Tensor a = g.operand(2, 2);
  const auto fits = [&](const Tensor& t) {
    return t.rank() == 2 && t.shape()[0] == a.shape()[1] && t.dtype() == a.dtype();
  };
  if (const auto w = g.existing(fits)) {
    matmul(g.b, g.name("join"), a, *w);
  }
}

te::ConvParams draw_windows(Growth& g, size_t rank, const std::vector<int64_t>& kernel) {
  te::ConvParams p;
  for (size_t d = 0; d < rank; ++d) {
    p.stride.push_back(g.rng.chance(0.6) ? 1 : g.rng.between(2, 3));
    p.dilation.push_back(g.rng.chance(0.75) ? 1 : g.rng.between(2, 3));
    const int64_t span = (kernel[d] - 1) * p.dilation[d] + 1;
    p.pad_before.push_back(g.rng.chance(0.4) ? 0
                                             : g.rng.between(0, std::min<int64_t>(span - 1, 2)));
    p.pad_after.push_back(g.rng.chance(0.4) ? p.pad_before[d]
                                            : g.rng.between(0, std::min<int64_t>(span - 1, 2)));
  }
  return p;
}

std::vector<int64_t> draw_kernel(Growth& g, size_t rank) {
  std::vector<int64_t> kernel(rank);
  for (int64_t& k : kernel) {
    k = g.rng.between(1, rank == 3 ? 2 : 3);
  }
  return kernel;
}

void draw_conv_of(Growth& g, size_t rank) {
  const Tensor x = g.operand(rank + 2, rank + 2);
  const std::vector<int64_t> kernel = draw_kernel(g, rank);
  te::ConvParams p = draw_windows(g, rank, kernel);
  const int64_t channels = x.shape()[1];
  if (g.rng.chance(0.3)) {
    p.groups = g.rng.pick(std::vector<int64_t>{channels, channels % 2 == 0 ? 2 : 1});
  }
  std::vector<int64_t> dims{p.groups * g.extent(p.groups > 1 ? 3 : 7), channels / p.groups};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  conv(g.b, g.name("conv"), x, g.input(x.dtype(), dims), p);
}

void draw_conv1d(Growth& g) { draw_conv_of(g, 1); }
void draw_conv2d(Growth& g) { draw_conv_of(g, 2); }
void draw_conv3d(Growth& g) { draw_conv_of(g, 3); }

// Constant weights: what other algorithms take. Filters of three taps side by side,
void draw_filter(Growth& g) {
  const auto rank = static_cast<size_t>(g.rng.between(1, 3));
  const Tensor x =
      g.operand(rank + 2, rank + 2, [](const Tensor& t) { return t.dtype() == ir::kF32; });
  if (x.dtype() != ir::kF32) return;
  std::vector<int64_t> dims{g.extent(5), x.shape()[1]};
  te::ConvParams p;
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back(d + 2 >= rank ? 3 : g.rng.between(1, 2));
    p.pad_before.push_back(g.rng.between(dims.back() > x.shape()[2 + d] ? 1 : 0, 2));
    p.pad_after.push_back(g.rng.between(dims.back() > x.shape()[2 + d] ? 1 : 0, 2));
  }
  conv(g.b, g.name("filter"), x, g.b.constant(g.name("w"), ir::kF32, dims), p);
}

// and matrices, also of pointwise convolutions.
void draw_dense(Growth& g) {
  const Tensor x = g.operand(2, 4, [](const Tensor& t) { return t.dtype() == ir::kF32; });
  if (x.dtype() != ir::kF32) return;
  const int64_t n = g.extent(11);
  if (x.rank() > 2 && g.rng.chance(0.4)) {
    std::vector<int64_t> dims(x.rank(), 1);
    dims[0] = n;
    dims[1] = x.shape()[1];
    te::ConvParams p;
    p.stride.assign(x.rank() - 2, g.rng.between(1, 2));
    conv(g.b, g.name("dense"), x, g.b.constant(g.name("w"), ir::kF32, dims), p);
    return;
  }
  const bool trans = g.rng.chance(0.5);
  const int64_t k = x.shape().back();
  const auto dims = trans ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  batch_matmul(g.b, g.name("dense"), x, g.b.constant(g.name("w"), ir::kF32, dims), false, trans);
}

void draw_depthwise(Growth& g) {
  const Tensor x = g.operand(4, 4);
  const std::vector<int64_t> kernel = draw_kernel(g, 2);
  const te::ConvParams p = draw_windows(g, 2, kernel);
  const Tensor w = g.input(x.dtype(), {x.shape()[1], g.rng.between(1, 2), kernel[0], kernel[1]});
  depthwise_conv2d(g.b, g.name("dw"), x, w, p);
}

void draw_conv_transpose(Growth& g) {
  const auto rank = static_cast<size_t>(g.rng.between(1, 2));
  const Tensor x = g.operand(rank + 2, rank + 2);
  const std::vector<int64_t> kernel = draw_kernel(g, rank);
  te::ConvParams p = draw_windows(g, rank, kernel);
  const int64_t channels = x.shape()[1];
  p.groups = g.rng.chance(0.2) ? channels : 1;
  std::vector<int64_t> dims{channels, g.extent(4)};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  std::vector<int64_t> extra;
  for (size_t d = 0; d < rank; ++d) {
    extra.push_back(g.rng.chance(0.3) ? g.rng.between(0, p.stride[d] - 1) : 0);
  }
  conv_transpose(g.b, g.name("convt"), x, g.input(x.dtype(), dims), p, extra);
}

void draw_capsule(Growth& g) {
  const int64_t size = g.rng.between(2, 3);
  const int64_t channels = g.extent(2);
  const Tensor x =
      g.input(g.base, {g.extent(2), g.extent(5), g.extent(5), channels, g.rng.between(1, 3), size});
  const std::vector<int64_t> kernel = draw_kernel(g, 2);
  const te::ConvParams p = draw_windows(g, 2, kernel);
  const Tensor w =
      g.input(g.base, {kernel[0], kernel[1], channels, size, g.rng.between(1, 3), g.extent(3)});
  capsule_conv2d(g.b, g.name("caps"), x, w, p);
}

// ---- reductions ------------------------------------------------------------------------------

void draw_pool_of(Growth& g, te::Pool kind) {
  const auto rank = static_cast<size_t>(g.rng.between(1, 2));
  const Tensor x = g.operand(rank + 2, rank + 2, [&](const Tensor& t) {
    return kind == te::Pool::kMax || t.dtype().is_float();
  });
  const std::vector<int64_t> kernel = draw_kernel(g, rank);
  te::ConvParams p = draw_windows(g, rank, kernel);
  if (kind == te::Pool::kMax && *std::max_element(p.dilation.begin(), p.dilation.end()) > 1) {
    p.pad_before = p.pad_after = {};  // a window might see padding only: -inf
  }
  pool(g.b, g.name("pool"), x, kind, kernel, p);
}

void draw_max_pool(Growth& g) { draw_pool_of(g, te::Pool::kMax); }
void draw_average_pool(Growth& g) {
  draw_pool_of(g, g.rng.chance(0.5) ? te::Pool::kAverage : te::Pool::kAverageIncludePad);
}

void draw_reduce(Growth& g) {
  const Tensor x = g.operand(1, 5);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < static_cast<int64_t>(x.rank()); ++d) {
    if (g.rng.chance(0.45)) {
      dims.push_back(d);
    }
  }
  if (dims.empty()) {
    dims.push_back(-1);
  }
  std::vector<BinaryOp> ops{BinaryOp::kAdd, BinaryOp::kAdd, BinaryOp::kAdd,
                            BinaryOp::kMax, BinaryOp::kMin, BinaryOp::kMul};
  if (x.dtype().is_float()) ops.insert(ops.end(), {BinaryOp::kMaximum, BinaryOp::kMinimum});
  const auto op = g.rng.pick(ops);
  reduce_dims(g.b, g.name("red"), x, op, dims, g.rng.chance(0.4));
}

void draw_any_all(Growth& g) {
  const Tensor x = g.operand(1, 3, [&](const Tensor& t) { return g.is_exact(t); });
  const Tensor mask =
      elementwise(g.b, g.name("mask"), {x}, [](Values v) { return ir::lt(number(v[0], 0), v[0]); });
  reduce_dims(g.b, g.name("any"), mask, g.rng.chance(0.5) ? BinaryOp::kAnd : BinaryOp::kOr, {-1},
              false);
}

void draw_softmax(Growth& g) {
  softmax(g.b, g.name("smax"),
          g.operand(1, 3, [&](const Tensor& t) { return g.is_smooth_safe(t); }));
}

void draw_layer_norm(Growth& g) {
  const Tensor x = g.operand(1, 3, [&](const Tensor& t) { return g.is_smooth_safe(t); });
  const int64_t n = x.shape().back();
  const Tensor scale = g.input(x.dtype(), {n});
  const Tensor bias = g.input(x.dtype(), {n});
  layer_norm(g.b, g.name("ln"), x, scale, bias, 0.0625);
}

void draw_norm2(Growth& g) {
  norm2(g.b, g.name("norm"),
        g.operand(2, 4, [&](const Tensor& t) { return g.is_exact(t) && t.dtype().is_float(); }));
}

// ---- element-wise ----------------------------------------------------------------------------

void draw_unary(Growth& g) {
  const Tensor x = g.operand(0, 5);
  const int64_t kind = g.rng.between(0, 3);
  elementwise(g.b, g.name("u"), {x}, [&](Values v) {
    switch (kind) {
      case 0:
        return ir::max(v[0], number(v[0], 0));
      case 1:
        return v[0] * number(v[0], 2) + number(v[0], 1);
      case 2:
        return ir::min(ir::max(v[0], number(v[0], -3)), number(v[0], 5));
      default:
        return number(v[0], 1) - v[0];
    }
  });
}

void draw_smooth(Growth& g) {
  const Tensor x = g.operand(0, 4, [&](const Tensor& t) { return g.is_smooth_safe(t); });
  if (!x.dtype().is_float()) {
    return;
  }
  if (g.rng.chance(0.25)) {
    gelu(g.b, g.name("gelu"), x);
    return;
  }
  const auto fn = g.rng.pick(std::vector<Intrinsic>{Intrinsic::kTanh, Intrinsic::kSigmoid,
                                                    Intrinsic::kErf, Intrinsic::kExp});
  elementwise(g.b, g.name("s"), {x}, [&](Values v) {
    return fn == Intrinsic::kExp ? ir::call(fn, {ir::min(-v[0], v[0]) * number(v[0], 0.5)})
                                 : ir::call(fn, {v[0] * number(v[0], 0.25)});
  });
}

std::vector<int64_t> draw_broadcast(Growth& g, const Tensor& x) {
  std::vector<int64_t> dims = x.shape();
  for (int64_t& e : dims) {
    e = g.rng.chance(0.3) ? 1 : e;
  }
  const auto dropped = g.rng.chance(0.4) ? g.rng.between(0, static_cast<int64_t>(dims.size())) : 0;
  dims.erase(dims.begin(), dims.begin() + dropped);
  return dims;
}

void draw_binary(Growth& g) {
  const Tensor x = g.operand(0, 5);
  const auto same = g.existing([&](const Tensor& t) {
    return t.shape() == x.shape() && t.dtype() == x.dtype() && !t.same_as(x);
  });
  const Tensor y = same && g.rng.chance(0.7) ? *same : g.input(x.dtype(), draw_broadcast(g, x));
  std::vector<BinaryOp> ops{BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kMax,
                            BinaryOp::kMin};
  if (x.dtype().is_float()) ops.insert(ops.end(), {BinaryOp::kMaximum, BinaryOp::kMinimum});
  const auto op = g.rng.pick(ops);
  const bool swapped = g.rng.chance(0.5);
  elementwise(g.b, g.name("b"), swapped ? std::vector<Tensor>{y, x} : std::vector<Tensor>{x, y},
              [&](Values v) { return ir::make_binary(op, v[0], v[1]); });
}

void draw_select(Growth& g) {
  const Tensor x = g.operand(1, 4, [&](const Tensor& t) { return g.is_exact(t); });
  const Tensor y = g.input(x.dtype(), draw_broadcast(g, x));
  elementwise(g.b, g.name("sel"), {x, y}, [](Values v) {
    return ir::select(ir::logical_or(ir::lt(v[0], v[1]), ir::eq(v[1], number(v[1], 0))),
                      v[0] - v[1], v[1]);
  });
}

void draw_cast(Growth& g) {
  const Tensor x = g.operand(1, 5);
  std::vector<ir::DType> to{ir::kF32, ir::kF64, ir::kBF16};
  if (!x.dtype().is_float()) {
    to = {ir::kF32, ir::kF64, ir::kI64, ir::kI32};
  } else if (g.is_exact(x) && g.facts(x).bound < 1000) {
    to.insert(to.end(), {ir::kF16, ir::kI32});
  }
  const ir::DType t = g.options.small_types ? g.rng.pick(to) : ir::kF32;
  elementwise(g.b, g.name("cast"), {x}, [&](Values v) { return ir::cast(t, v[0]); });
}

// ---- shapes ----------------------------------------------------------------------------------

void draw_transpose(Growth& g) {
  const Tensor x = g.operand(2, 5);
  std::vector<int64_t> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) {
    std::swap(perm[i - 1],
              perm[static_cast<size_t>(g.rng.between(0, static_cast<int64_t>(i) - 1))]);
  }
  transpose(g.b, g.name("tr"), x, perm);
}

void draw_reshape(Growth& g) {
  const Tensor x = g.operand(1, 5);
  int64_t left = x->elements();
  std::vector<int64_t> dims;
  while (left > 1 && dims.size() < 3) {
    int64_t part = g.rng.between(1, left);
    while (left % part != 0) {
      --part;
    }
    dims.push_back(part);
    left /= part;
  }
  dims.push_back(left);
  reshape(g.b, g.name("rs"), x, dims);
}

void draw_concat(Growth& g) {
  const Tensor x = g.operand(1, 4);
  const int64_t dim = g.rng.between(0, static_cast<int64_t>(x.rank()) - 1);
  std::vector<Tensor> parts{x};
  for (int64_t i = g.rng.between(1, 2); i > 0; --i) {
    std::vector<int64_t> dims = x.shape();
    dims[static_cast<size_t>(dim)] = g.extent(5);
    const auto fits = [&](const Tensor& t) { return t.shape() == dims && t.dtype() == x.dtype(); };
    const auto found = g.rng.chance(0.5) ? g.existing(fits) : std::nullopt;
    parts.push_back(found ? *found : g.input(x.dtype(), dims));
  }
  if (g.rng.chance(0.5)) {
    std::swap(parts.front(), parts.back());
  }
  concat(g.b, g.name("cat"), parts, dim);
}

void draw_slice(Growth& g) {
  const Tensor x = g.operand(1, 5);
  std::vector<int64_t> begin;
  std::vector<int64_t> shape;
  std::vector<int64_t> step;
  for (const int64_t extent : x.shape()) {
    const int64_t stride = g.rng.chance(0.7) ? 1 : g.rng.chance(0.5) ? 2 : -1;
    const int64_t from = g.rng.between(0, extent - 1);
    const int64_t most = stride > 0 ? (extent - 1 - from) / stride + 1 : from + 1;
    begin.push_back(from);
    step.push_back(stride);
    shape.push_back(g.rng.between(std::max<int64_t>(1, most / 2), most));
  }
  slice(g.b, g.name("sl"), x, begin, shape, step);
}

void draw_pad(Growth& g) {
  const Tensor x = g.operand(1, 5);
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  for (size_t d = 0; d < x.rank(); ++d) {
    before.push_back(g.rng.chance(0.6) ? 0 : g.rng.between(0, 2));
    after.push_back(g.rng.chance(0.6) ? 0 : g.rng.between(0, 2));
  }
  pad(g.b, g.name("pad"), x, before, after, static_cast<double>(g.rng.between(-1, 1)));
}

void draw_gather(Growth& g) {
  const Tensor x = g.operand(1, 4);
  const auto rank = static_cast<size_t>(g.rng.between(0, 2));
  const Tensor index = g.input(g.rng.chance(0.5) ? ir::kI64 : ir::kI32, g.shape(rank, 5));
  gather(g.b, g.name("ga"), x, index, g.rng.between(0, static_cast<int64_t>(x.rank()) - 1));
}

constexpr Family kFamilies[] = {
    {"matmul", 12, true, draw_matmul},
    {"narrow_matmul", 10, true, draw_narrow_matmul},
    {"batch_matmul", 6, true, draw_batch_matmul},
    {"join", 4, true, draw_join},
    {"conv1d", 3, true, draw_conv1d},
    {"conv2d", 12, true, draw_conv2d},
    {"conv3d", 2, true, draw_conv3d},
    {"filter", 6, true, draw_filter},
    {"dense", 6, true, draw_dense},
    {"depthwise", 4, true, draw_depthwise},
    {"conv_transpose", 5, true, draw_conv_transpose},
    {"capsule", 2, true, draw_capsule},
    {"max_pool", 4, true, draw_max_pool},
    {"average_pool", 4, false, draw_average_pool},
    {"reduce", 6, true, draw_reduce},
    {"any_all", 1, true, draw_any_all},
    {"softmax", 4, false, draw_softmax},
    {"layer_norm", 3, false, draw_layer_norm},
    {"norm2", 2, false, draw_norm2},
    {"unary", 10, true, draw_unary},
    {"smooth", 4, false, draw_smooth},
    {"binary", 10, true, draw_binary},
    {"select", 3, true, draw_select},
    {"cast", 2, true, draw_cast},
    {"transpose", 5, true, draw_transpose},
    {"reshape", 4, true, draw_reshape},
    {"concat", 3, true, draw_concat},
    {"slice", 3, true, draw_slice},
    {"pad", 4, true, draw_pad},
    {"gather", 3, true, draw_gather},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

}  // namespace tenon::fuzz
