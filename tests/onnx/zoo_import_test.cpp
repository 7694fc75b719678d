// SPDX-License-Identifier: Apache-2.0
// Whole networks: shape arithmetic folds away, batch norms become one node each, shapes come out as published.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "onnx/import.h"
#include "zoo/zoo.h"

namespace tenon::onnx {
namespace {

struct Network {
  std::string name;
  graph::Shape output;
};

class ZooImportTest : public ::testing::TestWithParam<Network> {};

TEST_P(ZooImportTest, Imports) {
  const zoo::Architecture& a = zoo::find(GetParam().name);
  const Imported m = import_bytes(zoo::model_bytes(a, {}), "");
  m.graph.verify();
  ASSERT_GE(m.graph.outputs.size(), 1U);
  EXPECT_EQ(m.graph.value(m.graph.outputs[0]).shape, GetParam().output);
  EXPECT_GE(m.info.parameters, a.parameters);
  std::set<std::string> from_constants;
  for (const graph::Node& n : m.graph.nodes) {
    const bool known = std::all_of(n.inputs.begin(), n.inputs.end(),
                                   [&](graph::ValueId v) { return m.graph.value(v).constant(); });
    if (known) from_constants.insert(n.label);
    EXPECT_FALSE(n.nodes.empty());
  }
  // What is left for the passes to fold are moves of weights, never arithmetic on shapes.
  for (const std::string& label : from_constants) EXPECT_EQ(label, "transpose");
}

INSTANTIATE_TEST_SUITE_P(Networks, ZooImportTest,
                         ::testing::Values(Network{"squeezenet1_1", {1, 1000}},
                                           Network{"mobilenet_v2", {1, 1000}},
                                           Network{"resnet18", {1, 1000}},
                                           Network{"dcgan", {1, 3, 64, 64}},
                                           Network{"bert_tiny", {1, 128, 128}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tenon::onnx
