// SPDX-License-Identifier: Apache-2.0
// Normalisations.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

Drawn operand(Draft& d, Types types, int64_t rank_low, int64_t rank_high) {
  const auto suits = [&](const Drawn& v) {
    return v.data.elements() > 0 && v.rank() >= rank_low && v.rank() <= rank_high &&
           bounded(v.data, -100, 100);
  };
  return d.pick(types, suits,
                [&] { return d.leaf(d.type_among(types), d.shape(rank_low, rank_high)); });
}

Drawn vector(Draft& d, ir::DType t, int64_t n, const Range& range = {}) {
  return d.rng().chance(0.8) ? d.constant(t, {n}, range) : d.input(t, {n}, range);
}

bool batch_norm(Draft& d, const Row& row) {
  const Drawn x = operand(d, row.types, 2, 5);
  const int64_t c = x.extent(1);
  const Names in{x.name, vector(d, x.type(), c).name, vector(d, x.type(), c).name,
                 vector(d, x.type(), c).name, vector(d, x.type(), c, {0.5, 3, false}).name};
  return d.node(row.name(), in, {{"epsilon", 0.01F}});
}

bool instance_norm(Draft& d, const Row& row) {
  const Drawn x = operand(d, row.types, 3, 5);
  const int64_t c = x.extent(1);
  return d.node(row.name(), {x.name, vector(d, x.type(), c).name, vector(d, x.type(), c).name},
                {{"epsilon", 0.01F}});
}

// Scale and bias per group before opset 21, per channel since.
bool group_norm(Draft& d, const Row& row) {
  const Drawn x = operand(d, row.types, 3, 5);
  Ints groups;
  for (int64_t g = 1; g <= x.extent(1); ++g) {
    if (x.extent(1) % g == 0) groups.push_back(g);
  }
  const int64_t g = d.rng().pick(groups);
  const int64_t n = d.opset() < 21 ? g : x.extent(1);
  return d.node(row.name(), {x.name, vector(d, x.type(), n).name, vector(d, x.type(), n).name},
                {{"epsilon", 0.01F}, {"num_groups", g}});
}

bool layer_norm(Draft& d, const Row& row) {
  const Drawn x = operand(d, row.types, 1, 4);
  const int64_t axis = d.plain_axis(x);
  const Shape s(x.shape().begin() + axis, x.shape().end());
  Names in{x.name, d.leaf(x.type(), s).name};
  if (d.rng().chance(0.6)) in.push_back(d.leaf(x.type(), s).name);
  return d.node(row.name(), in, {{"axis", axis}, {"epsilon", 0.01F}},
                x.type() == ir::kF32 && d.rng().chance(0.2) ? 3 : 1);
}

bool mean_variance_norm(Draft& d, const Row& row) {
  const Drawn x = operand(d, row.types, 4, 4);
  return d.node(row.name(), {x.name});
}

const Row kNormRows[] = {
    {"BatchNormalization", 7, 21, kFloats, batch_norm},
    {"GroupNormalization", 18, 21, kFloats, group_norm},
    {"InstanceNormalization", 7, 21, kFloats, instance_norm},
    {"LayerNormalization", 17, 21, kFloats, layer_norm},
    {"MeanVarianceNormalization", 9, 21, kF32, mean_variance_norm},
};

}  // namespace

std::span<const Row> rows_norm() { return kNormRows; }

}  // namespace tenon::graph_fuzz
