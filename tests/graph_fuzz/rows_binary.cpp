// SPDX-License-Identifier: Apache-2.0
// Operators on two or more tensors, element by element, with numpy's broadcasting.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

bool binary(Draft& d, const Row& row) {
  Drawn a = d.pick(row.types);
  Drawn b = d.partner(a);
  if (d.rng().chance(0.5)) std::swap(a, b);
  return d.node(row.name(), {a.name, b.name});
}

// The second operand is never 0, nor small where that makes large numbers.
bool quotient(Draft& d, const Row& row) {
  const Drawn a = d.pick(row.types);
  const Drawn b = d.partner(a, Range{1, 9, false});
  return d.node(row.name(), {a.name, b.name});
}

bool mod(Draft& d, const Row& row) {
  const Drawn a = d.pick(row.types);
  const Drawn b = d.partner(a, Range{1, 9, false});
  Attributes attributes;
  if (a.type().is_float() || d.rng().chance(0.3)) attributes.emplace_back("fmod", int64_t{1});
  return d.node(row.name(), {a.name, b.name}, attributes);
}

bool pow(Draft& d, const Row& row) {
  const Drawn a = d.pick(
      row.types, [](const Drawn& v) { return bounded(v.data, 0.1, 20); },
      [&] {
        return d.leaf(d.type_among(row.types), d.shape(0, 4), {1, 4, false});
      });
  if (!d.rng().chance(0.5)) {
    const Drawn e = d.partner(a, Range{0, 3, false});
    return d.node(row.name(), {a.name, e.name});
  }
  ir::Array e(a.type(), {});
  static const std::vector<double> kExponents = {0.5, 1, 2, 3, -1, -0.5, 0};
  e.set_double(0, a.type().is_float() ? d.rng().pick(kExponents) : 2);
  return d.node(row.name(), {a.name, d.constant(e).name});
}

bool bit_shift(Draft& d, const Row& row) {
  const Drawn a = d.pick(row.types);
  const Drawn b = d.partner(a, Range{0, 7, true});
  return d.node(row.name(), {a.name, b.name},
                {{"direction", std::string(d.rng().chance(0.5) ? "LEFT" : "RIGHT")}});
}

bool variadic(Draft& d, const Row& row) {
  const Drawn first = d.pick(row.types);
  Names in{first.name};
  Shape shape = first.shape();
  for (int64_t n = d.rng().chance(0.05) ? 12 : d.rng().between(0, 3); n > 0; --n) {
    const Drawn next = d.partner(shape, set_of(first.type()));
    in.push_back(next.name);
    shape = broadcast(shape, next.shape());
  }
  return d.node(row.name(), in);
}

// Conditions that are known are all true, all false, or both.
Drawn condition(Draft& d, const Drawn& x) {
  if (!d.rng().chance(0.3)) return d.partner(x.shape(), kBool);
  ir::Array known = d.random_array(ir::kBool, d.rng().chance(0.5) ? Shape{} : x.shape(), {});
  if (d.rng().chance(0.7)) {
    const ir::Scalar all{d.rng().between(0, 1), 0};
    for (int64_t i = 0; i < known.elements(); ++i) known.set(i, all);
  }
  return d.constant(known);
}

bool where(Draft& d, const Row& row) {
  const Drawn a = d.pick(row.types);
  const Drawn c = condition(d, a);
  const Drawn b = d.partner(broadcast(a.shape(), c.shape()), set_of(a.type()));
  return d.node(row.name(), {c.name, a.name, b.name});
}

// The second operand decides the result: a known true or false.
bool logic(Draft& d, const Row& row) {
  const Drawn a = d.pick(row.types);
  const Drawn b =
      d.rng().chance(0.15) ? d.constant(d.random_array(ir::kBool, {}, {})) : d.partner(a);
  return d.node(row.name(), {a.name, b.name});
}

// By a known 0 or 1 at times: such products vanish when compiled.
bool product(Draft& d, const Row& row) {
  if (!d.rng().chance(0.1)) return binary(d, row);
  const Drawn a = d.pick(row.types);
  ir::Array k(a.type(), {});
  k.set_double(0, static_cast<double>(d.rng().between(0, 1)));
  return d.node(row.name(), {a.name, d.constant(k).name});
}

bool prelu(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  Shape slope = x.shape();
  for (int64_t& e : slope) e = d.rng().chance(0.5) ? 1 : e;
  slope.erase(slope.begin(), slope.begin() + d.rng().between(0, x.rank() - 1));
  return d.node(row.name(), {x.name, d.leaf(x.type(), slope).name});
}

const Row kBinaryRows[] = {
    {"Add", 7, 13, kFloats | kWide, binary},
    {"Add", 14, 21, kNumbers | kBF16, binary},
    {"And", 7, 21, kBool, logic},
    {"BitShift", 11, 21, kUnsigned, bit_shift},
    {"BitwiseAnd", 18, 21, kInts, binary},
    {"BitwiseOr", 18, 21, kInts, binary},
    {"BitwiseXor", 18, 21, kInts, binary},
    {"Div", 7, 13, kFloats | kWide, quotient},
    {"Div", 14, 21, kNumbers, quotient},
    {"Equal", 7, 10, kBool | kI32 | kI64, binary},
    {"Equal", 11, 21, kAll, binary},
    {"Greater", 7, 8, kFloats, binary},
    {"Greater", 9, 21, kNumbers, binary},
    {"GreaterOrEqual", 12, 21, kNumbers, binary},
    {"Less", 7, 8, kFloats, binary},
    {"Less", 9, 21, kNumbers, binary},
    {"LessOrEqual", 12, 21, kNumbers, binary},
    {"Max", 8, 11, kFloats, variadic},
    {"Max", 12, 21, kNumbers, variadic},
    {"Mean", 8, 21, kFloats, variadic},
    {"Min", 8, 11, kFloats, variadic},
    {"Min", 12, 21, kNumbers, variadic},
    {"Mod", 10, 21, kNumbers, mod},
    {"Mul", 7, 13, kFloats | kWide, product},
    {"Mul", 14, 21, kNumbers | kBF16, product},
    {"Or", 7, 21, kBool, logic},
    {"PRelu", 7, 8, kFloats, prelu},
    {"PRelu", 9, 21, kFloats | kWide, prelu},
    {"Pow", 7, 11, kFloats, pow},
    {"Pow", 12, 21, kFloats | kI32 | kI64, pow},
    {"Sub", 7, 13, kFloats | kWide, binary},
    {"Sub", 14, 21, kNumbers, binary},
    {"Sum", 8, 21, kFloats, variadic},
    {"Where", 9, 21, kAll, where},
    {"Xor", 7, 21, kBool, logic},
};

}  // namespace

std::span<const Row> rows_binary() { return kBinaryRows; }

}  // namespace tenon::graph_fuzz
