// SPDX-License-Identifier: Apache-2.0
// Functions that the model itself defines: calls are replaced by the body.
#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include "onnx/converter.h"
#include "onnx/importer.h"
#include "onnx/model_file.h"

namespace tenon::onnx {
namespace {

// Default values of attributes came into the format later (attribute_proto = 11), so they arrive as a field
// that the messages do not know.
std::vector<proto::AttributeProto> default_attributes(const proto::FunctionProto& f) {
  constexpr int kAttributeProto = 11;
  std::vector<proto::AttributeProto> found;
  const auto& rest = f.unknown_fields();
  for (int i = 0; i < rest.field_count(); ++i) {
    const auto& field = rest.field(i);
    if (field.number() != kAttributeProto) continue;
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      throw UserError(fmt::format("function '{}' is damaged", f.name()));
    }
    found.push_back(parse_attribute(field.length_delimited()));
  }
  return found;
}

}  // namespace

void Importer::read_functions() {
  for (const auto& f : model_.functions()) {
    Function entry{&f, {}, default_attributes(f)};
    for (const auto& set : f.opset_import()) {
      entry.opsets.emplace(plain_domain(set.domain()), set.version());
    }
    const auto key = std::make_pair(plain_domain(f.domain()), f.name());
    if (!functions_.emplace(key, std::move(entry)).second) {
      throw UserError(fmt::format("two functions are called '{}'", f.name()));
    }
  }
}

void Importer::convert_function(const Call& call, const Function& f) {
  Attributes attributes = attributes_of(call.node, call.place.call);
  for (const auto& a : f.defaults) attributes.emplace(a.name(), &a);
  const bool known = inputs_known(call);
  if (!known) throw Blocked{};
  if (call.node.input_size() > f.body->input_size() ||
      call.node.output_size() > f.body->output_size()) {
    throw Unsupported(fmt::format("function '{}' has fewer inputs or outputs", f.body->name()));
  }
  Names names;  // a function sees nothing but its inputs
  for (int i = 0; i < f.body->input_size(); ++i) {
    const bool given = i < call.node.input_size() && !call.node.input(i).empty();
    if (given) names.here.insert_or_assign(f.body->input(i), *call.names.find(call.node.input(i)));
  }
  const size_t first_new = graph_.values.size();
  convert_all(f.body->node(), names,
              Place{&f.opsets, &attributes, call.name + "/", call.place.depth + 1});
  std::vector<ValueId> values;
  for (int i = 0; i < call.node.output_size(); ++i) {
    const auto* v = names.find(f.body->output(i));
    if (!v) throw Unsupported(fmt::format("nothing computes the output '{}'", f.body->output(i)));
    if (!*v) throw Blocked{};
    values.push_back(**v);
  }
  bind_outputs(call, values, first_new);
}

}  // namespace tenon::onnx
