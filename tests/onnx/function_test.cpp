// SPDX-License-Identifier: Apache-2.0
// Functions that a model defines, and subgraphs.
#include <gtest/gtest.h>

#include "graph/define.h"
#include "onnx/text_model.h"

namespace tenon::onnx {
namespace {

using testing::import_text;
using testing::node;
using testing::refusal;
using testing::value;

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string opsets() {
  return "opset_import { version: 17 } opset_import { domain: \"my\" version: 1 }\n";
}

std::string function(const std::string& name, const std::string& in, const std::string& out,
                     const std::string& nodes, const std::string& more = "") {
  return "functions { domain: \"my\" name: \"" + name + "\" input: \"" + in + "\" output: \"" +
         out + "\" opset_import { version: 17 } opset_import { domain: \"my\" version: 1 }\n" +
         nodes + more + "}\n";
}

std::string calling(const std::string& op, const std::string& more = "") {
  return "graph { name: \"g\"\n" + value("input", "x", "3") +
         node(op, "x", "y", "name: \"call\" domain: \"my\" " + more) + value("output", "y", "3") +
         "}\n";
}

double result(const Imported& m, double x) {
  ir::Array a(ir::kF32, {3});
  a.set_double(0, x);
  return graph::evaluate(m.graph, {a})[0].get_double(0);
}

TEST(Function, IsReplacedByItsBody) {
  const Imported m =
      import_text(opsets() + function("Twice", "a", "b", node("Add", "a a", "b", "name: \"add\"")) +
                  function("Four", "x", "y",
                           node("Twice", "x", "t", "domain: \"my\" name: \"in\"") +
                               node("Twice", "t", "y", "domain: \"my\"")) +
                  calling("Four"));
  EXPECT_EQ(result(m, 1.5), 6);
  ASSERT_EQ(m.graph.nodes.size(), 2U);
  EXPECT_EQ(m.graph.nodes[0].nodes, std::vector<std::string>{"call/in/add"});
}

TEST(Function, PassesAttributesOn) {
  const std::string f =
      function("Leak", "a", "b",
               node("LeakyRelu", "a", "b",
                    "attribute { name: \"alpha\" ref_attr_name: \"slope\" type: FLOAT }"),
               "attribute: \"slope\"");
  const std::string given = "attribute { name: \"slope\" type: FLOAT f: 0.5 }";
  EXPECT_EQ(result(import_text(opsets() + f + calling("Leak", given)), -2), -1);
  // Not given: the operator's own default, 0.01.
  EXPECT_NEAR(result(import_text(opsets() + f + calling("Leak")), -2), -0.02, 1e-7);
}

TEST(Function, SeesItsInputsOnly) {
  const std::string text =
      opsets() + function("Peek", "a", "b", node("Add", "a x", "b")) + calling("Peek");
  EXPECT_TRUE(says(refusal(text), "reads 'x', which nothing computes")) << refusal(text);
}

TEST(Function, MayNotCallItself) {
  const std::string text =
      opsets() + function("Endless", "a", "b", node("Endless", "a", "b", "domain: \"my\"")) +
      calling("Endless");
  EXPECT_TRUE(says(refusal(text), "nested too deeply")) << refusal(text);
}

TEST(Function, MayNotGrowWithoutEnd) {
  std::string text = opsets() + function("F0", "a", "b", node("Relu", "a", "b"));
  for (int i = 1; i <= 30; ++i) {
    const std::string inner = "F" + std::to_string(i - 1);
    text +=
        function("F" + std::to_string(i), "a", "c",
                 node(inner, "a", "b", "domain: \"my\"") + node(inner, "b", "c", "domain: \"my\""));
  }
  EXPECT_TRUE(says(refusal(text + calling("F30")), "more than 200000 nodes"));
}

TEST(Function, NamesAreUnique) {
  const std::string f = function("F", "a", "b", node("Relu", "a", "b"));
  EXPECT_TRUE(says(refusal(opsets() + f + f + calling("F")), "two functions"));
}

TEST(Subgraph, SeesOuterNames) {
  const std::string text =
      "graph { name: \"g\" initializer { name: \"yes\" data_type: 9 int32_data: 0 }\n" +
      value("input", "x", "3") + node("Neg", "x", "minus") +
      node("If", "yes", "y",
           "attribute { name: \"then_branch\" type: GRAPH g { name: \"t\"\n" +
               node("Relu", "x", "p") + value("output", "p", "3") +
               "} } attribute { name: \"else_branch\" type: GRAPH g { name: \"e\"\n" +
               node("Relu", "minus", "q") + value("output", "q", "3") + "} }") +
      value("output", "y", "3") + "}";
  EXPECT_EQ(result(import_text(text), -4), 4);
}

}  // namespace
}  // namespace tenon::onnx
