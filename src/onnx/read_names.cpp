// SPDX-License-Identifier: Apache-2.0
#include "onnx/read_names.h"

namespace tenon::onnx {
namespace {

void add(const proto::GraphProto& g, std::set<std::string>& names) {
  for (const auto& out : g.output()) names.insert(out.name());
  for (const auto& node : g.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add(attribute.g(), names);
    }
  }
}

}  // namespace

std::set<std::string> read_names(const proto::GraphProto& g) {
  std::set<std::string> names;
  add(g, names);
  return names;
}

}  // namespace tenon::onnx
