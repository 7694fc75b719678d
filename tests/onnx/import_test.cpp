// SPDX-License-Identifier: Apache-2.0
#include "onnx/import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "graph/define.h"
#include "onnx/op_run.h"
#include "onnx/text_model.h"

namespace tenon::onnx {
namespace {

using testing::import_text;
using testing::node;
using testing::refusal;
using testing::value;

std::string graph_of(const std::string& body) { return "graph { name: \"g\"\n" + body + "}"; }

std::string relu_of(const std::string& dims) {
  return graph_of(value("input", "x", dims) + node("Relu", "x", "y") + value("output", "y", dims));
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Import, SupportedIsSorted) {
  const auto all = supported();
  EXPECT_GT(all.size(), 100U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.domain, a.op, a.since) < std::tie(b.domain, b.op, b.since);
  }));
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end(),
                               [](const auto& a, const auto& b) {
                                 return std::tie(a.domain, a.op, a.since) ==
                                        std::tie(b.domain, b.op, b.since);
                               }),
            all.end());
}

TEST(Import, NamesComeFromTheModel) {
  const Imported m = import_text(
      graph_of(value("input", "image", "1 3") + node("Relu", "image", "hidden", "name: \"act\"") +
               node("Neg", "hidden", "score") + value("output", "score", "1 3") +
               value("output", "image", "1 3")));
  const graph::Graph& g = m.graph;
  ASSERT_EQ(g.inputs.size(), 1U);
  EXPECT_EQ(g.value(g.inputs[0]).name, "image");
  EXPECT_EQ(g.output_names, (std::vector<std::string>{"score", "image"}));
  EXPECT_EQ(g.value(g.outputs[0]).name, "score");
  EXPECT_EQ(g.outputs[1], g.inputs[0]);
  ASSERT_EQ(g.nodes.size(), 2U);
  EXPECT_EQ(g.nodes[0].nodes, std::vector<std::string>{"act"});
  EXPECT_EQ(g.nodes[1].nodes, std::vector<std::string>{"score"});
}

TEST(Import, OneValueMayBeSeveralOutputs) {
  const Imported m = import_text(graph_of(value("input", "x", "2") + node("Relu", "x", "a") +
                                          node("Identity", "a", "b") + value("output", "a", "2") +
                                          value("output", "b", "2")));
  EXPECT_EQ(m.graph.outputs[0], m.graph.outputs[1]);
  EXPECT_EQ(m.graph.output_names, (std::vector<std::string>{"a", "b"}));
}

TEST(Import, NodesMayStandInAnyOrder) {
  const Imported m = import_text(graph_of(value("input", "x", "2") + node("Neg", "b", "c") +
                                          node("Relu", "x", "a") + node("Exp", "a", "b") +
                                          value("output", "c", "2")));
  ir::Array x(ir::kF32, {2});
  x.set_double(0, 1);
  x.set_double(1, -1);
  const auto y = graph::evaluate(m.graph, {x});
  EXPECT_NEAR(y[0].get_double(0), -2.718281828, 1e-6);
  EXPECT_EQ(y[0].get_double(1), -1);
}

TEST(Import, DescribesTheModel) {
  const Imported m = import_text(
      R"(producer_name: "pytorch" producer_version: "2.1" ir_version: 7
         opset_import { domain: "" version: 13 })" +
      graph_of(R"(initializer { name: "w" dims: 3 data_type: 1 float_data: [1, 2, 3] })" +
               value("input", "x", "2 3") + node("Mul", "x w", "a") + node("Mul", "a w", "b") +
               node("Relu", "b", "y") + value("output", "y", "2 3")));
  EXPECT_EQ(m.info.name, "g");
  EXPECT_EQ(m.info.producer, "pytorch 2.1");
  EXPECT_EQ(m.info.ir_version, 7);
  EXPECT_EQ(m.info.opset, 13);
  EXPECT_EQ(m.info.nodes, 3);
  EXPECT_EQ(m.info.parameters, 3);
  EXPECT_EQ(m.info.ops, (std::map<std::string, int64_t>{{"Mul", 2}, {"Relu", 1}}));
}

// ---- inputs -----------------------------------------------------------------------------------

