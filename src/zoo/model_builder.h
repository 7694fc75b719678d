// SPDX-License-Identifier: Apache-2.0
// Writes an ONNX model node by node. Shapes are known throughout, so that layers can scale their weights.
//
//   Tensor x = m.input("x", Element::kFloat, {1, 3, 8, 8});
//   Tensor w = m.weight("conv.weight", {4, 3, 3, 3}, 0.3);
//   m.output(m.node("Conv", "conv", {x, w}, {1, 4, 6, 6}), "y");
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon::zoo {

using Shape = std::vector<int64_t>;

struct Tensor {
  std::string name;  // empty: an optional input that is absent
  Shape shape;
};

enum class Element { kFloat, kInt64 };

using Attribute = std::variant<int64_t, double, Shape, std::string>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

class ModelBuilder {
 public:
  ModelBuilder(std::string_view name, int opset, uint64_t seed);
  ~ModelBuilder();

  Tensor input(const std::string& name, Element element, const Shape& shape);
  // Gives a node's output the name that callers will know it by.
  void output(const Tensor& value, const std::string& name);

  Tensor node(const std::string& type, const std::string& name, const std::vector<Tensor>& inputs,
              const Shape& shape, const Attributes& attributes = {});
  // Several outputs; an empty shape leaves an output out.
  std::vector<Tensor> nodes(const std::string& type, const std::string& name,
                            const std::vector<Tensor>& inputs, const std::vector<Shape>& shapes,
                            const Attributes& attributes = {});

  // Learned parameters: normal with mean 0, or uniform around a value. They depend on the seed and on their
  // name alone, so that a change elsewhere does not move them.
  Tensor weight(const std::string& name, const Shape& shape, double deviation);
  Tensor spread(const std::string& name, const Shape& shape, double middle, double radius);
  // Not learned: running statistics and plain numbers.
  Tensor statistic(const std::string& name, const Shape& shape, double middle, double radius);
  Tensor floats(const std::string& name, const Shape& shape, const std::vector<float>& values);
  Tensor ints(const std::string& name, const std::vector<int64_t>& values);
  Tensor int_scalar(const std::string& name, int64_t value);
  Tensor scalar(const std::string& name, double value) {
    return floats(name, {}, {static_cast<float>(value)});
  }

  int opset() const { return opset_; }
  int64_t parameters() const { return parameters_; }
  std::string bytes() const;

 private:
  struct Model;
  void rename(const std::string& from, const std::string& to);  // walks over all nodes
  Tensor initializer(const std::string& name, const Shape& shape, std::string raw, Element element);
  std::string uniform(const std::string& name, int64_t count, double middle, double radius) const;

  std::unique_ptr<Model> model_;
  int opset_;
  uint64_t seed_;
  int64_t parameters_ = 0;
};

int64_t elements(const Shape& shape);

}  // namespace tenon::zoo
