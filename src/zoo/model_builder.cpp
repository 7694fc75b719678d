// SPDX-License-Identifier: Apache-2.0
#include "zoo/model_builder.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>

#include "support/check.h"
#include "support/hash.h"
#include "support/rng.h"

namespace tenon::zoo {
namespace {

namespace proto = ::onnx;

constexpr int64_t kIrVersion = 8;

void set_type(proto::ValueInfoProto& info, const std::string& name, int element,
              const Shape& shape) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(element);
  type.mutable_shape();
  for (const int64_t extent : shape) {
    type.mutable_shape()->add_dim()->set_dim_value(extent);
  }
}

int element_code(Element element) {
  return element == Element::kFloat ? proto::TensorProto::FLOAT : proto::TensorProto::INT64;
}

void set_attribute(proto::AttributeProto& attribute, const std::string& name,
                   const Attribute& value) {
  attribute.set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    attribute.set_type(proto::AttributeProto::INT);
    attribute.set_i(*i);
  } else if (const auto* f = std::get_if<double>(&value)) {
    attribute.set_type(proto::AttributeProto::FLOAT);
    attribute.set_f(static_cast<float>(*f));
  } else if (const auto* list = std::get_if<Shape>(&value)) {
    attribute.set_type(proto::AttributeProto::INTS);
    for (const int64_t v : *list) {
      attribute.add_ints(v);
    }
  } else {
    attribute.set_type(proto::AttributeProto::STRING);
    attribute.set_s(std::get<std::string>(value));
  }
}

Rng rng_of(uint64_t seed, const std::string& name) {
  return Rng(Hasher().add(seed).add(std::string_view(name)).value());
}

void put(std::string& raw, size_t index, double value) {
  const auto f = static_cast<float>(value);
  std::memcpy(raw.data() + 4 * index, &f, 4);
}

// Four 16-bit uniforms add up to nearly a normal: cheap, bounded, and the same on every machine.
double normal(Rng& rng) {
  const uint64_t bits = rng.next();
  uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    sum += bits >> (16 * i) & 0xffff;
  }
  constexpr double kMean = 2 * 65535.0;
  constexpr double kDeviation = 65536.0 * 0.57735026918962576;  // sqrt(4 / 12)
  return (static_cast<double>(sum) - kMean) / kDeviation;
}

}  // namespace

struct ModelBuilder::Model {
  proto::ModelProto proto;
};

int64_t elements(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) {
    n *= extent;
  }
  return n;
}

ModelBuilder::ModelBuilder(std::string_view name, int opset, uint64_t seed)
    : model_(std::make_unique<Model>()), opset_(opset), seed_(seed) {
  proto::ModelProto& model = model_->proto;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("tenon zoo");
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name(std::string(name));
}

ModelBuilder::~ModelBuilder() = default;

Tensor ModelBuilder::input(const std::string& name, Element element, const Shape& shape) {
  set_type(*model_->proto.mutable_graph()->add_input(), name, element_code(element), shape);
  return {name, shape};
}

void ModelBuilder::rename(const std::string& from, const std::string& to) {
  for (proto::NodeProto& node : *model_->proto.mutable_graph()->mutable_node()) {
    for (auto* names : {node.mutable_input(), node.mutable_output()}) {
      for (std::string& used : *names) {
        used = used == from ? to : used;
      }
    }
  }
}

void ModelBuilder::output(const Tensor& value, const std::string& name) {
  proto::GraphProto& graph = *model_->proto.mutable_graph();
  if (name != value.name) rename(value.name, name);
  set_type(*graph.add_output(), name, proto::TensorProto::FLOAT, value.shape);
}

std::vector<Tensor> ModelBuilder::nodes(const std::string& type, const std::string& name,
                                        const std::vector<Tensor>& inputs,
                                        const std::vector<Shape>& shapes,
                                        const Attributes& attributes) {
  proto::NodeProto& node = *model_->proto.mutable_graph()->add_node();
  node.set_op_type(type);
  node.set_name(name + "/" + type);
  for (const Tensor& tensor : inputs) {
    node.add_input(tensor.name);
  }
  for (const auto& [key, value] : attributes) {
    set_attribute(*node.add_attribute(), key, value);
  }
  std::vector<Tensor> outputs;
  for (const Shape& shape : shapes) {
    std::string value =
        shape.empty() ? "" : fmt::format("{}/{}_output_{}", name, type, outputs.size());
    node.add_output(value);
    outputs.push_back({std::move(value), shape});
  }
  return outputs;
}

Tensor ModelBuilder::node(const std::string& type, const std::string& name,
                          const std::vector<Tensor>& inputs, const Shape& shape,
                          const Attributes& attributes) {
  return nodes(type, name, inputs, {shape}, attributes)[0];
}

Tensor ModelBuilder::initializer(const std::string& name, const Shape& shape, std::string raw,
                                 Element element) {
  proto::TensorProto& tensor = *model_->proto.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(element_code(element));
  for (const int64_t extent : shape) {
    tensor.add_dims(extent);
  }
  tensor.set_raw_data(std::move(raw));
  return {name, shape};
}

std::string ModelBuilder::uniform(const std::string& name, int64_t count, double middle,
                                  double radius) const {
  Rng rng = rng_of(seed_, name);
  std::string raw(4 * static_cast<size_t>(count), '\0');
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    put(raw, i, middle + radius * (2 * rng.unit() - 1));
  }
  return raw;
}

Tensor ModelBuilder::weight(const std::string& name, const Shape& shape, double deviation) {
  Rng rng = rng_of(seed_, name);
  const auto count = static_cast<size_t>(elements(shape));
  std::string raw(4 * count, '\0');
  for (size_t i = 0; i < count; ++i) {
    put(raw, i, deviation * normal(rng));
  }
  parameters_ += elements(shape);
  return initializer(name, shape, std::move(raw), Element::kFloat);
}

Tensor ModelBuilder::spread(const std::string& name, const Shape& shape, double middle,
                            double radius) {
  parameters_ += elements(shape);
  return statistic(name, shape, middle, radius);
}

Tensor ModelBuilder::statistic(const std::string& name, const Shape& shape, double middle,
                               double radius) {
  return initializer(name, shape, uniform(name, elements(shape), middle, radius), Element::kFloat);
}

Tensor ModelBuilder::floats(const std::string& name, const Shape& shape,
                            const std::vector<float>& values) {
  TENON_CHECK(static_cast<int64_t>(values.size()) == elements(shape)) << name;
  std::string raw(reinterpret_cast<const char*>(values.data()), 4 * values.size());
  return initializer(name, shape, std::move(raw), Element::kFloat);
}

Tensor ModelBuilder::ints(const std::string& name, const std::vector<int64_t>& values) {
  std::string raw(reinterpret_cast<const char*>(values.data()), 8 * values.size());
  return initializer(name, {static_cast<int64_t>(values.size())}, std::move(raw), Element::kInt64);
}

Tensor ModelBuilder::int_scalar(const std::string& name, int64_t value) {
  std::string raw(reinterpret_cast<const char*>(&value), 8);
  return initializer(name, {}, std::move(raw), Element::kInt64);
}

std::string ModelBuilder::bytes() const { return model_->proto.SerializeAsString(); }

}  // namespace tenon::zoo
