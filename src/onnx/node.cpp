// SPDX-License-Identifier: Apache-2.0
#include "onnx/node.h"

#include <fmt/format.h>

namespace tenon::onnx {

using proto::AttributeProto;

NodeConvert::NodeConvert(Importer& importer, const proto::NodeProto& node, std::string name,
                         int64_t opset, const Names& names, const Place& place)
    : Convert(importer.builder()),
      importer_(importer),
      node_(node),
      name_(std::move(name)),
      opset_(opset),
      names_(names),
      place_(place),
      attributes_(attributes_of(node, place.call)) {}

bool NodeConvert::has_input(size_t i) const {
  return i < num_inputs() && !node_.input(static_cast<int>(i)).empty();
}

bool NodeConvert::has_output(size_t i) const {
  return i < num_outputs() && !node_.output(static_cast<int>(i)).empty();
}

bool NodeConvert::is_read(size_t output) const {
  if (!has_output(output)) return false;
  return place_.call != nullptr || importer_.is_read(node_.output(static_cast<int>(output)));
}

ValueId NodeConvert::input(size_t i) const {
  const ValueId v = any_input(i);
  if (importer_.sequences().find(v) != nullptr) {
    throw Unsupported(fmt::format("input {} is a sequence, where a tensor is wanted", i));
  }
  require_whole(v);
  return v;
}

ValueId NodeConvert::any_input(size_t i) const {
  if (!has_input(i)) throw Unsupported(fmt::format("input {} is missing", i));
  const auto* known = names_.find(node_.input(static_cast<int>(i)));
  TENON_CHECK(known && *known) << "inputs are looked up before a node is converted";
  return **known;
}

void NodeConvert::require_whole(ValueId v) const {
  if (!importer_.builder().is_counted(v)) return;
  throw Unsupported(
      fmt::format(
          "'{}' has a row for each turn of a loop that ends when its data says so: how many "
          "there are is known behind the loop only, so it can be an output of the model but "
          "not be computed with",
          importer_.builder().value(v).name),
      "give the loop a number of turns, and a condition, that are known when compiling");
}

const AttributeProto* NodeConvert::find(const std::string& attribute,
                                        AttributeProto::AttributeType type) const {
  const auto it = attributes_.find(attribute);
  if (it == attributes_.end()) return nullptr;
  // Old files leave the type out.
  const auto given = it->second->type();
  if (given != type && given != AttributeProto::UNDEFINED) {
    throw Unsupported(fmt::format("attribute '{}' has the wrong type", attribute));
  }
  return it->second;
}

bool NodeConvert::has(const std::string& attribute) const {
  return attributes_.count(attribute) > 0;
}

int64_t NodeConvert::int_or(const std::string& attribute, int64_t otherwise) const {
  const auto* a = find(attribute, AttributeProto::INT);
  return a ? a->i() : otherwise;
}

double NodeConvert::float_or(const std::string& attribute, double otherwise) const {
  const auto* a = find(attribute, AttributeProto::FLOAT);
  // What the standard states for an absent attribute is a float too, also beside tensors of doubles.
  return static_cast<double>(a ? a->f() : static_cast<float>(otherwise));
}

std::string NodeConvert::string_or(const std::string& attribute,
                                   const std::string& otherwise) const {
  const auto* a = find(attribute, AttributeProto::STRING);
  return a ? a->s() : otherwise;
}

std::vector<int64_t> NodeConvert::ints_or(const std::string& attribute,
                                          std::vector<int64_t> otherwise) const {
  const auto* a = find(attribute, AttributeProto::INTS);
  return a ? std::vector<int64_t>(a->ints().begin(), a->ints().end()) : std::move(otherwise);
}

std::vector<double> NodeConvert::floats_or(const std::string& attribute,
                                           std::vector<double> otherwise) const {
  const auto* a = find(attribute, AttributeProto::FLOATS);
  return a ? std::vector<double>(a->floats().begin(), a->floats().end()) : std::move(otherwise);
}

std::vector<std::string> NodeConvert::strings_or(const std::string& attribute) const {
  const auto* a = find(attribute, AttributeProto::STRINGS);
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end())
           : std::vector<std::string>();
}

std::optional<ir::Array> NodeConvert::tensor(const std::string& attribute) const {
  const auto it = attributes_.find(attribute);
  if (it != attributes_.end() && it->second->has_sparse_tensor()) {
    return *to_data(it->second->sparse_tensor(), nullptr);
  }
  const auto* a = find(attribute, AttributeProto::TENSOR);
  if (!a) return std::nullopt;
  return *importer_.tensor(a->t());
}

std::vector<ValueId> NodeConvert::subgraph(const std::string& attribute,
                                           const std::vector<ValueId>& arguments) {
  const auto* a = find(attribute, AttributeProto::GRAPH);
  if (!a) throw Unsupported(fmt::format("attribute '{}' is missing", attribute));
  Place inner = place_;
  inner.prefix = name_ + "/";
  ++inner.depth;
  auto outputs = importer_.run_subgraph(a->g(), arguments, names_, inner);
  b().begin(name_);
  return outputs;
}

}  // namespace tenon::onnx
