// SPDX-License-Identifier: Apache-2.0
// Operators on numbers stored as small integers.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

// Powers of two: quotients are exact, and what falls on a half is decided.
Drawn scale(Draft& d, const Shape& s = {}) {
  ir::Array a(ir::kF32, s);
  static const std::vector<double> kScales = {0.0625, 0.125, 0.25, 0.5, 1};
  for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, d.rng().pick(kScales));
  return d.constant(a);
}

Drawn zero(Draft& d, ir::DType t, const Shape& s = {}) { return d.constant(t, s, {-3, 6, true}); }

ir::DType byte(Draft& d) { return d.rng().chance(0.5) ? ir::kU8 : ir::kI8; }

Drawn operand(Draft& d, Types types, int64_t rank_low, int64_t rank_high) {
  const auto suits = [&](const Drawn& v) {
    return v.data.elements() > 0 && v.rank() >= rank_low && v.rank() <= rank_high &&
           bounded(v.data, -1000, 1000);
  };
  return d.pick(types, suits, [&] {
    return d.leaf(d.type_among(types), d.shape(rank_low, rank_high), {-20, 20, false});
  });
}

Drawn of_shape(Draft& d, ir::DType t, const Shape& s) {
  const auto suits = [&](const Drawn& v) { return v.shape() == s; };
  return d.pick(set_of(t), suits, [&] { return d.leaf(t, s, {-9, 20, true}); });
}

// One scale for all, or one for each place of an axis.
bool quantize(Draft& d, const Row& row) {
  const Drawn x = operand(d, row.types, 1, 4);
  const bool to = row.op == "QuantizeLinear";
  Shape s;
  Attributes a;
  if (d.opset() >= 13 && d.rng().chance(0.4)) {
    const int64_t axis = d.axis_of(x);
    a.emplace_back("axis", axis);
    s = {x.extent(axis < 0 ? axis + x.rank() : axis)};
  }
  Names in{x.name, scale(d, s).name};
  const ir::DType t = to ? byte(d) : x.type();
  if (d.rng().chance(0.7) && t != ir::kI32) in.push_back(zero(d, t, s).name);
  return d.node(row.name(), in, a);
}

bool dynamic_quantize(Draft& d, const Row& row) {
  return d.node(row.name(), {operand(d, row.types, 1, 4).name}, {}, 3);
}

bool matmul_integer(Draft& d, const Row& row) {
  const Drawn a = operand(d, row.types, 2, 3);
  const Drawn b = of_shape(d, byte(d), {a.extent(a.rank() - 1), d.rng().between(1, 9)});
  Names in{a.name, b.name};
  if (d.rng().chance(0.5)) in.push_back(zero(d, a.type()).name);
  if (in.size() == 3 && d.rng().chance(0.5)) in.push_back(zero(d, b.type()).name);
  return d.node(row.name(), in);
}

bool qlinear_matmul(Draft& d, const Row& row) {
  const Drawn a = operand(d, row.types, 2, 3);
  const Drawn b = of_shape(d, byte(d), {a.extent(a.rank() - 1), d.rng().between(1, 9)});
  return d.node(row.name(), {a.name, scale(d).name, zero(d, a.type()).name, b.name, scale(d).name,
                             zero(d, b.type()).name, scale(d).name, zero(d, byte(d)).name});
}

struct Filter {
  Drawn x, w;
};

Filter filter(Draft& d, const Row& row) {
  const Drawn x = operand(d, row.types, 4, 4);
  Shape s{d.rng().between(1, 5), x.extent(1), 1, 1};
  for (int64_t i = 2; i < 4; ++i) {
    s[static_cast<size_t>(i)] = d.rng().between(1, std::min<int64_t>(3, x.extent(i)));
  }
  return {x, of_shape(d, byte(d), s)};
}

bool conv_integer(Draft& d, const Row& row) {
  const Filter f = filter(d, row);
  Names in{f.x.name, f.w.name};
  if (d.rng().chance(0.5)) in.push_back(zero(d, f.x.type()).name);
  return d.node(row.name(), in);
}

bool qlinear_conv(Draft& d, const Row& row) {
  const Filter f = filter(d, row);
  const Shape per = d.rng().chance(0.4) ? Shape{f.w.extent(0)} : Shape{};
  Names in{f.x.name,      scale(d).name,        zero(d, f.x.type()).name,
           f.w.name,      scale(d, per).name,   zero(d, f.w.type(), per).name,
           scale(d).name, zero(d, byte(d)).name};
  if (d.rng().chance(0.5))
    in.push_back(d.constant(ir::kI32, {f.w.extent(0)}, {-50, 50, true}).name);
  return d.node(row.name(), in);
}

constexpr Types kBytes = kI8 | kU8;

const Row kQuantizedRows[] = {
    {"ConvInteger", 10, 21, kBytes, conv_integer},
    {"DequantizeLinear", 10, 21, kBytes | kI32, quantize},
    {"DynamicQuantizeLinear", 11, 21, kF32, dynamic_quantize},
    {"MatMulInteger", 10, 21, kBytes, matmul_integer},
    {"QLinearConv", 10, 21, kBytes, qlinear_conv},
    {"QLinearMatMul", 10, 21, kBytes, qlinear_matmul},
    {"QuantizeLinear", 10, 21, kF32, quantize},
};

}  // namespace

std::span<const Row> rows_quantized() { return kQuantizedRows; }

}  // namespace tenon::graph_fuzz
