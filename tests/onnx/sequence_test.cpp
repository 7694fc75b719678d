// SPDX-License-Identifier: Apache-2.0
// Sequences, and branches and loops whose bodies see names of the graph around them.
#include <fmt/format.h>
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

std::string number(const std::string& name, int64_t v) {
  return fmt::format("initializer {{ name: \"{}\" data_type: 7 int64_data: {} }}\n", name, v);
}

std::string attribute(const std::string& name, int64_t v) {
  return fmt::format("attribute {{ name: \"{}\" type: INT i: {} }} ", name, v);
}

std::string model(const std::string& inside, const std::string& outputs) {
  return "graph { name: \"g\"\n" + value("input", "x", "4") + value("input", "n", "", 7) +
         value("input", "c", "", 9) + number("one", 1) + number("five", 5) + number("many", 50) +
         "initializer { name: \"yes\" data_type: 9 int32_data: 1 }\n" + inside + outputs + "}";
}

// x = 1 2 3 4 and the given n and c, in the order of the graph's inputs.
std::vector<ir::Array> run(const std::string& text, int64_t n, bool c) {
  const graph::Graph g = import_text(text).graph;
  g.verify();
  std::vector<ir::Array> in;
  for (const graph::ValueId v : g.inputs) {
    in.emplace_back(g.value(v).dtype, g.value(v).shape);
    for (int64_t i = 0; i < in.back().elements(); ++i) {
      const std::string& name = g.value(v).name;
      in.back().set_double(i, name == "n"   ? static_cast<double>(n)
                              : name == "c" ? c
                                            : static_cast<double>(i + 1));
    }
  }
  return graph::evaluate(g, in);
}

std::string loop(const std::string& count, const std::string& body, const std::string& results) {
  return node("Loop", count + " yes x s", results,
              "attribute { name: \"body\" type: GRAPH g { name: \"b\"\n" +
                  value("input", "i", "", 7) + value("input", "go", "", 9) +
                  value("input", "in", "4") + value("input", "s_in", "") + body +
                  node("Identity", "go", "on") + value("output", "on", "", 9) +
                  value("output", "out", "4") + value("output", "s_out", "") + "} }");
}

// A loop inserts 2 x, 3 x, ..
TEST(Sequence, GrowsInALoop) {
  const std::string body = node("Add", "in x", "out") + node("SequenceInsert", "s_in out", "s_out");
  for (const int64_t new_axis : {0, 1}) {
    for (const std::string count : {"five", "many"}) {  // written out, and a loop
      const std::string text =
          model(node("SequenceEmpty", "", "s") + loop(count, body, "last grown") +
                    node("ConcatFromSequence", "grown", "y",
                         attribute("axis", 0) + attribute("new_axis", new_axis)),
                value("output", "y", "?"));
      const auto out = run(text, 0, true);
      const int64_t turns = count == "five" ? 5 : 50;
      EXPECT_EQ(out[0].shape(), (new_axis == 1 ? graph::Shape{turns, 4} : graph::Shape{turns * 4}));
      for (int64_t t = 0; t < turns; ++t) {
        for (int64_t k = 0; k < 4; ++k) {
          EXPECT_EQ(out[0].get_double(4 * t + k), static_cast<double>((t + 2) * (k + 1)));
        }
      }
    }
  }
  // How long it becomes is known behind the loop only.
  const std::string open = model(node("SequenceEmpty", "", "s") + loop("n", body, "last grown") +
                                     node("SequenceLength", "grown", "y"),
                                 value("output", "y", "", 7));
  EXPECT_TRUE(says(refusal(open), "known only when the model runs")) << refusal(open);
}

// How many rows a loop scans is known when the model runs only, which does not matter where nobody reads them.
TEST(Loop, ScansNothingThatNobodyReads) {
  const std::string looped = node(
      "Loop", "n yes x", "last rows",
      "attribute { name: \"body\" type: GRAPH g { name: \"b\"\n" + value("input", "i", "", 7) +
          value("input", "go", "", 9) + value("input", "in", "4") + node("Add", "in x", "out") +
          node("Identity", "go", "on") + node("Neg", "in", "row") + value("output", "on", "", 9) +
          value("output", "out", "4") + value("output", "row", "4") + "} }");
  const std::string last = value("output", "last", "4");
  EXPECT_EQ(run(model(looped, last), 3, true)[0].get_double(1), 8);
  const std::string why =
      refusal(model(looped + node("Neg", "rows", "y"), last + value("output", "y", "?")));
  EXPECT_TRUE(says(why, "output 1 of the Loop has a row for each turn")) << why;
}

