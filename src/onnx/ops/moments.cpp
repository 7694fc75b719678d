// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/moments.h"

#include "onnx/ops/emit.h"

namespace tenon::onnx {

Moments moments(Convert& c, ValueId x, const std::vector<int64_t>& axes) {
  const ir::DType t = wide(c.b().dtype(x));
  double count = 1;
  for (const int64_t a : axes) {
    count *= static_cast<double>(c.b().shape(x)[static_cast<size_t>(a)]);
  }
  const auto mean_of = [&](te::Builder& b, const std::string& name, const te::Tensor& v) {
    const te::Tensor sum = te::reduce_dims(b, name + ".sum", v, ir::BinaryOp::kAdd, axes, true);
    return te::elementwise(b, name, {sum},
                           [&](Args e) { return ir::cast(t, e[0]) / ir::make_float(t, count); });
  };
  const ValueId mean = c.b().compute(
      "mean", {x}, [&](te::Builder& b, Tensors in) { return mean_of(b, "mean", in[0]); });
  const ValueId variance = c.b().compute("variance", {x, mean}, [&](te::Builder& b, Tensors in) {
    const te::Tensor squares = te::elementwise(b, "variance.squares", {in[0], in[1]}, [&](Args e) {
      const ir::Expr d = ir::cast(t, e[0]) - e[1];
      return d * d;
    });
    return mean_of(b, "variance", squares);
  });
  return {mean, variance};
}

}  // namespace tenon::onnx
