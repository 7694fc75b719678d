// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <cmath>
#include <cstring>
#include <set>

#include "support/check.h"

namespace tenon::zoo {
namespace {

::onnx::ModelProto parse(const std::string& bytes) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

// Weights of at most this many bytes are compared in tests that write models twice.
constexpr int64_t kSmall = 30'000'000;

std::vector<int64_t> dims_of(const ::onnx::ValueInfoProto& info) {
  std::vector<int64_t> dims;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    dims.push_back(dim.dim_value());
  }
  return dims;
}

class EachArchitecture : public ::testing::TestWithParam<std::string> {};

void expect_unique_names_and_finite_weights(const ::onnx::ModelProto& model) {
  std::set<std::string> names;
  for (const auto& node : model.graph().node()) {
    EXPECT_TRUE(names.insert("node " + node.name()).second) << node.name();
  }
  for (const auto& tensor : model.graph().initializer()) {
    EXPECT_TRUE(names.insert(tensor.name()).second) << tensor.name();
    if (tensor.data_type() != ::onnx::TensorProto::FLOAT) {
      continue;
    }
    double sum = 0;
    for (size_t i = 0; i + 4 <= tensor.raw_data().size(); i += 4) {
      float value = 0;
      std::memcpy(&value, tensor.raw_data().data() + i, 4);
      sum += std::abs(static_cast<double>(value));
    }
    EXPECT_TRUE(std::isfinite(sum)) << tensor.name();
  }
}

// The checker knows every operator's attributes; strict inference recomputes every shape and compares it
// with the outputs that the model declares. It is one test, since the weights of the
// largest take seconds to make.
TEST_P(EachArchitecture, IsAValidModelOfUniqueNamesAndFiniteWeights) {
  const Architecture& a = find(GetParam());
  ::onnx::ModelProto model = parse(model_bytes(a, {}));
  expect_unique_names_and_finite_weights(model);
  EXPECT_NO_THROW(::onnx::checker::check_model(model));
  EXPECT_EQ(model.opset_import(0).version(), a.opset);
  ASSERT_GT(model.graph().output_size(), 0);
  std::vector<std::vector<int64_t>> declared;
  for (auto& output : *model.mutable_graph()->mutable_output()) {
    declared.push_back(dims_of(output));
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  ::onnx::shape_inference::InferShapes(model, ::onnx::OpSchemaRegistry::Instance(),
                                       ::onnx::ShapeInferenceOptions(true, 1, true));
  for (int i = 0; i < model.graph().output_size(); ++i) {
    EXPECT_EQ(dims_of(model.graph().output(i)), declared[static_cast<size_t>(i)])
        << model.graph().output(i).name();
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Architecture& a : architectures()) {
    names.emplace_back(a.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EachArchitecture, ::testing::ValuesIn(all_names()),
                         [](const auto& info) { return info.param; });

TEST(Zoo, TheSeedDecidesTheBytes) {
  for (const Architecture& a : architectures()) {
    if (a.parameters > kSmall / 4) {
      continue;
    }
    const std::string bytes = model_bytes(a, {.seed = 7});
    EXPECT_EQ(bytes, model_bytes(a, {.seed = 7})) << a.name;
    EXPECT_NE(bytes, model_bytes(a, {.seed = 8})) << a.name;
  }
}

TEST(Zoo, BatchNormalizationIsThere) {
  const ::onnx::ModelProto model = parse(model_bytes(find("resnet18"), {}));
  int norms = 0;
  for (const auto& node : model.graph().node()) {
    norms += node.op_type() == "BatchNormalization" ? 1 : 0;
  }
  EXPECT_EQ(norms, 20);
}

TEST(Zoo, TakesSizes) {
  const struct {
    const char* name;
    Options options;
    std::vector<int64_t> input, output;
  } rows[] = {
      {"resnet18", {.batch = 3, .image = 64}, {3, 3, 64, 64}, {3, 1000}},
      {"squeezenet1_1", {.image = 96}, {1, 3, 96, 96}, {1, 1000}},
      {"mobilenet_v2", {.image = 32}, {1, 3, 32, 32}, {1, 1000}},
      {"bert_tiny", {.batch = 2, .tokens = 17}, {2, 17}, {2, 17, 128}},
      {"lstm_lm", {.batch = 2, .tokens = 1}, {1, 2}, {1, 2, 10000}},
      {"dcgan", {.batch = 5}, {5, 100, 1, 1}, {5, 3, 64, 64}},
      {"r3d_18", {.image = 32}, {1, 3, 16, 32, 32}, {1, 400}},
  };
  for (const auto& row : rows) {
    const ::onnx::ModelProto model = parse(model_bytes(find(row.name), row.options));
    EXPECT_NO_THROW(::onnx::checker::check_model(model)) << row.name;
    EXPECT_EQ(dims_of(model.graph().input(0)), row.input) << row.name;
    EXPECT_EQ(dims_of(model.graph().output(0)), row.output) << row.name;
  }
}

TEST(Zoo, RefusesWhatIsNotPossible) {
  const struct {
    const char* name;
    Options options;
    const char* message;
  } rows[] = {
      {"resnet18", {.image = 100}, "resnet18: --image 100 is not possible (it is a multiple of 32"},
      {"resnet18", {.tokens = 5}, "there is no --tokens to choose"},
      {"vit_b_16", {.image = 256}, "it is always 224"},
      {"dqn", {.batch = 0}, "--batch 0 is not possible"},
      {"bert_tiny", {.tokens = 513}, "from 1 to 512"},
      {"resent18", {}, "did you mean 'resnet18'?"},
  };
  for (const auto& row : rows) {
    try {
      model_bytes(find(row.name), row.options);
      ADD_FAILURE() << row.name << " was written";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(row.message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tenon::zoo
