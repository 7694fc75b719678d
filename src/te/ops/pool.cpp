// SPDX-License-Identifier: Apache-2.0
#include "arith/simplify.h"
#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {
namespace {

using detail::require;
using detail::Window;

// How many kernel positions of the window at output y fall on the input rather than on padding: those
// with 0 <= y*stride - before + r*dilation < in. At least 1, so that it can divide.
ir::Expr covered(const Window& w, const ir::Var& y) {
  if (w.before == 0 && w.after == 0) {
    return w.kernel;
  }
  const ir::Expr base = y * ir::Expr(w.stride) - ir::Expr(w.before);
  const ir::Expr last = ir::floor_div(ir::Expr(w.in - 1) - base, w.dilation);
  const ir::Expr first = ir::Expr(0) - ir::floor_div(base, w.dilation);
  const ir::Expr count = ir::min(w.kernel - 1, last) - ir::max(0, first) + ir::Expr(1);
  arith::Ranges ranges;
  ranges.bind(y, {0, w.out() - 1});
  return arith::simplify(ir::max(count, 1), ranges);
}

struct PoolShape {
  std::vector<Window> win;
  std::vector<int64_t> out, kernel;
  std::vector<std::string> axes, reduce;
};

Tensor window_reduce(Builder& b, const std::string& name, const Tensor& x, const PoolShape& s,
                     ir::BinaryOp combiner) {
  const bool sums = combiner == ir::BinaryOp::kAdd;
  const auto body = [&](std::span<const ir::Var> axes, std::span<const ir::Var> reduce) {
    std::vector<ir::Expr> at{axes[0], axes[1]};
    for (size_t d = 0; d < s.win.size(); ++d) {
      at.push_back(detail::tap(s.win[d], axes[2 + d], reduce[d]));
    }
    const ir::Expr value = ir::load(x, at);
    return sums ? ir::cast(detail::sum_type(x.dtype()), value) : value;
  };
  return b.reduce(name, s.out, combiner, s.kernel, body, s.axes, s.reduce);
}

Tensor divide(Builder& b, const std::string& name, const Tensor& sum, ir::DType result, Pool kind,
              const PoolShape& s) {
  const auto body = [&](std::span<const ir::Var> axes) {
    ir::Expr count = 1;
    for (size_t d = 0; d < s.win.size(); ++d) {
      count = count *
              (kind == Pool::kAverage ? covered(s.win[d], axes[2 + d]) : ir::Expr(s.win[d].kernel));
    }
    return ir::cast(result, ir::load(sum, detail::as_exprs(axes)) / ir::cast(sum.dtype(), count));
  };
  return b.compute(name, s.out, body, s.axes);
}

}  // namespace

Tensor pool(Builder& b, const std::string& name, const Tensor& x, Pool kind,
            const std::vector<int64_t>& kernel, const ConvParams& p) {
  require(x.rank() >= 3, name, "input of rank {}; N C and 1 to 3 spatial dimensions are wanted",
          x.rank());
  require(kind == Pool::kMax || x.dtype().is_float(), name, "average of {}",
          ir::to_string(x.dtype()));
  require(!x.dtype().is_bool(), name, "maximum of bool");
  PoolShape s;
  s.win = detail::windows(name, {x.shape().begin() + 2, x.shape().end()}, kernel, p);
  s.kernel = kernel;
  s.out = {x.shape()[0], x.shape()[1]};
  for (const Window& w : s.win) {
    require(w.before < w.span() && w.after < w.span(), name,
            "padding {} and {} is not smaller than the window of {}", w.before, w.after, w.span());
    s.out.push_back(w.out());
  }
  s.axes = detail::spatial_names(s.win.size());
  s.axes.insert(s.axes.begin(), {"n", "c"});
  s.reduce = detail::kernel_names(s.win.size());
  const ir::Expr edge =
      kind == Pool::kMax ? ir::identity_of(ir::BinaryOp::kMax, x.dtype()) : ir::zero_of(x.dtype());
  const Tensor padded = detail::pad_windows(b, name, x, 2, s.win, edge, s.axes);
  if (kind == Pool::kMax) {
    return window_reduce(b, name, padded, s, ir::BinaryOp::kMax);
  }
  const Tensor sum = window_reduce(b, name + ".sum", padded, s, ir::BinaryOp::kAdd);
  return divide(b, name, sum, x.dtype(), kind, s);
}

}  // namespace tenon::te
