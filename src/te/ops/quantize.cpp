// SPDX-License-Identifier: Apache-2.0
#include "te/quantize.h"

#include "te/ops/detail.h"

namespace tenon::te {
namespace {

std::vector<Tensor> operands(const Tensor& x, const Tensor& scale, const Tensor& zero) {
  return zero.defined() ? std::vector<Tensor>{x, scale, zero} : std::vector<Tensor>{x, scale};
}

}  // namespace

ir::Expr saturated(const ir::Expr& v, const ir::Expr& zero, ir::DType t) {
  ir::Expr whole = ir::call(ir::Intrinsic::kRound, {v});
  if (zero.defined()) {
    whole = whole + ir::cast(v.dtype(), zero);
  }
  const auto bound = [&](int64_t limit) {
    return ir::make_const(v.dtype(), static_cast<double>(limit));
  };
  return ir::cast(t, ir::min(ir::max(whole, bound(ir::lowest_int(t))), bound(ir::highest_int(t))));
}

Tensor quantize(Builder& b, const std::string& name, const Tensor& x, const Tensor& scale,
                const Tensor& zero, ir::DType to, ir::DType precision) {
  return elementwise(b, name, operands(x, scale, zero), [&](std::span<const ir::Expr> v) {
    return saturated(ir::cast(precision, v[0]) / ir::cast(precision, v[1]),
                     v.size() > 2 ? v[2] : ir::Expr(), to);
  });
}

Tensor dequantize(Builder& b, const std::string& name, const Tensor& x, const Tensor& scale,
                  const Tensor& zero, ir::DType to) {
  const ir::DType wide = detail::sum_type(to);
  return elementwise(b, name, operands(x, scale, zero), [&](std::span<const ir::Expr> v) {
    ir::Expr whole = ir::cast(ir::kI32, v[0]);
    if (v.size() > 2) {
      whole = whole - ir::cast(ir::kI32, v[2]);
    }
    return ir::cast(to, ir::cast(wide, whole) * ir::cast(wide, v[1]));
  });
}

}  // namespace tenon::te
