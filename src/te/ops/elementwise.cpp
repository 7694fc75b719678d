// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {
namespace {

std::vector<int64_t> broadcast_shape(const std::string& name, const std::vector<Tensor>& xs) {
  std::vector<int64_t> shape;
  for (const Tensor& x : xs) {
    if (x.rank() > shape.size()) {
      shape.insert(shape.begin(), x.rank() - shape.size(), 1);
    }
    for (size_t d = 0; d < x.rank(); ++d) {
      int64_t& extent = shape[shape.size() - x.rank() + d];
      const int64_t own = x.shape()[d];
      detail::require(extent == own || extent == 1 || own == 1, name,
                      "'{}' cannot be broadcast: extents {} and {} differ", x.name(), own, extent);
      extent = std::max(extent, own);
    }
  }
  return shape;
}

ir::Expr broadcast_load(const Tensor& x, std::span<const ir::Var> axes) {
  std::vector<ir::Expr> at;
  for (size_t d = 0; d < x.rank(); ++d) {
    const ir::Var& axis = axes[axes.size() - x.rank() + d];
    at.push_back(x.shape()[d] == 1 ? ir::Expr(0) : ir::Expr(axis));
  }
  return ir::load(x, at);
}

}  // namespace

Tensor elementwise(Builder& b, const std::string& name, std::vector<Tensor> xs,
                   const std::function<ir::Expr(std::span<const ir::Expr>)>& fn) {
  return b.compute(name, broadcast_shape(name, xs), [&](std::span<const ir::Var> axes) {
    std::vector<ir::Expr> values;
    for (const Tensor& x : xs) {
      values.push_back(broadcast_load(x, axes));
    }
    return fn(values);
  });
}

Tensor relu(Builder& b, const std::string& name, const Tensor& x) {
  detail::require(!x.dtype().is_bool(), name, "relu of bool");
  return elementwise(b, name, {x}, [](std::span<const ir::Expr> v) {
    return ir::max(v[0], ir::zero_of(v[0].dtype()));
  });
}

Tensor gelu(Builder& b, const std::string& name, const Tensor& x) {
  detail::require(x.dtype().is_float(), name, "gelu of {}", ir::to_string(x.dtype()));
  const ir::DType wide = detail::sum_type(x.dtype());
  return elementwise(b, name, {x}, [&](std::span<const ir::Expr> in) {
    const ir::Expr v = ir::cast(wide, in[0]);
    const auto number = [&](double value) { return ir::make_float(wide, value); };
    const ir::Expr erf = ir::call(ir::Intrinsic::kErf, {v * number(std::sqrt(0.5))});
    return ir::cast(x.dtype(), v * number(0.5) * (erf + number(1)));
  });
}

}  // namespace tenon::te
