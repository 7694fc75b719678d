// SPDX-License-Identifier: Apache-2.0
#include "bench/compile/shapes.h"

#include <fmt/format.h>

#include "zoo/model_builder.h"

namespace tenon::bench {
namespace {

using zoo::Element;
using zoo::ModelBuilder;
using zoo::Shape;
using zoo::Tensor;

constexpr int kOpset = 13;
constexpr uint64_t kSeed = 1;
const Shape kMatrix = {8, 8};

std::string name_of(const char* what, int64_t i) { return fmt::format("{}.{}", what, i); }

// `step` makes the next value of a chain from the last one; it adds `nodes_each` nodes.
template <class Step>
std::string chain(int64_t nodes, int64_t nodes_each, const Step& step) {
  ModelBuilder m("chain", kOpset, kSeed);
  const Tensor x = m.input("x", Element::kFloat, kMatrix);
  Tensor y = x;
  for (int64_t i = 0; i * nodes_each < nodes; ++i) y = step(m, x, y, i);
  m.output(y, "y");
  return m.bytes();
}

std::string write_maps(int64_t nodes) {
  return chain(nodes, 2, [](ModelBuilder& m, const Tensor&, const Tensor& y, int64_t i) {
    const Tensor a = m.node("Abs", name_of("abs", i), {y}, kMatrix);
    return m.node("Relu", name_of("relu", i), {a}, kMatrix);
  });
}

std::string write_affine(int64_t nodes) {
  ModelBuilder m("affine", kOpset, kSeed);
  Tensor y = m.input("x", Element::kFloat, kMatrix);
  const Tensor c = m.weight("c", {8}, 1);
  for (int64_t i = 0; i < nodes; ++i) y = m.node("Add", name_of("add", i), {y, c}, kMatrix);
  m.output(y, "y");
  return m.bytes();
}

// Half of the nodes read the model's input.
std::string write_readers(int64_t nodes) {
  return chain(nodes, 2, [](ModelBuilder& m, const Tensor& x, const Tensor& y, int64_t i) {
    const Tensor sum = m.node("Add", name_of("add", i), {y, x}, kMatrix);
    return m.node("Relu", name_of("relu", i), {sum}, kMatrix);
  });
}

// Every other value is read twice: written out in full, a chain doubles with each of them.
std::string write_twice(int64_t nodes) {
  return chain(nodes, 2, [](ModelBuilder& m, const Tensor&, const Tensor& y, int64_t i) {
    const Tensor s = m.node("Relu", name_of("relu", i), {y}, kMatrix);
    return m.node("Mul", name_of("mul", i), {s, s}, kMatrix);
  });
}

std::string write_moves(int64_t nodes) {
  return chain(nodes, 3, [](ModelBuilder& m, const Tensor&, const Tensor& y, int64_t i) {
    const Tensor turned =
        m.node("Transpose", name_of("turn", i), {y}, kMatrix, {{"perm", Shape{1, 0}}});
    const Tensor flat =
        m.node("Reshape", name_of("flat", i), {turned, m.ints(name_of("to", i), {64})}, {64});
    return m.node("Reshape", name_of("back", i), {flat, m.ints(name_of("from", i), {8, 8})},
                  kMatrix);
  });
}

std::string write_products(int64_t nodes) {
  ModelBuilder m("products", kOpset, kSeed);
  Tensor y = m.input("x", Element::kFloat, kMatrix);
  const Tensor w = m.weight("w", kMatrix, 0.3);
  for (int64_t i = 0; 2 * i < nodes; ++i) {
    y = m.node("MatMul", name_of("product", i), {y, w}, kMatrix);
    y = m.node("Relu", name_of("relu", i), {y}, kMatrix);
  }
  m.output(y, "y");
  return m.bytes();
}

// Products of two activations with a constant factor in front of each.
std::string write_scaled(int64_t nodes) {
  ModelBuilder m("scaled", kOpset, kSeed);
  const Tensor x = m.input("x", Element::kFloat, kMatrix);
  Tensor y = x;
  const Tensor half = m.scalar("half", 0.5);
  for (int64_t i = 0; 2 * i < nodes; ++i) {
    y = m.node("Mul", name_of("scale", i), {y, half}, kMatrix);
    y = m.node("MatMul", name_of("product", i), {y, x}, kMatrix);
  }
  m.output(y, "y");
  return m.bytes();
}

// One Split, as many Relus as it has parts, one Concat.
std::string write_parts(int64_t nodes) {
  const int64_t parts = nodes / 2;
  ModelBuilder m("parts", kOpset, kSeed);
  const Tensor x = m.input("x", Element::kFloat, {parts, 4});
  std::vector<Tensor> out =
      m.nodes("Split", "split", {x}, std::vector<Shape>(static_cast<size_t>(parts), Shape{1, 4}),
              {{"axis", int64_t{0}}});
  for (int64_t i = 0; i < parts; ++i) {
    Tensor& part = out[static_cast<size_t>(i)];
    part = m.node("Relu", name_of("relu", i), {part}, {1, 4});
  }
  m.output(m.node("Concat", "concat", out, {parts, 4}, {{"axis", int64_t{0}}}), "y");
  return m.bytes();
}

// As many outputs as nodes.
std::string write_outputs(int64_t nodes) {
  ModelBuilder m("outputs", kOpset, kSeed);
  Tensor y = m.input("x", Element::kFloat, kMatrix);
  for (int64_t i = 0; i < nodes; ++i) {
    y = m.node(i % 2 == 0 ? "Relu" : "Abs", name_of("map", i), {y}, kMatrix);
    m.output(y, y.name);
  }
  return m.bytes();
}

// One LSTM; a step is about four nodes.
std::string write_recurrence(int64_t nodes) {
  const int64_t steps = std::max<int64_t>(1, nodes / 4);
  ModelBuilder m("recurrence", kOpset, kSeed);
  const Tensor x = m.input("x", Element::kFloat, {steps, 1, 8});
  const Tensor w = m.weight("w", {1, 32, 8}, 0.3);
  const Tensor r = m.weight("r", {1, 32, 8}, 0.3);
  const auto out =
      m.nodes("LSTM", "lstm", {x, w, r}, {{steps, 1, 1, 8}}, {{"hidden_size", int64_t{8}}});
  m.output(out[0], "y");
  return m.bytes();
}

constexpr int64_t kAny = INT64_MAX;
constexpr ChainShape kShapes[] = {
    {"maps", "element-wise maps behind each other", kAny, write_maps},
    {"affine", "additions of a constant", kAny, write_affine},
    {"readers", "maps that all read one value too", kAny, write_readers},
    {"twice", "maps that read the one before twice", kAny, write_twice},
    {"moves", "transposes and reshapes", kAny, write_moves},
    {"products", "small matrix products with constants", kAny, write_products},
    {"scaled", "scaled products of activations", kAny, write_scaled},
    {"parts", "one Split and one Concat", kAny, write_parts},
    {"outputs", "maps that are all outputs too", kAny, write_outputs},
    {"recurrence", "an LSTM of many steps", 16'000, write_recurrence},
};

}  // namespace

std::span<const ChainShape> chain_shapes() { return kShapes; }

}  // namespace tenon::bench