TEST(Import, DimensionsAreGivenByName) {
  const std::string text = relu_of("batch 3 size");
  EXPECT_TRUE(says(refusal(text), "--dims batch=1")) << refusal(text);
  const Imported m =
      import_text(text, {.dims = {{"batch", 2}, {"size", 5}}, .shapes = {}, .bound = {}});
  EXPECT_EQ(m.graph.value(m.graph.inputs[0]).shape, (graph::Shape{2, 3, 5}));
  const std::string unknown = refusal(text, {.dims = {{"bach", 2}}, .shapes = {}, .bound = {}});
  EXPECT_TRUE(says(unknown, "no dimension 'bach'") && says(unknown, "batch, size")) << unknown;
  EXPECT_TRUE(says(refusal(text, {.dims = {{"batch", -2}, {"size", 1}}, .shapes = {}, .bound = {}}),
                   "negative"));
}

TEST(Import, ShapesAreGivenByInput) {
  const std::string text = graph_of(value("input", "a", "n 3") + value("input", "b", "n 3") +
                                    node("Add", "a b", "y") + value("output", "y", "n 3"));
  ImportOptions o;
  o.shapes["a"] = {4, 3};
  const Imported m = import_text(text, o);  // n is 4 for b, too
  EXPECT_EQ(m.graph.value(m.graph.inputs[1]).shape, (graph::Shape{4, 3}));
  o.shapes["a"] = {4, 2};
  EXPECT_TRUE(says(refusal(text, o), "shape 4x2 does not fit n x 3")) << refusal(text, o);
  o.shapes["a"] = {4, 3};
  o.shapes["b"] = {5, 3};
  EXPECT_TRUE(says(refusal(text, o), "does not fit"));
  o.shapes = {{"c", {1}}};
  EXPECT_TRUE(says(refusal(text, o), "no input 'c'"));
}

TEST(Import, OpenShapesAreAskedFor) {
  EXPECT_TRUE(says(refusal(relu_of("? 3")), "--shape x:"));
  const std::string text = graph_of(R"(input { name: "x" type { tensor_type { elem_type: 1 } } })" +
                                    node("Relu", "x", "y") + value("output", "y", "1"));
  EXPECT_TRUE(says(refusal(text), "no shape")) << refusal(text);
  ImportOptions o;
  o.shapes["x"] = {2, 2};
  EXPECT_EQ(refusal(text, o), "");
}

TEST(Import, BoundInputsBecomeConstants) {
  const std::string text = graph_of(value("input", "x", "6") + value("input", "shape", "2", 7) +
                                    node("Reshape", "x shape", "y") + value("output", "y", "2 3"));
  EXPECT_TRUE(says(refusal(text), "--bind shape=")) << refusal(text);
  ImportOptions o;
  o.bound["shape"] = testing::ints({2, 3});
  const Imported m = import_text(text, o);
  EXPECT_EQ(m.graph.inputs.size(), 1U);
  EXPECT_EQ(m.graph.value(m.graph.outputs[0]).shape, (graph::Shape{2, 3}));
  o.bound["shape"] = testing::floats({2, 3});
  EXPECT_TRUE(says(refusal(text, o), "bound to elements of")) << refusal(text, o);
  o.bound["shape"] = testing::ints({2, 3, 1});
  EXPECT_TRUE(says(refusal(text, o), "does not fit")) << refusal(text, o);
}

TEST(Import, InitializersAreNoInputs) {
  const std::string text =
      graph_of(R"(initializer { name: "w" dims: 2 data_type: 1 float_data: [1, 2] })" +
               value("input", "x", "2") + value("input", "w", "2") + node("Add", "x w", "y") +
               value("output", "y", "2"));
  const Imported m = import_text(text);
  EXPECT_EQ(m.graph.inputs.size(), 1U);
  ImportOptions o;  // a default may be replaced
  o.bound["w"] = ir::Array(ir::kF32, {2});
  const auto y = graph::evaluate(import_text(text, o).graph, {ir::Array(ir::kF32, {2})});
  EXPECT_EQ(y[0].get_double(1), 0);
}

// ---- what is reported -------------------------------------------------------------------------

std::vector<std::string> problem_nodes(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / "tenon_import_test.onnx";
  std::ofstream(file, std::ios::binary) << testing::model_bytes(text);
  std::vector<std::string> names;
  for (const Problem& p : check_file(file.string()).problems) {
    names.push_back(p.node);
    EXPECT_FALSE(p.reason.empty());
  }
  std::filesystem::remove(file);
  return names;
}

