// SPDX-License-Identifier: Apache-2.0
// Operators on one tensor, element by element.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

Drawn operand(Draft& d, const Row& row) {
  return d.pick(
      row.types, [&](const Drawn& v) { return bounded(v.data, row.range.low, row.range.high); },
      [&] {
        const Range r{std::max(row.range.low, -3.0), std::min(row.range.high, 3.0), false};
        return d.leaf(d.type_among(row.types), d.shape(0, 4), r);
      });
}

bool unary(Draft& d, const Row& row) { return d.node(row.name(), {operand(d, row).name}); }

// Takes NaN and infinities as they come.
bool unary_any(Draft& d, const Row& row) { return d.node(row.name(), {d.pick(row.types).name}); }

float alpha(Draft& d) { return static_cast<float>(d.rng().between(1, 20)) / 8; }

bool with_alpha(Draft& d, const Row& row) {
  Attributes a;
  if (d.rng().chance(0.7)) a.emplace_back("alpha", alpha(d));
  return d.node(row.name(), {d.pick(row.types).name}, a);
}

bool hard_sigmoid(Draft& d, const Row& row) {
  Attributes a;
  if (d.rng().chance(0.5)) a.emplace_back("alpha", alpha(d) / 4);
  if (d.rng().chance(0.5)) a.emplace_back("beta", alpha(d) / 4);
  return d.node(row.name(), {d.pick(row.types).name}, a);
}

bool selu(Draft& d, const Row& row) {
  Attributes a;
  if (d.rng().chance(0.5)) a.emplace_back("alpha", alpha(d));
  if (d.rng().chance(0.5)) a.emplace_back("gamma", alpha(d));
  return d.node(row.name(), {operand(d, row).name}, a);
}

bool shrink(Draft& d, const Row& row) {
  Attributes a{{"lambd", alpha(d)}};
  if (d.rng().chance(0.5)) a.emplace_back("bias", alpha(d));
  return d.node(row.name(), {d.pick(row.types).name}, a);
}

bool gelu(Draft& d, const Row& row) {
  Attributes a;
  if (d.rng().chance(0.6)) {
    a.emplace_back("approximate", std::string(d.rng().chance(0.5) ? "tanh" : "none"));
  }
  return d.node(row.name(), {operand(d, row).name}, a);
}

bool is_inf(Draft& d, const Row& row) {
  Attributes a;
  if (d.rng().chance(0.4)) a.emplace_back("detect_negative", d.rng().between(0, 1));
  if (d.rng().chance(0.4)) a.emplace_back("detect_positive", d.rng().between(0, 1));
  return d.node(row.name(), {d.pick(row.types).name}, a);
}

// Bounds as attributes.
bool clip_6(Draft& d, const Row& row) {
  Attributes a;
  if (d.rng().chance(0.7)) a.emplace_back("min", -alpha(d));
  if (d.rng().chance(0.7)) a.emplace_back("max", alpha(d));
  return d.node(row.name(), {d.pick(row.types).name}, a);
}

// Bounds as operands, either left out or known only when it runs.
bool clip_11(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types);
  Names in{x.name, "", ""};
  if (d.rng().chance(0.7)) in[1] = d.leaf(x.type(), {}, {-2, 0, true}).name;
  if (d.rng().chance(0.7)) in[2] = d.leaf(x.type(), {}, {1, 3, true}).name;
  while (in.back().empty()) in.pop_back();
  return d.node(row.name(), in);
}

// What does not fit into the type is undefined.
bool castable(const Drawn& x, ir::DType to) {
  if (to.is_float()) return to != ir::kF16 || bounded(x.data, -6e4, 6e4) || x.type() == ir::kF16;
  if (to.is_bool()) return bounded(x.data, -1e30, 1e30);
  return bounded(x.data, to.is_signed() || !x.type().is_float() ? -100 : 0, 100);
}

bool cast(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types);
  const ir::DType to = d.type_among(d.rng().chance(0.4) ? kFloats : kAll);
  if (!castable(x, to)) return false;
  return d.node(row.name(), {x.name}, {{"to", int64_t{onnx_number(to)}}});
}

bool cast_like(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types);
  const Drawn like = d.pick(kAll);
  if (!castable(x, like.type())) return false;
  return d.node(row.name(), {x.name, like.name});
}

