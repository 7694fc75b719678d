// SPDX-License-Identifier: Apache-2.0
// Operators that choose elements by index or by order.
#include <algorithm>
#include <numeric>

#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

// Numbers in [-extent, extent) where negative ones are allowed.
Drawn indices(Draft& d, const Shape& shape, int64_t extent, bool negative) {
  const Range r{negative && d.rng().chance(0.4) ? static_cast<double>(-extent) : 0,
                static_cast<double>(extent - 1), true};
  return d.leaf(d.rng().chance(0.7) ? ir::kI64 : ir::kI32, shape, r);
}

bool gather(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  const int64_t axis = d.plain_axis(x);
  const Drawn i = indices(d, d.shape(0, 2, 12), x.extent(axis), d.opset() >= 11);
  return d.node(row.name(), {x.name, i.name}, {{"axis", axis}});
}

bool gather_elements(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  const int64_t axis = d.plain_axis(x);
  Shape s = x.shape();
  for (int64_t& e : s) e = d.rng().between(1, e);
  const Drawn i = indices(d, s, x.extent(axis), true);
  return d.node(row.name(), {x.name, i.name}, {{"axis", axis}});
}

// The last dimension of the indices goes through the first of the data.
Drawn tuples(Draft& d, const Drawn& x, int64_t many, int64_t depth, int64_t first) {
  ir::Array a(ir::kI64, {many, depth});
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set(i, {d.rng().between(0, x.extent(first + i % depth) - 1), 0});
  }
  return d.constant(a);
}

bool gather_nd(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  const Drawn i = tuples(d, x, d.rng().between(1, 6), d.rng().between(1, x.rank()), 0);
  return d.node(row.name(), {x.name, i.name});
}

// Different indices for each update unless it is a sum.
bool scatter_nd(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  const int64_t many = d.rng().between(1, x.extent(0));
  Ints order = d.permutation(x.extent(0));
  order.resize(static_cast<size_t>(many));
  Shape updates = x.shape();
  updates[0] = many;
  ir::Array i(ir::kI64, {many, 1});
  for (size_t k = 0; k < order.size(); ++k) i.set(static_cast<int64_t>(k), {order[k], 0});
  Attributes a;
  if (d.opset() >= 16 && !x.type().is_bool() && d.rng().chance(0.5)) {
    static const std::vector<std::string> kFolds = {"add", "mul", "max", "min"};
    a.emplace_back("reduction",
                   kFolds[static_cast<size_t>(d.rng().between(0, d.opset() >= 18 ? 3 : 1))]);
  }
  const Names in{x.name, d.constant(i).name, d.leaf(x.type(), updates).name};
  return d.node(row.name(), in, a);
}

bool scatter_elements(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 3);
  const int64_t axis = d.plain_axis(x);
  Shape s = x.shape();
  for (int64_t& e : s) e = d.rng().between(1, e);
  const int64_t n = s[static_cast<size_t>(axis)];
  Ints order = d.permutation(x.extent(axis));
  ir::Array i(ir::kI64, s);
  int64_t inner = 1;
  for (size_t k = static_cast<size_t>(axis) + 1; k < s.size(); ++k) inner *= s[k];
  for (int64_t k = 0; k < i.elements(); ++k) {
    i.set(k, {order[static_cast<size_t>(k / inner % n)], 0});
  }
  const Names in{x.name, d.constant(i).name, d.leaf(x.type(), s).name};
  return d.node(row.name(), in, {{"axis", axis}});
}

bool one_hot(Draft& d, const Row& row) {
  const int64_t depth = d.rng().between(1, 6);
  const Drawn i =
      d.leaf(ir::kI64, d.shape(1, 2, 12),
             {static_cast<double>(d.opset() >= 11 ? -depth : 0), static_cast<double>(depth), true});
  Attributes a;
  if (d.rng().chance(0.5)) a.emplace_back("axis", d.rng().between(0, i.rank()));
  const Names in{i.name, d.int_scalar(depth).name, d.leaf(d.type_among(row.types), {2}).name};
  return d.node(row.name(), in, a);
}

// No two numbers of a row are the same, so that the order is decided.
Drawn distinct(Draft& d, ir::DType t) {
  ir::Array a(t, d.shape(1, 4, 300));
  const Ints order = d.permutation(a.elements());
  const bool fits = t.bits > 8 || a.elements() <= 100;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const auto v = static_cast<double>(order[static_cast<size_t>(i)]);
    a.set_double(i, fits ? v : static_cast<double>(i % 100));
  }
  return d.constant(a);
}

bool top_k(Draft& d, const Row& row) {
  Drawn x = d.rng().chance(0.3) ? distinct(d, d.type_among(row.types)) : d.pick(row.types, 1, 4);
  const int64_t axis = d.plain_axis(x);
  const int64_t k = d.rng().between(1, x.extent(axis));
  Attributes a{{"axis", axis}};
  if (d.opset() < 10) {
    a.emplace_back("k", k);
    return d.node(row.name(), {x.name}, a, 2);
  }
  if (d.opset() >= 11) a.emplace_back("largest", d.rng().between(0, 1));
  return d.node(row.name(), {x.name, d.ints({k}).name}, a, 2);
}

bool arg(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  Attributes a{{"axis", d.axis_of(x)}, {"keepdims", d.rng().between(0, 1)}};
  if (d.opset() >= 12 && d.rng().chance(0.4)) a.emplace_back("select_last_index", int64_t{1});
  return d.node(row.name(), {x.name}, a);
}

bool cum_sum(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  return d.node(row.name(), {x.name, d.int_scalar(d.plain_axis(x)).name},
                {{"exclusive", d.rng().between(0, 1)}, {"reverse", d.rng().between(0, 1)}});
}

bool compress(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  const int64_t axis = d.plain_axis(x);
  ir::Array keep = d.random_array(ir::kBool, {x.extent(axis)}, {});
  keep.set(0, {1, 0});
  return d.node(row.name(), {x.name, d.constant(keep).name}, {{"axis", axis}});
}

bool non_zero(Draft& d, const Row& row) {
  return d.node(row.name(), {d.constant(d.type_among(row.types), d.shape(1, 3, 30)).name});
}

bool unique(Draft& d, const Row& row) {
  const Drawn x = d.constant(d.type_among(row.types), d.shape(1, 1, 30), {-4, 4, true});
  return d.node(row.name(), {x.name}, {{"sorted", int64_t{1}}},
                static_cast<size_t>(d.rng().between(1, 4)));
}

const Row kIndexRows[] = {
    {"ArgMax", 7, 21, kNumbers, arg},
    {"ArgMin", 7, 21, kNumbers, arg},
    {"Compress", 9, 21, kAll, compress},
    {"CumSum", 11, 13, kF32 | kF64 | kWide, cum_sum},
    {"CumSum", 14, 21, kFloats | kWide, cum_sum},
    {"Gather", 7, 21, kAll, gather},
    {"GatherElements", 11, 21, kAll, gather_elements},
    {"GatherND", 11, 21, kAll, gather_nd},
    {"NonZero", 9, 21, kAll, non_zero},
    {"OneHot", 9, 21, kNumbers, one_hot},
    {"Scatter", 9, 10, kAll, scatter_elements},
    {"ScatterElements", 11, 21, kAll, scatter_elements},
    {"ScatterND", 11, 21, kAll, scatter_nd},
    {"TopK", 7, 10, kFloats, top_k},
    {"TopK", 11, 21, kNumbers, top_k},
    {"Unique", 11, 21, kNumbers, unique},
};

}  // namespace

std::span<const Row> rows_index() { return kIndexRows; }

}  // namespace tenon::graph_fuzz