TEST(Sequence, IsAListOfTensors) {
  const std::string start = node("Neg", "x", "z") + node("SequenceConstruct", "x z", "a") +
                            node("SequenceInsert", "a z five_zero", "b") + number("five_zero", 0) +
                            node("SequenceErase", "b one", "d");
  const auto out = run(
      model(start + node("SequenceAt", "d one", "y") + node("SequenceLength", "b", "l") +
                node("SequenceAt", "a n", "w"),
            value("output", "y", "4") + value("output", "l", "", 7) + value("output", "w", "4")),
      1, true);
  EXPECT_EQ(out[0].get_double(2), -3);  // b is z x z, d is z z
  EXPECT_EQ(out[1].get_double(0), 3);
  EXPECT_EQ(out[2].get_double(3), -4);  // element n of a, known when it runs
  const auto parts =
      run(model(node("SplitToSequence", "x", "s", attribute("keepdims", 0)),
                "output { name: \"s\" type { sequence_type { elem_type { tensor_type { "
                "elem_type: 1 } } } } }"),
          0, true);
  ASSERT_EQ(parts.size(), 4U);  // an output for each
  EXPECT_EQ(parts[3].get_double(0), 4);
}

// How many parts there are is known by the length of the split, whatever its numbers are.
TEST(Sequence, PartsAreCountedWithoutTheirSizes) {
  const auto parted = [](const std::string& inside, const std::string& output) {
    return "graph { name: \"g\"\n" + value("input", "x", "4") + value("input", "parts", "3", 7) +
           number("one", 1) + node("SplitToSequence", "x parts", "s") + inside + output + "}";
  };
  const std::string counted =
      parted(node("SequenceInsert", "s x", "t") + node("SequenceLength", "t", "y"),
             value("output", "y", "", 7));
  EXPECT_EQ(run(counted, 0, true)[0].get_double(0), 4);
  for (const std::string& inside :
       {node("SequenceAt", "s one", "y"),
        node("ConcatFromSequence", "s", "y", attribute("axis", 0)),
        node("SequenceErase", "s one", "t") + node("SequenceLength", "t", "y")}) {
    const std::string why = refusal(parted(inside, value("output", "y", "?")));
    EXPECT_TRUE(says(why, "the split must be known when compiling and depends on input 'parts'"))
        << why;
    EXPECT_TRUE(says(why, "--bind parts=N,N,N")) << why;
  }
  const std::string whole =
      refusal(parted("",
                     "output { name: \"s\" type { sequence_type { elem_type { "
                     "tensor_type { elem_type: 1 } } } } }"));
  EXPECT_TRUE(says(whole, "how large the tensors of the sequence 's' are depends on data"))
      << whole;
}

TEST(Sequence, BranchesGiveListsOfEqualLengths) {
  const auto branch = [](const std::string& name, const std::string& items) {
    return "attribute { name: \"" + name + "\" type: GRAPH g { name: \"b\"\n" +
           node("Neg", "x", name + "_z") + node("SequenceConstruct", items, name + "_s") +
           value("output", name + "_s", "") + "} }";
  };
  const auto text = [&](const std::string& otherwise) {
    return model(node("If", "c", "s",
                      branch("then_branch", "x then_branch_z") + branch("else_branch", otherwise)) +
                     node("SequenceAt", "s one", "y"),
                 value("output", "y", "4"));
  };
  for (const bool c : {true, false}) {
    EXPECT_EQ(run(text("else_branch_z x"), 0, c)[0].get_double(1), c ? -2 : 2);
  }
  EXPECT_TRUE(says(refusal(text("x")), "another length")) << refusal(text("x"));
}

TEST(Sequence, OfTheModelIsAnInputForEachTensor) {
  const std::string text =
      "graph { name: \"g\" input { name: \"s\" type { sequence_type { elem_type { tensor_type { "
      "elem_type: 1 } } } } }\n" +
      node("ConcatFromSequence", "s", "y", attribute("axis", 0)) + value("output", "y", "?") + "}";
  EXPECT_TRUE(says(refusal(text), "--shape s.0:")) << refusal(text);
  const graph::Graph g =
      import_text(text, {.dims = {}, .shapes = {{"s.0", {2}}, {"s.1", {3}}}, .bound = {}}).graph;
  ASSERT_EQ(g.inputs.size(), 2U);
  EXPECT_EQ(g.value(g.outputs[0]).shape, (graph::Shape{5}));
}

}  // namespace
}  // namespace tenon::onnx
