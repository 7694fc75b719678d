// SPDX-License-Identifier: Apache-2.0
#include "templates/case_tables.h"

#include "te/ops.h"
#include "te/quantize.h"

namespace tenon::templates {
namespace {

te::ComputeDag typed_conv_dag(ir::DType t, int64_t groups) {
  te::Builder b;
  const auto x = b.input("X", t, {1, 16, 6, 5});
  const auto w = b.constant("W", t, {16, 16 / groups, 3, 3});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, groups});
  b.output(te::elementwise(b, "O", {y}, [t](auto v) { return ir::cast(t, v[0]); }));
  return b.finish();
}

te::ComputeDag typed_matmul_dag(ir::DType t) {
  te::Builder b;
  const auto x = b.input("X", t, {9, 20});
  const auto w = b.constant("W", t, {20, 19});
  b.output(te::matmul(b, "Y", x, w));
  return b.finish();
}

te::ComputeDag typed_pool_dag(ir::DType t) {
  te::Builder b;
  const auto x = b.input("X", t, {1, 18, 6, 9});
  b.output(te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

te::ComputeDag typed_softmax_dag(ir::DType t) {
  te::Builder b;
  b.output(te::softmax(b, "Y", b.input("X", t, {5, 70})));
  return b.finish();
}

te::ComputeDag typed_sum_dag(ir::DType t) {
  te::Builder b;
  const auto x = b.input("X", t, {2, 20, 4, 3});
  const auto y = b.input("Y", t, {2, 20, 4, 3});
  b.output(te::elementwise(
      b, "Z", {x, y}, [](auto v) { return ir::select(ir::lt(v[0], v[1]), v[0], v[0] + v[1]); }));
  return b.finish();
}

// A function of the 8-bit result of an integer convolution.
te::ComputeDag look_up_dag(ir::DType t) {
  te::Builder b;
  const auto x = b.input("X", ir::kU8, {1, 16, 6, 5});
  const auto w = b.constant("W", ir::kI8, {24, 16, 3, 3});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
  const auto low = te::elementwise(b, "L", {y}, [t](auto v) { return ir::cast(t, v[0]); });
  b.output(te::look_up(b, "O", low, b.constant("T", t, {te::kTableEntries})));
  return b.finish();
}

te::ComputeDag bool_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {2, 20, 4, 3});
  const auto y = b.input("Y", ir::kBool, {2, 20, 4, 3});
  const auto z = te::elementwise(b, "Z", {x, y}, [](auto v) {
    return ir::logical_and(v[1], ir::lt(v[0], ir::make_float(ir::kF32, 0.25)));
  });
  b.output(te::reduce_dims(b, "A", z, ir::BinaryOp::kOr, {3}, false));
  return b.finish();
}

}  // namespace

std::vector<Case> typed_cases() {
  std::vector<Case> all;
  const std::pair<const char*, ir::DType> kTypes[] = {
      {"f16", ir::kF16}, {"bf16", ir::kBF16}, {"f64", ir::kF64}, {"i8", ir::kI8},
      {"u8", ir::kU8},   {"i32", ir::kI32},   {"i64", ir::kI64}};
  for (const auto& [name, t] : kTypes) {
    const std::string n = name;
    const ir::DType type = t;
    all.push_back({"", "conv_" + n, [type] { return typed_conv_dag(type, 1); }});
    all.push_back({"", "depthwise_" + n, [type] { return typed_conv_dag(type, 16); }});
    all.push_back({"", "matmul_" + n, [type] { return typed_matmul_dag(type); }});
    all.push_back({"", "pool_" + n, [type] { return typed_pool_dag(type); }});
    all.push_back({"", "sum_" + n, [type] { return typed_sum_dag(type); }});
    if (type.is_float())
      all.push_back({"", "softmax_" + n, [type] { return typed_softmax_dag(type); }});
  }
  for (const ir::DType t : {ir::kU8, ir::kI8}) {
    all.push_back({"", "look_up_" + ir::to_string(t), [t] { return look_up_dag(t); }});
  }
  all.push_back({"", "bool", [] { return bool_dag(); }});
  return all;
}

}  // namespace tenon::templates
