// SPDX-License-Identifier: Apache-2.0
#include "compile/size_models.h"

#include <fmt/format.h>

#include "onnx/text_model.h"
#include "support/rng.h"

namespace tenon::compile {
namespace {

using onnx::testing::model_bytes;
using onnx::testing::node;
using onnx::testing::value;

std::string weights(const std::string& name, const std::vector<int64_t>& shape) {
  Rng rng(name.size() * 131 + static_cast<uint64_t>(shape.size()));
  int64_t n = 1;
  std::string text = fmt::format("initializer {{ name: \"{}\" data_type: 1", name);
  for (const int64_t e : shape) {
    n *= e;
    text += fmt::format(" dims: {}", e);
  }
  for (int64_t i = 0; i < n; ++i) text += fmt::format(" float_data: {:.4f}", rng.unit() - 0.5);
  return text + " }\n";
}

std::string ints(const std::string& name, const std::vector<int64_t>& values) {
  std::string text =
      fmt::format("initializer {{ name: \"{}\" data_type: 7 dims: {}", name, values.size());
  for (const int64_t v : values) text += fmt::format(" int64_data: {}", v);
  return text + " }\n";
}

std::string attribute_ints(const std::string& name, const std::vector<int64_t>& values) {
  std::string text = fmt::format(" attribute {{ name: \"{}\" type: INTS", name);
  for (const int64_t v : values) text += fmt::format(" ints: {}", v);
  return text + " }";
}

std::string attribute_int(const std::string& name, int64_t v) {
  return fmt::format(" attribute {{ name: \"{}\" type: INT i: {} }}", name, v);
}

std::string model(const std::string& graph) { return model_bytes("graph {\n" + graph + "}\n"); }

}  // namespace

std::string batch_cnn() {
  return model(value("input", "x", "batch 3 12 12") + weights("w1", {8, 3, 3, 3}) +
               weights("b1", {8}) + weights("w2", {8, 5}) + weights("b2", {5}) +
               node("Conv", "x w1 b1", "c", attribute_ints("pads", {1, 1, 1, 1})) +
               node("Relu", "c", "r") +
               node("MaxPool", "r", "p",
                    attribute_ints("kernel_shape", {2, 2}) + attribute_ints("strides", {2, 2})) +
               node("GlobalAveragePool", "p", "g") + node("Flatten", "g", "f") +
               node("Gemm", "f w2 b2", "y") + value("output", "y", "batch 5"));
}

std::string batch_mlp() {
  return model(value("input", "x", "batch 20") + weights("w1", {20, 33}) + weights("b1", {33}) +
               weights("w2", {33, 7}) + node("MatMul", "x w1", "h") + node("Add", "h b1", "s") +
               node("Relu", "s", "r") + node("MatMul", "r w2", "y") +
               value("output", "y", "batch 7"));
}

std::string wide_layer() {
  return model(value("input", "x", "batch 16") + weights("w", {16, 1000}) +
               node("MatMul", "x w", "y") + value("output", "y", "batch 1000"));
}

std::string attention_block() {
  return model(value("input", "x", "batch seq 16") + weights("wq", {16, 16}) +
               weights("wk", {16, 16}) + weights("wv", {16, 16}) + weights("gain", {16}) +
               node("MatMul", "x wq", "q") + node("MatMul", "x wk", "k") +
               node("MatMul", "x wv", "v") +
               node("Transpose", "k", "kt", attribute_ints("perm", {0, 2, 1})) +
               node("MatMul", "q kt", "s") + node("Softmax", "s", "p", attribute_int("axis", -1)) +
               node("MatMul", "p v", "a") + node("Add", "a x", "r") +
               node("LayerNormalization", "r gain", "y") + value("output", "y", "batch seq 16"));
}

std::string masked_attention() {
  return model(
      value("input", "x", "batch seq 16") + value("input", "mask", "batch seq") +
      weights("wv", {16, 16}) + weights("one", {1}) + ints("axes", {1}) +
      node("Unsqueeze", "mask axes", "m3") + node("Sub", "m3 one", "less") +
      node("MatMul", "x wv", "v") +
      node("Transpose", "x", "xt", attribute_ints("perm", {0, 2, 1})) +
      node("MatMul", "x xt", "s") + node("Add", "s less", "masked") +
      node("Softmax", "masked", "p", attribute_int("axis", -1)) + node("MatMul", "p v", "a") +
      node("Add", "a x", "y") + node("ReduceSum", "y axes", "sum", attribute_int("keepdims", 0)) +
      node("ReduceMax", "y", "most", attribute_ints("axes", {1}) + attribute_int("keepdims", 0)) +
      value("output", "y", "batch seq 16") + value("output", "sum", "batch 16") +
      value("output", "most", "batch 16"));
}

std::string scaled_rows() {
  return model(value("input", "x", "seq 8") + ints("axes", {1}) + node("Mul", "x x", "xx") +
               node("ReduceSum", "xx axes", "n", attribute_int("keepdims", 1)) +
               node("Div", "x n", "z") +
               node("Transpose", "z", "zt", attribute_ints("perm", {1, 0})) +
               node("MatMul", "z zt", "s") + node("Softmax", "s", "p", attribute_int("axis", -1)) +
               node("MatMul", "p z", "y") + value("output", "y", "seq 8"));
}

std::string positions() {
  return model(value("input", "ids", "batch seq", 7) + weights("table", {30, 12}) +
               weights("places", {64, 12}) + weights("w", {12, 12}) + ints("zero", {0}) +
               ints("one", {1}) + ints("heads", {3, 4}) + ints("width", {12}) +
               node("Shape", "ids", "shape") + node("Gather", "shape one", "seq") +
               node("Slice", "places zero seq zero", "here") + node("Gather", "table ids", "e") +
               node("Add", "e here", "x") + node("MatMul", "x w", "q") +
               node("Concat", "shape heads", "split", attribute_int("axis", 0)) +
               node("Reshape", "q split", "q4") +
               node("Transpose", "q4", "qh", attribute_ints("perm", {0, 2, 1, 3})) +
               node("Transpose", "q4", "kh", attribute_ints("perm", {0, 2, 3, 1})) +
               node("MatMul", "qh kh", "s") + node("Softmax", "s", "p", attribute_int("axis", -1)) +
               node("MatMul", "p qh", "a") +
               node("Transpose", "a", "at", attribute_ints("perm", {0, 2, 1, 3})) +
               node("Concat", "shape width", "joined", attribute_int("axis", 0)) +
               node("Reshape", "at joined", "y") +
               node("Gather", "y zero", "first", attribute_int("axis", 1)) +
               value("output", "y", "batch seq 12") + value("output", "first", "batch 1 12"));
}

std::string last_row() {
  return model(value("input", "x", "seq 8") + ints("last", {-1}) +
               node("Gather", "x last", "y", attribute_int("axis", 0)) +
               value("output", "y", "1 8"));
}

std::string sound() {
  return model(
      value("input", "x", "1 2 samples") + weights("w1", {4, 2, 5}) + weights("w2", {3, 4, 3}) +
      node("Conv", "x w1", "c", attribute_ints("pads", {2, 2}) + attribute_ints("strides", {2})) +
      node("Relu", "c", "r") + node("Conv", "r w2", "y", attribute_ints("pads", {1, 1})) +
      value("output", "y", "1 3 frames"));
}

std::string joined_rows() {
  return model(value("input", "x", "seq 8") + weights("first", {1, 8}) +
               node("Concat", "first x", "y", attribute_int("axis", 0)) +
               value("output", "y", "more 8"));
}

std::string embedding_mean() {
  return model(
      value("input", "ids", "batch seq", 7) + weights("table", {30, 12}) +
      node("Gather", "table ids", "e") +
      node("ReduceMean", "e", "y", attribute_ints("axes", {1}) + attribute_int("keepdims", 0)) +
      value("output", "y", "batch 12"));
}

std::string batch_lstm() {
  return model(value("input", "x", "4 batch 6") + weights("w", {1, 20, 6}) +
               weights("r", {1, 20, 5}) +
               node("LSTM", "x w r", "y h", attribute_int("hidden_size", 5)) +
               value("output", "y", "4 1 batch 5") + value("output", "h", "1 batch 5"));
}

std::string image_of_any_size() {
  return model(value("input", "x", "1 3 height width") + weights("w", {4, 3, 3, 3}) +
               node("Conv", "x w", "c",
                    attribute_ints("pads", {1, 1, 1, 1}) + attribute_ints("strides", {2, 2})) +
               node("Relu", "c", "y") + value("output", "y", "1 4 h w"));
}

std::string mixing_batch() {
  return model(
      value("input", "x", "batch 6") +
      node("ReduceMean", "x", "m", attribute_ints("axes", {0}) + attribute_int("keepdims", 1)) +
      node("Sub", "x m", "y") + value("output", "y", "batch 6"));
}

std::string batch_in_numbers() {
  return model(value("input", "x", "batch 6") + ints("zero", {0}) + node("Shape", "x", "s") +
               node("Gather", "s zero", "n") + node("Cast", "n", "f", attribute_int("to", 1)) +
               node("Div", "x f", "y") + value("output", "y", "batch 6"));
}

std::string less_its_largest() {
  return model(value("input", "x", "height width") +
               node("ReduceMax", "x", "m", attribute_ints("axes", {0, 1})) +
               node("Sub", "x m", "y") + value("output", "y", "height width"));
}

std::string two_inputs() {
  return model(value("input", "x", "batch 8") + value("input", "y", "batch 8") +
               value("input", "bias", "8") + node("Mul", "x y", "p") + node("Add", "p bias", "z") +
               value("output", "z", "batch 8"));
}

std::string past_and_next() {
  return model(value("input", "x", "batch seq") + value("input", "mask", "batch past+seq") +
               value("input", "past", "batch past") +
               node("Concat", "past x", "all", attribute_int("axis", 1)) +
               node("Mul", "all mask", "m") + node("Softmax", "m", "y") +
               value("output", "y", "batch past+seq"));
}

Sized::Sized(const std::string& bytes, const std::map<std::string, std::string>& dims)
    : source(onnx::Source::from_bytes(bytes, "")), sizes([&] {
        onnx::SizeRequest request;
        for (const auto& [name, text] : dims) {
          request.dims[name] = onnx::parse_sizes(text, name);
        }
        return onnx::open_sizes(source, request);
      }()) {
  for (const onnx::OpenSizes::Dim& d : sizes.dims) model.dims.push_back({d.name, d.sizes});
  model.input_dims = sizes.input_dims;
  model.input_sums = sizes.input_sums;
  model.at = [this](const std::vector<int64_t>& s) { return at(s); };
}

}  // namespace tenon::compile
