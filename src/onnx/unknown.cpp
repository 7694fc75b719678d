// SPDX-License-Identifier: Apache-2.0
#include "onnx/unknown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tenon::onnx {
namespace {

using graph::ValueId;

// Few numbers are a setting of the model, such as a rate; more are its data.
bool is_setting(const graph::Value& v) {
  constexpr int64_t kFew = 4;
  return v.elements() >= 1 && v.elements() <= kFew && v.shape.size() <= 1;
}

// A paddings list of a volume has ten.
bool is_list(const graph::Value& v) {
  constexpr int64_t kMost = 16;
  return v.shape.size() <= 1 && (v.dtype.is_int() || v.elements() <= kMost);
}

// "--bind sr=N" for a setting, "--bind axes=@axes.npy" for more numbers.
std::string bind_of(const graph::Value& v) {
  const char* kind = v.dtype.is_bool() ? "true" : "N";
  if (!is_setting(v)) return fmt::format("--bind {0}=@{0}.npy", v.name);
  const std::vector<const char*> numbers(static_cast<size_t>(v.elements()), kind);
  return fmt::format("--bind {}={}", v.name, fmt::join(numbers, ","));
}

std::string make_constants(const graph::Graph& g, const std::vector<ValueId>& inputs) {
  std::vector<std::string> binds;
  for (const ValueId in : inputs) binds.push_back(bind_of(g.value(in)));
  return fmt::format("make {}: {}", inputs.size() == 1 ? "it a constant" : "them constants",
                     fmt::join(binds, " "));
}

// What the model has and knows without the node need not become an output.
std::string end_before(const graph::Graph& g, const std::vector<ValueId>& read) {
  std::vector<ValueId> outputs;
  for (const ValueId v : read) {
    const bool is_input = std::find(g.inputs.begin(), g.inputs.end(), v) != g.inputs.end();
    if (!g.value(v).constant() && !is_input) outputs.push_back(v);
  }
  const std::string with = outputs.empty() ? "what it reads" : quoted_names(g, outputs);
  return fmt::format(
      "end the model before this node, with {} as {}, and do its work behind the library", with,
      outputs.size() == 1 ? "an output" : "outputs");
}

}  // namespace

std::vector<ValueId> inputs_behind(const graph::Graph& g, ValueId v) {
  const std::vector<graph::NodeId> producers = g.producers();
  std::set<ValueId> seen = {v};
  std::vector<ValueId> open = {v};
  while (!open.empty()) {
    const ValueId at = open.back();
    const graph::NodeId n = producers[static_cast<size_t>(at)];
    open.pop_back();
    std::vector<ValueId> sources;
    if (n >= 0) sources = g.nodes[static_cast<size_t>(n)].inputs;
    for (const graph::FlowOp& op : g.flow) {
      if (n < 0 && op.writes() == at && op.from >= 0) sources.push_back(op.from);
    }
    for (const ValueId in : sources) {
      if (!g.value(in).constant() && seen.insert(in).second) open.push_back(in);
    }
  }
  std::vector<ValueId> inputs;
  for (const ValueId in : g.inputs) {
    if (seen.count(in)) inputs.push_back(in);
  }
  return inputs;
}

std::string quoted_names(const graph::Graph& g, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (const ValueId v : values) names.push_back(fmt::format("'{}'", g.value(v).name));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string hint_to_know(const graph::Graph& g, const std::vector<ValueId>& inputs,
                         Bindable bindable, const std::vector<ValueId>& read) {
  const bool all = std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
    return is_setting(g.value(v)) || (bindable == Bindable::kLists && is_list(g.value(v)));
  });
  return all && !inputs.empty() ? make_constants(g, inputs) : end_before(g, read);
}

}  // namespace tenon::onnx
