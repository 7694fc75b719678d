// SPDX-License-Identifier: Apache-2.0
#include "te/quantize.h"

#include "ir/equal.h"
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

namespace {

// Where the result for x lies: 0 for the lowest integer.
ir::Expr place(const ir::Expr& x) {
  const ir::Expr i = ir::cast(ir::kI64, x);
  return x.dtype().is_signed() ? i + ir::Expr(kTableEntries / 2) : i;
}

}  // namespace

Tensor look_up(Builder& b, const std::string& name, const Tensor& x, const Tensor& table) {
  detail::require(x.dtype().is_int() && x.dtype().bits == 8, name, "'{}' is {}", x.name(),
                  ir::to_string(x.dtype()));
  detail::require(table.shape() == std::vector<int64_t>{kTableEntries}, name,
                  "'{}' has not {} entries", table.name(), kTableEntries);
  return b.compute(name, x.shape(), [&](std::span<const ir::Var> axes) {
    return ir::load(table, {place(ir::load(x, detail::as_exprs(axes)))});
  });
}

bool is_look_up(const ir::Load& l) {
  if (l.buffer.shape() != std::vector<int64_t>{kTableEntries}) return false;
  const ir::Expr& index = l.indices[0];
  const auto* sum = index.as<ir::Binary>();
  const auto* wide = (sum == nullptr ? index : sum->a).as<ir::Cast>();
  if (wide == nullptr) return false;
  const ir::DType t = wide->value.dtype();
  return t.is_int() && t.bits == 8 && ir::equal(index, place(wide->value));
}

}  // namespace tenon::te
