// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/linear.h"

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

std::vector<ValueId> convert_matmul(Convert& c) {
  require_same_type(c, {c.input(0), c.input(1)});
  ValueId a = c.input(0), b = c.input(1);
  if (c.rank(0) == 0 || c.rank(1) == 0) refuse("a scalar is not a matrix");
  // A vector counts as a matrix of one row or one column, which the result does not have.
  const bool row = c.rank(0) == 1, column = c.rank(1) == 1;
  if (row) a = c.b().reshape(a, {1, c.shape(0)[0]});
  if (column) b = c.b().reshape(b, {c.shape(1)[0], 1});
  ValueId y = multiply(c, a, b, graph::MatMul{});
  Shape shape = c.b().shape(y);
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return {c.b().reshape(y, shape)};
}

std::vector<ValueId> convert_gemm(Convert& c) {
  if (c.rank(0) != 2 || c.rank(1) != 2) {
    refuse("operands of {} and {} dimensions; matrices are wanted", c.rank(0), c.rank(1));
  }
  require_same_type(c, {c.input(0), c.input(1)});
  const graph::MatMul op{c.int_or("transA", 0) != 0, c.int_or("transB", 0) != 0};
  const double alpha = c.float_or("alpha", 1), beta = c.float_or("beta", 1);
  const ValueId y = multiply(c, c.input(0), c.input(1), op);
  const auto times = [](const Expr& x, double factor) {
    return factor == 1 ? x : in_wide(x, [&](const Expr& e) {
      return e.dtype().is_float()
                 ? e * number(e, factor)
                 : ir::cast(e.dtype(), ir::cast(ir::kF64, e) * ir::make_float(ir::kF64, factor));
    });
  };
  if (!c.has_input(2) || beta == 0) {
    if (alpha == 1) return {y};
    return {c.b().elementwise("gemm.scale", {y}, [&](Args x) { return times(x[0], alpha); })};
  }
  require_same_type(c, {y, c.input(2)});
  if (broadcast_shapes({c.b().shape(y), c.shape(2)}) != c.b().shape(y)) {
    refuse("the bias is larger than the result");
  }
  ValueId bias = c.input(2);
  // On its own, so that a known bias is scaled now.
  if (beta != 1) {
    bias = c.b().elementwise("gemm.beta", {bias}, [&](Args x) { return times(x[0], beta); });
  }
  return {c.b().elementwise("bias", {y, bias}, [&](Args x) { return times(x[0], alpha) + x[1]; })};
}

// Gaussian elimination with pivots; each step leaves a matrix that is one row and column smaller.
te::Tensor determinants(te::Builder& b, const te::Tensor& x, int64_t batch, int64_t n) {
  te::Tensor m = x;  // [batch, size, size]
  te::Tensor det;
  for (int64_t size = n; size >= 1; --size) {
    const std::string step = "det.s" + std::to_string(n - size);
    const auto magnitude = [&](const Expr& i, const Expr& row) {
      return ir::call(ir::Intrinsic::kAbs, {ir::load(m, {i, row, 0})});
    };
    const te::Tensor top = b.reduce(step + ".top", {batch}, ir::BinaryOp::kMax, {size},
                                    [&](Axes a, Axes r) { return magnitude(a[0], r[0]); });
    const te::Tensor pivot =
        b.reduce(step + ".pivot", {batch}, ir::BinaryOp::kMin, {size}, [&](Axes a, Axes r) {
          return ir::select(ir::eq(magnitude(a[0], r[0]), ir::load(top, {a[0]})), r[0], size - 1);
        });
    const auto pivot_row = [&](const Expr& i) {
      return ir::min(ir::max(ir::load(pivot, {i}), 0), size - 1);
    };
    const te::Tensor before = det;
    det = b.compute(size == 1 ? "det" : step + ".det", {batch}, [&](Axes a) {
      const Expr p = pivot_row(a[0]);
      const Expr v = ir::load(m, {a[0], p, 0});
      const Expr signed_v = ir::select(ir::eq(p, 0), v, -v);
      return before.defined() ? ir::load(before, {a[0]}) * signed_v : signed_v;
    });
    if (size == 1) break;
    m = b.compute(step, {batch, size - 1, size - 1}, [&, m](Axes a) {
      const Expr p = pivot_row(a[0]);
      // Row 0 has changed places with the pivot's.
      const Expr row = ir::select(ir::eq(a[1] + Expr(1), p), Expr(0), a[1] + Expr(1));
      const Expr head = ir::load(m, {a[0], p, 0});
      const Expr zero = ir::zero_of(head.dtype());
      const Expr factor = ir::select(ir::eq(head, zero), zero, ir::load(m, {a[0], row, 0}) / head);
      const Expr column = a[2] + Expr(1);
      return ir::load(m, {a[0], row, column}) - factor * ir::load(m, {a[0], p, column});
    });
  }
  return det;
}

std::vector<ValueId> convert_det(Convert& c) {
  const ir::DType t = c.dtype(0);
  require_float(t);
  if (t != wide(t)) refuse("{} is not supported", ir::to_string(t));
  Shape shape = c.shape(0);
  const size_t rank = shape.size();
  if (rank < 2 || shape[rank - 1] != shape[rank - 2]) refuse("the matrices are not square");
  const int64_t n = shape.back();
  if (n > 128) refuse("determinants of more than 128 rows are not supported");
  shape.resize(rank - 2);
  const int64_t batch = count_elements(shape);
  if (batch == 0 || n == 0) refuse("an input without elements");
  const ValueId x = c.b().reshape(c.input(0), {batch, n, n});
  const ValueId y = c.b().compute(
      "det", {x}, [&](te::Builder& b, Tensors in) { return determinants(b, in[0], batch, n); });
  return {c.b().reshape(y, shape)};
}

constexpr Row kLinearRows[] = {
    {"", "Det", 11, convert_det},
    {"", "Einsum", 12, convert_einsum},
    {"", "Gemm", 1, convert_gemm},
    {"", "MatMul", 1, convert_matmul},
};

}  // namespace

ValueId multiply(Convert& c, ValueId a, ValueId b, const graph::MatMul& op) {
  if (is_empty(c, a) || is_empty(c, b)) {
    const Shape& sa = c.b().shape(a);
    const Shape& sb = c.b().shape(b);
    Shape shape =
        broadcast_shapes({Shape(sa.begin(), sa.end() - 2), Shape(sb.begin(), sb.end() - 2)});
    const size_t ra = sa.size(), rb = sb.size();
    if (sa[op.trans_a ? ra - 2 : ra - 1] != sb[op.trans_b ? rb - 1 : rb - 2]) {
      refuse("the matrices do not fit each other");
    }
    shape.push_back(sa[op.trans_a ? ra - 1 : ra - 2]);
    shape.push_back(sb[op.trans_b ? rb - 2 : rb - 1]);
    return filled(c, c.b().dtype(a), shape, 0.0);
  }
  return c.b().add("matmul", op, {a, b});
}

std::span<const Row> rows_linear() { return kLinearRows; }

}  // namespace tenon::onnx