bool dropout_7(Draft& d, const Row& row) {
  return d.node(row.name(), {d.pick(row.types).name}, {{"ratio", 0.3F}},
                static_cast<size_t>(d.rng().between(1, 2)));
}

bool dropout_12(Draft& d, const Row& row) {
  Names in{d.pick(row.types).name};
  if (d.rng().chance(0.5)) in.push_back(d.constant(ir::kF32, {}, {0.1, 0.9, false}).name);
  return d.node(row.name(), in, {}, static_cast<size_t>(d.rng().between(1, 2)));
}

constexpr Range kUnit{-1, 1, false};
constexpr Range kPositive{0.01, 1000, false};
constexpr Range kExponent{-8, 6, false};
constexpr Range kAngle{-20, 20, false};

const Row kUnaryRows[] = {
    {"Abs", 7, 21, kNumbers, unary_any},
    {"Acos", 7, 21, kFloats, unary, kUnit},
    {"Acosh", 9, 21, kFloats, unary, {1, 1000, false}},
    {"Asin", 7, 21, kFloats, unary, kUnit},
    {"Asinh", 9, 21, kFloats, unary},
    {"Atan", 7, 21, kFloats, unary},
    {"Atanh", 9, 21, kFloats, unary, {-0.95, 0.95, false}},
    {"BitwiseNot", 18, 21, kInts, unary_any},
    {"Cast", 7, 21, kAll, cast},
    {"CastLike", 15, 21, kAll, cast_like},
    {"Ceil", 7, 21, kFloats, unary_any},
    {"Celu", 12, 21, kF32, with_alpha},
    {"Clip", 7, 10, kFloats, clip_6},
    {"Clip", 11, 11, kFloats, clip_11},
    {"Clip", 12, 21, kNumbers, clip_11},
    {"Cos", 7, 21, kFloats, unary, kAngle},
    {"Cosh", 9, 21, kFloats, unary, kExponent},
    {"Dropout", 7, 11, kFloats, dropout_7},
    {"Dropout", 12, 21, kFloats, dropout_12},
    {"Elu", 7, 21, kFloats, with_alpha},
    {"Erf", 9, 21, kFloats, unary},
    {"Exp", 7, 21, kFloats, unary, kExponent},
    {"Floor", 7, 21, kFloats, unary_any},
    {"Gelu", 20, 21, kFloats, gelu},
    {"HardSigmoid", 7, 21, kFloats, hard_sigmoid},
    {"HardSwish", 14, 21, kFloats, unary_any},
    {"Identity", 7, 21, kAll, unary_any},
    {"IsInf", 10, 19, kF32 | kF64, is_inf},
    {"IsInf", 20, 21, kFloats, is_inf},
    {"IsNaN", 9, 21, kFloats, unary_any},
    {"LeakyRelu", 7, 21, kFloats, with_alpha},
    {"Log", 7, 21, kFloats, unary, kPositive},
    {"Mish", 18, 21, kFloats, unary},
    {"Neg", 7, 21, kFloats | kSigned, unary_any},
    {"Not", 7, 21, kBool, unary_any},
    {"Reciprocal", 7, 21, kFloats, unary, kPositive},
    {"Relu", 7, 13, kFloats, unary_any},
    {"Relu", 14, 21, kFloats | kSigned, unary_any},
    {"Round", 11, 21, kFloats, unary_any},
    {"Selu", 7, 21, kFloats, selu},
    {"Shrink", 9, 21, kFloats | kSigned, shrink},
    {"Sigmoid", 7, 21, kFloats, unary_any},
    {"Sign", 9, 21, kNumbers, unary_any},
    {"Sin", 7, 21, kFloats, unary, kAngle},
    {"Sinh", 9, 21, kFloats, unary, kExponent},
    {"Softplus", 7, 21, kFloats, unary_any},
    {"Softsign", 7, 21, kFloats, unary_any},
    {"Sqrt", 7, 21, kFloats, unary, {0, 1000, false}},
    {"Tan", 7, 21, kFloats, unary, kUnit},
    {"Tanh", 7, 21, kFloats, unary_any},
    {"ThresholdedRelu", 10, 21, kFloats, with_alpha},
};

}  // namespace

std::span<const Row> rows_unary() { return kUnaryRows; }

}  // namespace tenon::graph_fuzz
