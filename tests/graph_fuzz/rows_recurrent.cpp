// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: short ones in any form, and now and then a tiny one with hundreds of steps.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

struct Sizes {
  int64_t steps, batch, input, hidden, directions, gates;
};

Drawn sequence(Draft& d, const Row& row, bool is_long) {
  const auto suits = [&](const Drawn& v) {
    return !is_long && v.data.elements() > 0 && v.rank() == 3 && v.extent(0) <= 6 &&
           v.extent(2) <= 9 && v.extent(1) <= 4 && bounded(v.data, -10, 10);
  };
  return d.pick(row.types, suits, [&] {
    if (is_long) return d.input(ir::kF32, {d.rng().between(120, 300), 1, d.rng().between(1, 2)});
    const Shape s{d.rng().between(1, 5), d.rng().between(1, 3), d.rng().between(1, 6)};
    return d.leaf(d.type_among(row.types), s);
  });
}

Names weights(Draft& d, const Sizes& z, ir::DType t) {
  const Range r{-0.5, 0.5, false};
  Names in{d.constant(t, {z.directions, z.gates * z.hidden, z.input}, r).name,
           d.constant(t, {z.directions, z.gates * z.hidden, z.hidden}, r).name};
  const bool biased = d.rng().chance(0.6);
  in.push_back(biased ? d.constant(t, {z.directions, 2 * z.gates * z.hidden}, r).name : "");
  return in;
}

// Lengths of the sequences, the initial state, the initial cell, peepholes: each may be left out.
void optional_operands(Draft& d, const Sizes& z, ir::DType t, bool lstm, Names& in) {
  const Shape state{z.directions, z.batch, z.hidden};
  const auto longest = static_cast<double>(z.steps);
  in.push_back(d.rng().chance(0.2) ? d.leaf(ir::kI32, {z.batch}, {1, longest, true}).name : "");
  in.push_back(d.rng().chance(0.4) ? d.leaf(t, state).name : "");
  if (lstm) {
    in.push_back(d.rng().chance(0.4) ? d.leaf(t, state).name : "");
    in.push_back(d.rng().chance(0.2) ? d.constant(t, {z.directions, 3 * z.hidden}).name : "");
  }
  while (in.back().empty()) in.pop_back();
}

bool recurrent(Draft& d, const Row& row) {
  const bool is_long = d.rng().chance(0.04);
  const Drawn x = sequence(d, row, is_long);
  static const std::vector<std::string> kDirections = {"forward", "reverse", "bidirectional"};
  const std::string direction = d.rng().pick(kDirections);
  const bool lstm = row.op == "LSTM", gru = row.op == "GRU";
  const Sizes z{x.extent(0),
                x.extent(1),
                x.extent(2),
                d.rng().between(1, is_long ? 2 : 6),
                direction == "bidirectional" && !is_long ? 2 : 1,
                lstm  ? 4
                : gru ? 3
                      : 1};
  Names in{x.name};
  for (const std::string& w : weights(d, z, x.type())) in.push_back(w);
  optional_operands(d, z, x.type(), lstm, in);
  Attributes a{{"hidden_size", z.hidden}};
  if (z.directions == 2 || direction == "reverse") a.emplace_back("direction", direction);
  if (gru && d.rng().chance(0.5)) a.emplace_back("linear_before_reset", int64_t{1});
  if (d.rng().chance(0.15)) a.emplace_back("clip", 1.5F);
  std::vector<bool> wanted{true, d.rng().chance(0.6)};
  if (lstm) wanted.push_back(d.rng().chance(0.5));
  while (!wanted.back()) wanted.pop_back();
  return d.node_with(row.name(), in, a, wanted);
}

const Row kRecurrentRows[] = {
    {"GRU", 7, 21, kF32 | kF64, recurrent},
    {"LSTM", 7, 21, kF32 | kF64, recurrent},
    {"RNN", 7, 21, kF32 | kF64, recurrent},
};

}  // namespace

std::span<const Row> rows_recurrent() { return kRecurrentRows; }

}  // namespace tenon::graph_fuzz
