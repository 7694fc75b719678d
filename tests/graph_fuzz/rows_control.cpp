// SPDX-License-Identifier: Apache-2.0
// If with a condition that is known or not, Loop with a number of trips that is known or not, Scan.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

// A few element-wise steps from `from`, which may be a name of the graph around; the last one gives `to`.
void steps(Draft& d, proto::GraphProto& g, const std::string& from, const std::string& other,
           const std::string& to) {
  static const std::vector<std::string> kUnary = {"Neg", "Abs", "Identity"};
  static const std::vector<std::string> kBinary = {"Add", "Sub"};
  std::string last = from;
  const int64_t many = d.rng().between(1, 3);
  for (int64_t i = 0; i < many; ++i) {
    const std::string name = i + 1 == many ? to : to + "_" + std::to_string(i);
    *g.add_node() = d.rng().chance(0.5)
                        ? make_node(d.rng().pick(kUnary), {last}, {name}, {})
                        : make_node(d.rng().pick(kBinary), {last, other}, {name}, {});
    last = name;
  }
}

std::string unique_name(Draft& d, const std::string& stem) {
  return stem + std::to_string(d.rng().next() % 1000000007);
}

proto::GraphProto branch(Draft& d, const Drawn& x, const Drawn& y) {
  proto::GraphProto g;
  g.set_name("branch");
  const std::string out = unique_name(d, "branch_");
  steps(d, g, x.name, y.name, out);
  *g.add_output() = make_info(out, x.data);
  return g;
}

bool choice(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types), y = d.leaf(x.type(), x.shape());
  ir::Array known(ir::kBool, {});
  known.set(0, {d.rng().between(0, 1), 0});
  const Drawn condition =
      d.rng().chance(0.5) ? d.constant(known) : d.input(ir::kBool, {}, {0, 1, true, true});
  return d.node(row.name(), {condition.name},
                {{"then_branch", branch(d, x, y)}, {"else_branch", branch(d, y, x)}});
}

// (trip, condition, state) -> (condition, state, what is collected)
bool loop(Draft& d, const Row& row) {
  const Drawn x = d.pick(
      row.types, [](const Drawn& v) { return v.data.elements() > 0 && v.data.elements() <= 200; },
      [&] { return d.leaf(d.type_among(row.types), d.shape(0, 3, 60)); });
  const Drawn outer = d.leaf(x.type(), x.shape());
  const std::string stem = unique_name(d, "body_");
  const bool collects = d.rng().chance(0.5);
  ir::Array yes(ir::kBool, {}), trips(ir::kI64, {});
  yes.set(0, {1, 0});
  trips.set(0, {d.rng().between(1, d.rng().chance(0.05) ? 40 : 4), 0});
  proto::GraphProto g;
  g.set_name("body");
  *g.add_input() = make_info(stem + "_trip", trips);
  *g.add_input() = make_info(stem + "_go", yes);
  *g.add_input() = make_info(stem + "_in", x.data);
  *g.add_node() = make_node("Identity", {stem + "_go"}, {stem + "_on"}, {});
  steps(d, g, stem + "_in", outer.name, stem + "_out");
  if (collects) *g.add_node() = make_node("Abs", {stem + "_out"}, {stem + "_kept"}, {});
  *g.add_output() = make_info(stem + "_on", yes);
  *g.add_output() = make_info(stem + "_out", x.data);
  if (collects) *g.add_output() = make_info(stem + "_kept", x.data);
  // Rows of a number of trips that is not known have no known size.
  const Drawn count = collects || d.rng().chance(0.5) ? d.constant(trips)
                                                      : d.input(ir::kI64, {}, {0, 4, true, true});
  return d.node(row.name(), {count.name, d.constant(yes).name, x.name}, {{"body", g}},
                collects ? 2 : 1);
}

// (state, element) -> (state, element)
bool scan(Draft& d, const Row& row) {
  const Drawn x = d.pick(
      row.types,
      [](const Drawn& v) {
        return v.data.elements() > 0 && v.rank() >= 1 && v.rank() <= 3 && v.extent(0) <= 9;
      },
      [&] { return d.leaf(d.type_among(row.types), d.shape(1, 3, 60)); });
  const ir::Array element(x.type(), Shape(x.shape().begin() + 1, x.shape().end()));
  const Drawn state = d.leaf(x.type(), element.shape());
  const std::string stem = unique_name(d, "scan_");
  proto::GraphProto g;
  g.set_name("body");
  *g.add_input() = make_info(stem + "_in", element);
  *g.add_input() = make_info(stem + "_x", element);
  *g.add_node() = make_node("Add", {stem + "_in", stem + "_x"}, {stem + "_sum"}, {});
  steps(d, g, stem + "_sum", stem + "_x", stem + "_out");
  *g.add_node() = make_node("Identity", {stem + "_out"}, {stem + "_kept"}, {});
  *g.add_output() = make_info(stem + "_out", element);
  *g.add_output() = make_info(stem + "_kept", element);
  Attributes a{{"num_scan_inputs", int64_t{1}}, {"body", g}};
  if (d.rng().chance(0.3)) a.emplace_back("scan_input_directions", Ints{1});
  if (d.rng().chance(0.3)) a.emplace_back("scan_output_directions", Ints{1});
  return d.node(row.name(), {state.name, x.name}, a, 2);
}

constexpr Types kSubgraph = kFloats | kI32 | kI64;

const Row kControlRows[] = {
    {"If", 7, 21, kSubgraph, choice},
    {"Loop", 11, 21, kSubgraph, loop},
    {"Scan", 9, 21, kSubgraph, scan},
};

}  // namespace

std::span<const Row> rows_control() { return kControlRows; }

}  // namespace tenon::graph_fuzz
