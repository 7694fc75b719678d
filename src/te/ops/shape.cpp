// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "arith/simplify.h"
#include "te/limits.h"
#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {

using detail::require;

Tensor transpose(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> perm) {
  require(perm.size() == x.rank(), name, "a permutation of {} for a tensor of rank {}", perm.size(),
          x.rank());
  std::vector<int64_t> shape;
  std::vector<bool> seen(x.rank(), false);
  for (const int64_t d : perm) {
    require(d >= 0 && d < static_cast<int64_t>(x.rank()) && !seen[static_cast<size_t>(d)], name,
            "{} is out of place in the permutation", d);
    seen[static_cast<size_t>(d)] = true;
    shape.push_back(x.shape()[static_cast<size_t>(d)]);
  }
  return b.compute(name, shape, [&](std::span<const ir::Var> axes) {
    std::vector<ir::Expr> at(x.rank());
    for (size_t i = 0; i < perm.size(); ++i) {
      at[static_cast<size_t>(perm[i])] = axes[i];
    }
    return ir::load(x, at);
  });
}

Tensor reshape(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> shape) {
  const std::string why = shape_error(shape);
  require(why.empty(), name, "{}", why);
  const auto count = [](const std::vector<int64_t>& s) {
    return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>());
  };
  require(count(shape) == count(x.shape()), name, "{} elements cannot become {}", count(x.shape()),
          count(shape));
  return b.compute(name, shape, [&](std::span<const ir::Var> axes) {
    const std::vector<int64_t> strides = ir::row_major_strides(shape);
    arith::Ranges ranges;
    ir::Expr offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      ranges.bind(axes[d], {0, shape[d] - 1});
      offset = offset + axes[d] * ir::Expr(strides[d]);
    }
    const std::vector<int64_t> old = ir::row_major_strides(x.shape());
    std::vector<ir::Expr> at;
    for (size_t d = 0; d < x.rank(); ++d) {
      ir::Expr index = ir::floor_div(offset, old[d]);
      index = d == 0 ? index : ir::floor_mod(index, x.shape()[d]);
      at.push_back(arith::simplify(index, ranges));
    }
    return ir::load(x, at);
  });
}

Tensor concat(Builder& b, const std::string& name, std::vector<Tensor> xs, int64_t dim) {
  require(!xs.empty(), name, "nothing to concatenate");
  const auto at_dim = static_cast<size_t>(detail::normalize_dim(name, dim, xs[0].rank()));
  std::vector<int64_t> shape = xs[0].shape();
  shape[at_dim] = 0;
  for (const Tensor& x : xs) {
    std::vector<int64_t> rest = x.shape();
    require(rest.size() == shape.size(), name, "'{}' has rank {}, not {}", x.name(), rest.size(),
            shape.size());
    require(x.dtype() == xs[0].dtype(), name, "'{}' is {}, not {}", x.name(),
            ir::to_string(x.dtype()), ir::to_string(xs[0].dtype()));
    rest[at_dim] = shape[at_dim];
    require(rest == shape, name, "'{}' differs outside dimension {}", x.name(), at_dim);
    shape[at_dim] += x.shape()[at_dim];
  }
  return b.compute(name, shape, [&](std::span<const ir::Var> axes) {
    int64_t begin = shape[at_dim];
    ir::Expr body;
    for (auto x = xs.rbegin(); x != xs.rend(); ++x) {
      const int64_t end = begin;
      begin -= x->shape()[at_dim];
      std::vector<ir::Expr> at = detail::as_exprs(axes);
      at[at_dim] = at[at_dim] - ir::Expr(begin);
      const ir::Expr part = ir::load(*x, at);
      body = body.defined() ? ir::select(ir::lt(axes[at_dim], end), part, body) : part;
    }
    return body;
  });
}

Tensor slice(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> begin,
             std::vector<int64_t> shape, std::vector<int64_t> step) {
  step.resize(step.empty() ? x.rank() : step.size(), 1);
  require(begin.size() == x.rank() && shape.size() == x.rank() && step.size() == x.rank(), name,
          "a slice of {}, {} and {} numbers for a tensor of rank {}", begin.size(), shape.size(),
          step.size(), x.rank());
  const std::string why = shape_error(shape);
  require(why.empty(), name, "{}", why);
  for (size_t d = 0; d < x.rank(); ++d) {
    const auto inside = [&](int64_t position) {
      require(position >= 0 && position < x.shape()[d], name,
              "position {} of dimension {} is not in 0..{}", position, d, x.shape()[d] - 1);
    };
    require(step[d] >= -kMaxExtent && step[d] <= kMaxExtent, name, "step {} is too large", step[d]);
    inside(begin[d]);
    inside(begin[d] + (shape[d] - 1) * step[d]);
  }
  return b.compute(name, shape, [&](std::span<const ir::Var> axes) {
    std::vector<ir::Expr> at;
    for (size_t d = 0; d < axes.size(); ++d) {
      at.push_back(axes[d] * ir::Expr(step[d]) + ir::Expr(begin[d]));
    }
    return ir::load(x, at);
  });
}

Tensor pad(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> before,
           std::vector<int64_t> after, double value) {
  require(before.size() == x.rank() && after.size() == x.rank(), name,
          "{} and {} paddings for a tensor of rank {}", before.size(), after.size(), x.rank());
  std::vector<int64_t> shape = x.shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    for (const int64_t amount : {before[d], after[d]}) {
      require(amount >= 0 && amount <= kMaxExtent, name, "padding {} is not in 0..2^31", amount);
    }
    shape[d] += before[d] + after[d];
  }
  return detail::pad_with(b, name, x, before, shape, ir::make_const(x.dtype(), value), {});
}

Tensor gather(Builder& b, const std::string& name, const Tensor& x, const Tensor& index,
              int64_t dim) {
  require(index.dtype().is_int(), name, "index '{}' is {}", index.name(),
          ir::to_string(index.dtype()));
  const auto at_dim = static_cast<size_t>(detail::normalize_dim(name, dim, x.rank()));
  const int64_t extent = x.shape()[at_dim];
  std::vector<int64_t> shape = x.shape();
  const auto place = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at_dim));
  shape.insert(place, index.shape().begin(), index.shape().end());
  return b.compute(name, shape, [&](std::span<const ir::Var> axes) {
    const auto chosen = axes.subspan(at_dim, index.rank());
    ir::Expr i = ir::cast(ir::kI64, ir::load(index, detail::as_exprs(chosen)));
    if (index.dtype().is_signed()) {
      i = ir::select(ir::lt(i, 0), i + ir::Expr(extent), i);
    }
    std::vector<ir::Expr> at = detail::as_exprs(axes.first(at_dim));
    at.push_back(ir::min(ir::max(i, 0), extent - 1));
    for (const ir::Var& v : axes.subspan(at_dim + index.rank())) {
      at.emplace_back(v);
    }
    return ir::load(x, at);
  });
}

}  // namespace tenon::te
