// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/random_model.h"

#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

// Small graphs find most and are quick; a few are long.
int64_t number_of_nodes(Rng& rng) {
  const double u = rng.unit();
  if (u < 0.6) return rng.between(3, 10);
  return u < 0.95 ? rng.between(11, 30) : rng.between(31, 70);
}

void add_nodes(Draft& d, const std::vector<const Row*>& rows, int64_t wanted) {
  int64_t nodes = 0;
  for (int64_t tries = 0; nodes < wanted && tries < 4 * wanted + 40; ++tries) {
    const Draft::Mark before = d.mark();
    const Row& row = *d.rng().pick(rows);
    if (row.draw(d, row)) {
      ++nodes;
    } else {
      d.back_to(before);
    }
  }
}

// The negative of an input: a value in memory that the compiler shares.
Drawn computed(Draft& d, const Shape& shape, const Range& range) {
  const Drawn x = d.input(ir::kF32, shape, range);
  return d.node("Neg", {x.name}) ? d.values().back() : x;
}

// A row and a matrix that hundreds of nodes read.
void many_readers(Draft& d) {
  const int64_t n = d.rng().between(2, 5);
  const Drawn matrix = computed(d, {n, n}, {-1.0 / 8, 1.0 / 8, false});
  const Drawn shared = computed(d, {1, n}, {-2, 2, true});
  std::string last = shared.name;
  const int64_t readers = d.rng().between(250, 600);
  const int64_t every = d.rng().between(1, 6);
  for (int64_t i = 0; i < readers; ++i) {
    const std::string& by = i % every == 0 ? matrix.name : shared.name;
    const std::string op = i % every == 0 ? "MatMul" : i % 2 == 0 ? "Add" : "Sub";
    if (!d.node(op, {last, by})) break;
    last = d.values().back().name;
  }
}

// Parts of one value, put together in another order.
void many_parts(Draft& d) {
  const int64_t n = d.rng().between(30, 120);
  const Drawn x = d.input(ir::kF32, {n, d.rng().between(1, 3)});
  const size_t first = d.values().size();
  Attributes a{{"axis", int64_t{0}}};
  if (d.opset() >= 18) a.emplace_back("num_outputs", n);
  if (!d.node("Split", {x.name}, a, static_cast<size_t>(n))) return;
  Names parts;
  for (const int64_t i : d.permutation(n)) {
    parts.push_back(d.values()[first + static_cast<size_t>(i)].name);
  }
  d.node("Concat", parts, {{"axis", d.rng().between(0, 1)}});
}

void long_chain(Draft& d) {
  static const std::vector<std::string> kSteps = {"Relu", "Neg", "Abs", "Tanh", "Transpose"};
  std::string last = d.input(ir::kF32, d.shape(1, 3, 60)).name;
  for (int64_t n = d.rng().between(60, 200); n > 0; --n) {
    if (d.node(d.rng().pick(kSteps), {last})) last = d.values().back().name;
  }
}

}  // namespace

Case draw_case(const Settings& s) {
  Draft d(s);
  const double u = d.rng().unit();
  if (u < 0.008) many_readers(d);
  if (u >= 0.008 && u < 0.012) many_parts(d);
  if (u >= 0.012 && u < 0.018) long_chain(d);
  if (d.rng().chance(0.05)) d.input(ir::kF32, {2, 3});  // perhaps nobody reads it
  const std::vector<const Row*> rows = rows_at(d.opset());
  add_nodes(d, rows, number_of_nodes(d.rng()));
  Case c;
  c.model = d.finish();
  c.inputs = d.inputs();
  return c;
}

}  // namespace tenon::graph_fuzz