TEST(Check, ReportsEveryNodeOnceInOnePass) {
  // b and e are unknown; c and d depend on b; d is wrong in itself, which only its type can tell.
  const std::string body =
      value("input", "x", "2 3") + node("Relu", "x", "a") + node("Mystery", "a", "b") +
      node("Exp", "b", "c") +
      node("Einsum", "c", "d", "attribute { name: \"equation\" type: STRING s: \"?\" }") +
      node("Riddle", "c", "e") + value("output", "d", "2 3") + value("output", "e", "2 3");
  EXPECT_EQ(problem_nodes(graph_of(body)), (std::vector<std::string>{"b", "e"}));
  EXPECT_EQ(problem_nodes(graph_of(body + value("value_info", "b", "2 3"))),
            (std::vector<std::string>{"b", "d", "e"}));
}

TEST(Check, LooksIntoBranches) {
  const std::string text = graph_of(
      R"(initializer { name: "yes" data_type: 9 int32_data: 1 })" + value("input", "x", "2") +
      node("If", "yes", "y",
           "attribute { name: \"then_branch\" type: GRAPH g { name: \"t\"\n" +
               node("Mystery", "x", "inner") + value("output", "inner", "2") +
               "} } attribute { name: \"else_branch\" type: GRAPH g { name: \"e\"\n" +
               node("Neg", "x", "other") + value("output", "other", "2") + "} }") +
      node("Relu", "y", "z") + value("output", "z", "2"));
  EXPECT_EQ(problem_nodes(text), std::vector<std::string>{"y/inner"});
}

TEST(Check, PassesOnWhatImportPasses) {
  EXPECT_EQ(problem_nodes(relu_of("2 3")), std::vector<std::string>{});
}

TEST(Check, SaysDomainAndOpset) {
  const std::string text =
      "opset_import { version: 17 } opset_import { domain: \"com.microsoft\" version: 1 }" +
      graph_of(value("input", "x", "2") + node("FusedGelu", "x", "y", "domain: \"com.microsoft\"") +
               value("output", "y", "2"));
  try {
    import_text(text);
    FAIL();
  } catch (const ImportError& e) {
    ASSERT_EQ(e.problems().size(), 1U);
    EXPECT_EQ(e.problems()[0].domain, "com.microsoft");
    EXPECT_EQ(e.problems()[0].op, "FusedGelu");
    EXPECT_EQ(e.problems()[0].opset, 1);
    EXPECT_TRUE(says(e.what(), "1 node cannot be imported")) << e.what();
  }
}

TEST(Import, NewerOperatorsNeedNewerOpsets) {
  const std::string text =
      graph_of(value("input", "x", "2 4") + value("input", "s", "4") +
               node("LayerNormalization", "x s", "y") + value("output", "y", "2 4"));
  EXPECT_EQ(refusal(text), "");
  EXPECT_TRUE(says(refusal("opset_import { version: 16 }" + text), "needs opset 17 or newer"));
}

TEST(Import, AttributesMustHaveTheirType) {
  const std::string text =
      graph_of(value("input", "x", "2 4") +
               node("Softmax", "x", "y", "attribute { name: \"axis\" type: FLOAT f: 1 }") +
               value("output", "y", "2 4"));
  EXPECT_TRUE(says(refusal(text), "attribute 'axis' has the wrong type"));
}

// MaxPool of one image with a window of so many rows and columns.
size_t nodes_of_pool(int64_t rows, int64_t columns) {
  const std::string window =
      "attribute { name: \"kernel_shape\" type: INTS ints: " + std::to_string(rows) +
      " ints: " + std::to_string(columns) + " }";
  return import_text("graph { name: \"g\" " + value("input", "x", "1 2 9 9") +
                     node("MaxPool", "x", "y", window) + value("output", "y", "") + "}")
      .graph.nodes.size();
}

TEST(Import, LargeWindowsAreTwoPools) {
  EXPECT_EQ(nodes_of_pool(5, 5), 2U);
  EXPECT_EQ(nodes_of_pool(3, 9), 2U);
  EXPECT_EQ(nodes_of_pool(3, 3), 1U);
  EXPECT_EQ(nodes_of_pool(1, 9), 1U);  // a row alone is one already
  EXPECT_EQ(nodes_of_pool(9, 1), 1U);
}

}  // namespace
}  // namespace tenon::onnx
