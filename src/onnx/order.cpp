// SPDX-License-Identifier: Apache-2.0
#include "onnx/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>

#include "support/check.h"

namespace tenon::onnx {
namespace {

using Visit = std::function<void(const std::string&)>;

// Every name that a node reads, in its subgraphs too; names that are defined inside come along.
void visit_reads(const proto::NodeProto& node, const Visit& visit) {
  for (const std::string& name : node.input()) visit(name);
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const auto& inner : attribute.g().node()) visit_reads(inner, visit);
    for (const auto& out : attribute.g().output()) visit(out.name());
  }
}

std::string describe(const proto::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : node.op_type();
}

[[noreturn]] void refuse_circle(const Nodes& nodes, const std::vector<int>& waits_for) {
  std::vector<std::string> names;
  for (int n = 0; n < nodes.size() && names.size() < 5; ++n) {
    if (waits_for[static_cast<size_t>(n)] > 0) names.push_back(describe(nodes.Get(n)));
  }
  throw UserError(
      fmt::format("nodes depend on each other in a circle, among them {}", fmt::join(names, ", ")));
}

}  // namespace

std::vector<int> execution_order(const Nodes& nodes) {
  std::unordered_map<std::string_view, int> producer;
  for (int n = 0; n < nodes.size(); ++n) {
    for (const std::string& out : nodes.Get(n).output()) {
      if (!out.empty() && !producer.emplace(out, n).second) {
        throw UserError(fmt::format("two nodes compute '{}'", out));
      }
    }
  }
  std::vector<std::vector<int>> readers(static_cast<size_t>(nodes.size()));
  std::vector<int> waits_for(static_cast<size_t>(nodes.size()), 0);
  for (int n = 0; n < nodes.size(); ++n) {
    visit_reads(nodes.Get(n), [&](const std::string& name) {
      const auto it = producer.find(name);
      if (it == producer.end()) return;
      readers[static_cast<size_t>(it->second)].push_back(n);
      ++waits_for[static_cast<size_t>(n)];
    });
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int n = 0; n < nodes.size(); ++n) {
    if (waits_for[static_cast<size_t>(n)] == 0) ready.push(n);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int n = ready.top();
    ready.pop();
    order.push_back(n);
    for (const int reader : readers[static_cast<size_t>(n)]) {
      if (--waits_for[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() < static_cast<size_t>(nodes.size())) refuse_circle(nodes, waits_for);
  return order;
}

}  // namespace tenon::onnx
