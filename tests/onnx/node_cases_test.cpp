// SPDX-License-Identifier: Apache-2.0
// The single-operator cases of the ONNX test data, evaluated by the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "graph/define.h"
#include "onnx/import.h"
#include "onnx/proto.h"

namespace tenon::onnx {
namespace {

namespace fs = std::filesystem;

const char* const kFolder = "/usr/share/libonnx-testdata/data/node";

// ONNX's own runner compares with these.
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

std::vector<ir::Array> tensors(const fs::path& folder, const std::string& kind) {
  std::vector<ir::Array> all;
  for (int i = 0; fs::exists(folder / (kind + std::to_string(i) + ".pb")); ++i) {
    all.push_back(read_tensor_file((folder / (kind + std::to_string(i) + ".pb")).string()));
  }
  return all;
}

std::string difference(const ir::Array& got, const ir::Array& want) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return "type or shape differs";
  }
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double g = got.get_double(i);
    const double w = want.get_double(i);
    const bool same = g == w || (std::isnan(g) && std::isnan(w)) ||
                      std::abs(g - w) <= kAbsolute + kRelative * std::abs(w);
    if (!same) {
      return "element " + std::to_string(i) + " is " + std::to_string(g) + ", not " +
             std::to_string(w);
    }
  }
  return "";
}

std::vector<std::string> input_names(const std::string& model) {
  std::ifstream in(model, std::ios::binary);
  proto::ModelProto m;
  std::vector<std::string> names;
  if (m.ParseFromIstream(&in)) {
    for (const auto& input : m.graph().input()) {
      names.push_back(input.name());
    }
  }
  return names;
}

// The recorded bf16 tensors are bit patterns of type u16.
ir::Array retyped(const ir::Array& a, ir::DType from, ir::DType to) {
  if (a.dtype() != from) {
    return a;
  }
  ir::Array out(to, a.shape());
  std::copy(a.data(), a.data() + a.bytes(), out.data());
  return out;
}

// Inputs that the shapes depend on are bound when nothing else helps.
Imported import_case(const std::string& model, const std::vector<ir::Array>& inputs) {
  try {
    return import_file(model);
  } catch (const ImportError&) {
    ImportOptions options;
    size_t i = 0;
    for (const std::string& name : input_names(model)) {
      if (i < inputs.size()) {
        options.bound[name] = inputs[i++];
      }
    }
    return import_file(model, options);
  }
}

std::string run_case(const fs::path& folder) {
  const fs::path data = folder / "test_data_set_0";
  std::vector<ir::Array> inputs = tensors(data, "input_");
  const Imported m = import_case((folder / "model.onnx").string(), inputs);
  for (size_t i = 0; i < m.graph.inputs.size(); ++i) {
    if (m.graph.value(m.graph.inputs[i]).dtype == ir::kBF16) {
      inputs[i] = retyped(inputs[i], ir::kU16, ir::kBF16);
    }
  }
  const std::vector<ir::Array> outputs =
      graph::evaluate(m.graph, m.graph.inputs.empty() ? std::vector<ir::Array>() : inputs);
  const std::vector<ir::Array> expected = tensors(data, "output_");
  if (outputs.size() != expected.size()) {
    return "the number of outputs differs";
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (const std::string why = difference(retyped(outputs[i], ir::kBF16, ir::kU16), expected[i]);
        !why.empty()) {
      return "output " + std::to_string(i) + ": " + why;
    }
  }
  return "";
}

class NodeCase : public ::testing::TestWithParam<std::string> {};

// Every case whose name is the word, or the word and something behind an underscore.
TEST_P(NodeCase, EqualsTheRecordedOutputs) {
  if (!fs::exists(kFolder)) {
    GTEST_SKIP() << "libonnx-testdata is not installed";
  }
  int found = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    const std::string word = "test_" + GetParam();
    // Cases named "expanded" are made of other operators.
    if ((name != word && name.rfind(word + "_", 0) != 0) || name.ends_with("_expanded")) {
      continue;
    }
    ++found;
    try {
      EXPECT_EQ(run_case(entry.path()), "") << name;
    } catch (const std::exception& e) {
      ADD_FAILURE() << name << ": " << e.what();
    }
  }
  EXPECT_GT(found, 0) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Math, NodeCase,
    ::testing::Values("abs", "acos", "acosh", "add", "and2d", "and3d", "and4d", "and_bcast3v1d",
                      "and_bcast3v2d", "and_bcast4v2d", "and_bcast4v3d", "and_bcast4v4d", "asin",
                      "asinh", "atan", "atanh", "bitshift", "cast_BFLOAT16_to_FLOAT",
                      "cast_DOUBLE_to_FLOAT", "cast_DOUBLE_to_FLOAT16", "cast_FLOAT16_to_DOUBLE",
                      "cast_FLOAT16_to_FLOAT", "cast_FLOAT_to_BFLOAT16", "cast_FLOAT_to_DOUBLE",
                      "cast_FLOAT_to_FLOAT16", "castlike_DOUBLE_to_FLOAT",
                      "castlike_FLOAT16_to_FLOAT", "castlike_FLOAT_to_FLOAT16", "ceil", "cos",
                      "cosh", "div", "equal", "erf", "exp", "floor", "greater", "isinf", "isnan",
                      "less", "log", "max", "mean", "min", "mod", "mul", "neg", "not", "or2d",
                      "or_bcast3v1d", "or_bcast4v4d", "pow", "reciprocal", "round", "sign", "sin",
                      "sinh", "sqrt", "sub", "sum", "tan", "where", "xor2d", "xor_bcast4v2d"));
INSTANTIATE_TEST_SUITE_P(Activation, NodeCase,
                         ::testing::Values("celu", "clip", "elu", "hardsigmoid", "hardswish",
                                           "leakyrelu", "prelu", "relu", "selu", "shrink",
                                           "sigmoid", "softplus", "softsign", "tanh",
                                           "thresholdedrelu"));
INSTANTIATE_TEST_SUITE_P(Shape, NodeCase,
                         ::testing::Values("concat", "constant_pad", "constantofshape",
                                           "depthtospace", "edge_pad", "expand", "eyelike",
                                           "flatten", "range_float_type_positive_delta",
                                           "range_int32_type_negative_delta", "reflect_pad",
                                           "reshape", "reversesequence", "shape", "size", "slice",
                                           "spacetodepth", "split", "squeeze", "tile", "transpose",
                                           "tril", "triu", "unsqueeze"));
INSTANTIATE_TEST_SUITE_P(Index, NodeCase,
                         ::testing::Values("argmax", "argmin", "compress", "cumsum", "gather",
                                           "gathernd", "nonzero", "onehot", "scatter", "scatternd",
                                           "top_k", "unique"));
INSTANTIATE_TEST_SUITE_P(Quantized, NodeCase,
                         ::testing::Values("basic_convinteger", "convinteger", "dequantizelinear",
                                           "dynamicquantizelinear", "matmulinteger", "qlinearconv",
                                           "qlinearmatmul", "quantizelinear"));
INSTANTIATE_TEST_SUITE_P(Reduce, NodeCase,
                         ::testing::Values("hardmax", "logsoftmax", "reduce", "softmax"));

}  // namespace
}  // namespace tenon::onnx
