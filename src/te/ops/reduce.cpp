// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {

namespace detail {

std::vector<int64_t> normalize_dims(const std::string& name, std::vector<int64_t> dims,
                                    size_t rank) {
  for (int64_t& d : dims) {
    d = normalize_dim(name, d, rank);
  }
  std::sort(dims.begin(), dims.end());
  require(std::adjacent_find(dims.begin(), dims.end()) == dims.end(), name,
          "a dimension is named twice");
  return dims;
}

}  // namespace detail

Tensor reduce_dims(Builder& b, const std::string& name, const Tensor& x, ir::BinaryOp combiner,
                   std::vector<int64_t> dims, bool keep_dims) {
  dims = detail::normalize_dims(name, std::move(dims), x.rank());
  const bool logical = combiner == ir::BinaryOp::kAnd || combiner == ir::BinaryOp::kOr;
  detail::require(logical == x.dtype().is_bool(), name, "this reduction of {}",
                  ir::to_string(x.dtype()));
  if (dims.empty()) {
    return b.compute(name, x.shape(), [&](std::span<const ir::Var> axes) {
      return ir::load(x, detail::as_exprs(axes));
    });
  }
  std::vector<int64_t> shape;
  std::vector<int64_t> reduced;
  std::vector<std::string> names;
  std::vector<std::string> reduce_names;
  std::vector<bool> is_reduced(x.rank());
  for (size_t d = 0; d < x.rank(); ++d) {
    is_reduced[d] = std::binary_search(dims.begin(), dims.end(), static_cast<int64_t>(d));
    if (is_reduced[d]) {
      reduced.push_back(x.shape()[d]);
      reduce_names.push_back("k" + std::to_string(d));
    }
    if (!is_reduced[d] || keep_dims) {
      shape.push_back(is_reduced[d] ? 1 : x.shape()[d]);
      names.push_back("i" + std::to_string(d));
    }
  }
  const bool grows = combiner == ir::BinaryOp::kAdd || combiner == ir::BinaryOp::kMul;
  const auto body = [&](std::span<const ir::Var> axes, std::span<const ir::Var> reduce) {
    std::vector<ir::Expr> at;
    size_t next_axis = 0;
    size_t next_reduce = 0;
    for (size_t d = 0; d < x.rank(); ++d) {
      at.emplace_back(is_reduced[d] ? reduce[next_reduce++] : axes[next_axis]);
      next_axis += !is_reduced[d] || keep_dims ? 1 : 0;
    }
    const ir::Expr value = ir::load(x, at);
    return grows ? ir::cast(detail::sum_type(x.dtype()), value) : value;
  };
  return b.reduce(name, shape, combiner, reduced, body, names, reduce_names);
}

Tensor norm2(Builder& b, const std::string& name, const Tensor& x) {
  detail::require(x.rank() >= 2 && x.dtype().is_float(), name,
                  "a {} tensor of rank {}; floats of rank 2 or more are wanted",
                  ir::to_string(x.dtype()), x.rank());
  const std::vector<int64_t> batch(x.shape().begin(), x.shape().end() - 2);
  const size_t rank = batch.size();
  const auto square = [&](std::span<const ir::Var> axes, std::span<const ir::Var> reduce) {
    std::vector<ir::Expr> at = detail::as_exprs(axes);
    at.insert(at.end(), {reduce[0], reduce[1]});
    return detail::product(name, ir::load(x, at), ir::load(x, at));
  };
  const std::vector<std::string> names =
      rank == 1 ? std::vector<std::string>{"n"} : detail::numbered("n", rank);
  const Tensor sum = b.reduce(name + ".sum", batch, ir::BinaryOp::kAdd,
                              {x.shape()[rank], x.shape()[rank + 1]}, square, names, {"i", "j"});
  return b.compute(
      name, batch,
      [&](std::span<const ir::Var> axes) {
        const ir::Expr root =
            ir::call(ir::Intrinsic::kSqrt, {ir::load(sum, detail::as_exprs(axes))});
        return ir::cast(x.dtype(), root);
      },
      names);
}

}  // namespace tenon::te
