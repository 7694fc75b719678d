// SPDX-License-Identifier: Apache-2.0
// Models of a few bytes that once took minutes or gigabytes. Each is compiled and right, or refused with its node's name;
// the test's limit of time is a small part of what they took.
#include <gtest/gtest.h>

#include <algorithm>

#include "compile/compile.h"
#include "compile/run.h"
#include "graph/define.h"
#include "onnx/import.h"
#include "zoo/model_builder.h"

namespace tenon::onnx {
namespace {

std::string file(const std::string& name) { return std::string(TENON_ONNX_CORPUS) + "/" + name; }

artifact::Program compiled(graph::Graph g) {
  compile::Options options;
  options.target = target::host_target();
  return compile::compile(std::move(g), "hostile", options);
}

ir::Array counting(const graph::Shape& shape) {
  ir::Array a(ir::kF32, shape);
  for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, static_cast<double>(i));
  return a;
}

TEST(Bounds, ALoopOf4096AdditionsIsCompiled) {
  const artifact::Program p = compiled(import_file(file("loop-of-additions.onnx")).graph);
  EXPECT_LT(p.kernels.size(), 20u);
  const ir::Array y = compile::run(p, {counting({8})})[0];
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(y.get_double(i), 4096 + static_cast<double>(i));
}

// More turns than are written out: the body is there once.
TEST(Bounds, ALongerLoopStaysALoop) {
  const artifact::Program p = compiled(import_file(file("loop-beyond-the-limit.onnx")).graph);
  EXPECT_LT(p.kernels.size(), 20u);
  const ir::Array y = compile::run(p, {counting({8})})[0];
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(y.get_double(i), 5000 + static_cast<double>(i));
}

// A window of 2147483647 channels over four.
TEST(Bounds, AWindowLargerThanTheTensorLooksAtTheTensor) {
  const graph::Graph g = import_file(file("lrn-of-all-channels.onnx")).graph;
  const std::vector<ir::Array> x{counting({1, 4, 3, 3})};
  const ir::Array want = graph::evaluate(g, x)[0];
  const ir::Array got = compile::run(compiled(g), x)[0];
  for (int64_t i = 0; i < want.elements(); ++i) {
    EXPECT_NEAR(got.get_double(i), want.get_double(i), 1e-5 * static_cast<double>(i + 1));
    EXPECT_NEAR(want.get_double(i), static_cast<double>(i), 1e-5 * static_cast<double>(i + 1));
  }
}

// Two constants of 4000 x 4000 that are made by the model, multiplied: left to run time.
TEST(Bounds, ALargeProductOfConstantsIsNotFolded) {
  const artifact::Program p = compiled(import_file(file("product-of-made-constants.onnx")).graph);
  const bool left = std::any_of(p.kernels.begin(), p.kernels.end(),
                                [](const artifact::Kernel& k) { return k.flops > 1e11; });
  EXPECT_TRUE(left) << p.kernels.size() << " kernels";
}

// Every part has a kernel of its own no more.
TEST(Bounds, ASplitIntoManyPartsHasFewKernels) {
  constexpr int64_t kParts = 20'000;
  zoo::ModelBuilder m("split", 13, 1);
  const zoo::Tensor x = m.input("x", zoo::Element::kFloat, {kParts, 2});
  const auto parts = m.nodes("Split", "parts", {x}, std::vector<zoo::Shape>(kParts, {1, 2}),
                             {{"axis", int64_t{0}}});
  for (const zoo::Tensor& part : parts) m.output(part, part.name);
  const artifact::Program p = compiled(import_bytes(m.bytes(), "").graph);
  EXPECT_EQ(p.steps.size(), static_cast<size_t>(kParts));
  EXPECT_EQ(p.kernels.size(), 1u);
  const ir::Array data = counting({kParts, 2});
  const auto y = compile::run(p, {data});
  for (const int64_t i : {int64_t{0}, int64_t{1}, kParts / 2, kParts - 1}) {
    EXPECT_EQ(y[static_cast<size_t>(i)].get_double(0), static_cast<double>(2 * i));
    EXPECT_EQ(y[static_cast<size_t>(i)].get_double(1), static_cast<double>(2 * i + 1));
  }
}

TEST(Bounds, AConcatOfManyPartsHasFewKernels) {
  constexpr int64_t kParts = 12'000;
  zoo::ModelBuilder m("concat", 13, 1);
  const zoo::Tensor x = m.input("x", zoo::Element::kFloat, {2});
  const std::vector<zoo::Tensor> parts(kParts, x);
  m.output(m.node("Concat", "all", parts, {2 * kParts}, {{"axis", int64_t{0}}}), "y");
  const artifact::Program p = compiled(import_bytes(m.bytes(), "").graph);
  EXPECT_LT(p.kernels.size(), 20u);
  const ir::Array y = compile::run(p, {counting({2})})[0];
  for (int64_t i = 0; i < 2 * kParts; ++i) ASSERT_EQ(y.get_double(i), static_cast<double>(i % 2));
}

// One expression would be as deep as there are operands.
TEST(Bounds, ASumOfManyOperandsIsNotOneExpression) {
  zoo::ModelBuilder m("sum", 13, 1);
  const zoo::Tensor x = m.input("x", zoo::Element::kFloat, {3});
  m.output(m.node("Sum", "sum", std::vector<zoo::Tensor>(9000, x), {3}), "y");
  const ir::Array y = compile::run(compiled(import_bytes(m.bytes(), "").graph), {counting({3})})[0];
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(y.get_double(i), 9000 * static_cast<double>(i));
}

}  // namespace
}  // namespace tenon::onnx
