// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/open_form.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::onnx_suite {
namespace {

using Values = std::map<std::string, ir::Array>;

struct Axis {
  std::string input;
  size_t axis = 0;
};
struct Dim {
  std::string name;
  int64_t recorded = 0;
  std::vector<Axis> axes;  // that have it
};

// The importer is given these options where dimensions have these sizes.
onnx::ImportOptions options_at(const Values& inputs, const std::set<std::string>& bound,
                               const std::vector<Dim>& dims, const std::vector<int64_t>& sizes) {
  onnx::ImportOptions options;
  for (const auto& [name, value] : inputs) {
    if (bound.contains(name)) {
      options.bound.emplace(name, value);
    } else {
      options.shapes.emplace(name, value.shape());
    }
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    for (const Axis& a : dims[d].axes) options.shapes.at(a.input)[a.axis] = sizes[d];
  }
  return options;
}

std::vector<Dim> stated_dims(const onnx::Source& source, const Values& inputs,
                             const std::set<std::string>& bound) {
  std::map<std::string, Dim> dims;
  for (const onnx::StatedInput& in : source.inputs()) {
    const auto value = inputs.find(in.name);
    if (value == inputs.end() || bound.contains(in.name)) continue;
    for (size_t a = 0; a < in.shape.size() && a < value->second.shape().size(); ++a) {
      if (in.shape[a] >= 0) continue;
      const std::string name =
          in.dim_names[a].empty() ? fmt::format("{}.{}", in.name, a) : in.dim_names[a];
      const int64_t recorded = value->second.shape()[a];
      Dim& dim = dims.try_emplace(name, Dim{name, recorded, {}}).first->second;
      // The suite gives two sizes to one name in places; then each is a dimension of its own.
      const bool same = dim.recorded == recorded;
      Dim& own = same ? dim : dims[fmt::format("{}.{}", in.name, a)];
      if (!same) own = {fmt::format("{}.{}", in.name, a), recorded, {}};
      own.axes.push_back({in.name, a});
    }
  }
  std::vector<Dim> list;
  for (auto& [name, dim] : dims) list.push_back(std::move(dim));
  return list;
}

// Another size that the model takes.
std::optional<int64_t> other_size(const onnx::Source& source, const Values& inputs,
                                  const std::set<std::string>& bound, const Dim& dim) {
  for (const int64_t size : {dim.recorded + 1, dim.recorded - 1, int64_t{1}}) {
    if (size < 1 || size == dim.recorded) continue;
    try {
      source.import(options_at(inputs, bound, {dim}, {size}));
      return size;
    } catch (const onnx::ImportError&) {
    }
  }
  return std::nullopt;
}

std::vector<std::vector<int32_t>> dims_of_inputs(const graph::Graph& g,
                                                 const std::vector<Dim>& dims) {
  std::vector<std::vector<int32_t>> out;
  for (const graph::ValueId v : g.inputs) {
    std::vector<int32_t>& axes = out.emplace_back(g.value(v).shape.size(), -1);
    for (size_t d = 0; d < dims.size(); ++d) {
      for (const Axis& a : dims[d].axes) {
        if (a.input == g.value(v).name) axes[a.axis] = static_cast<int32_t>(d);
      }
    }
  }
  return out;
}

}  // namespace

std::optional<OpenForm> open_form(const onnx::Source& source, const Values& inputs,
                                  const std::set<std::string>& bound) {
  std::vector<Dim> dims;
  OpenForm form;
  std::vector<int64_t> recorded;
  for (Dim& dim : stated_dims(source, inputs, bound)) {
    const auto other = other_size(source, inputs, bound, dim);
    if (!other) {
      form.closed.push_back(dim.name);
      continue;
    }
    recorded.push_back(dim.recorded);
    form.model.dims.push_back(
        {dim.name, {std::min(*other, dim.recorded), std::max(*other, dim.recorded)}});
    dims.push_back(std::move(dim));
  }
  if (dims.empty() && form.closed.empty()) return std::nullopt;
  form.model.at = [source, inputs, bound, dims](const std::vector<int64_t>& sizes) {
    return source.import(options_at(inputs, bound, dims, sizes)).graph;
  };
  form.model.input_dims = dims_of_inputs(form.model.at(recorded), dims);
  return form;
}

}  // namespace tenon::onnx_suite
