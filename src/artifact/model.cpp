// SPDX-License-Identifier: Apache-2.0
#include "artifact/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "artifact/library.h"
#include "artifact/manifest_file.h"
#include "artifact/sizes_text.h"
#include "ir/dtype.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<StepInfo> parse_steps(const Json& manifest) {
  std::vector<StepInfo> steps;
  for (const Json& s : manifest.at("steps")) {
    const Json& k = manifest.at("kernels").at(s.at("kernel").get<size_t>());
    steps.push_back(
        {k.at("name"), k.at("task"), k.at("origin"), s.at("nodes"), k.at("flops"), k.at("bytes")});
  }
  return steps;
}

std::vector<Dim> parse_dims(const Json& manifest) {
  std::vector<Dim> dims;
  if (!manifest.contains("dims")) return dims;
  for (const Json& d : manifest.at("dims")) {
    const bool padded = d.contains("padded_to");
    const char* compiled = padded                          ? "padded_to"
                           : d.contains("put_together_of") ? "put_together_of"
                                                           : "values";
    dims.push_back({d.at("name"), d.at("values"), d.at(compiled), padded});
  }
  return dims;
}

// By the sizes of a variant.
std::map<std::vector<int64_t>, std::vector<StepInfo>> parse_variants(const Json& manifest) {
  std::map<std::vector<int64_t>, std::vector<StepInfo>> all;
  if (!manifest.contains("variants")) return all;
  for (const Json& v : manifest.at("variants")) {
    std::vector<StepInfo> steps;
    for (const Json& s : v.at("steps")) {
      const Json& k = manifest.at("kernels").at(s.at(0).get<size_t>());
      // Libraries of earlier versions have no lists.
      const Json nodes =
          s.size() > 4 ? manifest.at("node_lists").at(s.at(4).get<size_t>()) : Json(Json::array());
      steps.push_back({k.at("name"), s.at(1), k.at("origin"), nodes, s.at(2), s.at(3)});
    }
    all.emplace(v.at("sizes").get<std::vector<int64_t>>(), std::move(steps));
  }
  return all;
}

// Axes that are computed of dimensions. What cannot be read is none that this library was written with.
std::map<size_t, SizeSum> parse_sums(const Json& input, const std::vector<Dim>& dims) {
  std::map<size_t, SizeSum> sums;
  if (!input.contains("computed")) return sums;
  std::set<std::string> names;
  for (const Dim& d : dims) names.insert(d.name);
  for (const auto& [axis, text] : input.at("computed").items()) {
    const std::string sum = text.get<std::string>();
    const auto parsed = parse_size_sum(sum, names);
    TENON_CHECK(parsed || names.count(sum) != 0) << sum;
    sums.emplace(std::stoul(axis), parsed ? *parsed : SizeSum{0, {{sum, 1}}});
  }
  return sums;
}

// Types and shapes are the table's, by which the library runs. Names are the manifest's: there every byte that is no
// UTF-8 is replaced, so that they can be shown.
std::vector<TensorInfo> named(std::vector<TensorInfo> table, const Json& list) {
  TENON_CHECK(table.size() == list.size());
  for (size_t i = 0; i < table.size(); ++i) {
    table[i].name = list[i].at("name");
    table[i].counted = list[i].contains("counted");
  }
  return table;
}

std::vector<std::vector<int64_t>> shapes_of(const std::vector<ir::Array>& arrays) {
  std::vector<std::vector<int64_t>> shapes;
  for (const ir::Array& a : arrays) shapes.push_back(a.shape());
  return shapes;
}

}  // namespace

void compute_sizes(std::vector<TensorInfo>& inputs, const std::vector<Dim>& dims) {
  std::map<std::string, int64_t> sizes;
  for (const TensorInfo& t : inputs) {
    for (size_t a = 0; a < t.dims.size(); ++a) {
      if (t.dims[a] >= 0) sizes[dims[static_cast<size_t>(t.dims[a])].name] = t.shape[a];
    }
  }
  for (TensorInfo& t : inputs) {
    for (const auto& [axis, sum] : t.sums) t.shape[axis] = sum.at(sizes).value_or(t.shape[axis]);
  }
}

std::vector<StepInfo> steps_of(const ManifestFile& file) {
  try {
    return parse_steps(Json::parse(file.text));
  } catch (const Json::exception& e) {
    throw UserError(fmt::format("{} is damaged: {}", file.path.string(), e.what()));
  }
}

struct Model::Impl {
  explicit Impl(const fs::path& path) : file(read_manifest(path)), library(file) {
    const Json inside = Json::parse(library.manifest());
    inputs = named(library.inputs(), inside.at("inputs"));
    outputs = named(library.outputs(), inside.at("outputs"));
    steps = parse_steps(inside);
    dims = parse_dims(inside);
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].sums = parse_sums(inside.at("inputs").at(i), dims);
    }
    variants = parse_variants(inside);
    weights_bytes = inside.at("memory").at("weights_bytes");
    TENON_CHECK(steps.size() == static_cast<size_t>(library.step_count()));
    directory = file.directory();
    file.target = library.target();
  }

  ManifestFile file;
  Library library;
  fs::path directory;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<StepInfo> steps;
  std::vector<Dim> dims;
  std::map<std::vector<int64_t>, std::vector<StepInfo>> variants;
  int64_t weights_bytes = 0;
};

Model Model::load(const fs::path& path) {
  return Model(std::make_shared<const Impl>(find_manifest(path)));
}

const std::string& Model::name() const { return impl_->file.name; }
const fs::path& Model::directory() const { return impl_->directory; }
const std::vector<TensorInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const { return impl_->outputs; }
const std::vector<StepInfo>& Model::steps() const { return impl_->steps; }
const std::vector<Dim>& Model::dims() const { return impl_->dims; }

std::vector<TensorInfo> Model::inputs_at(const std::map<std::string, int64_t>& sizes) const {
  std::vector<TensorInfo> list = inputs();
  for (const auto& [name, size] : sizes) {
    const auto dim = std::find_if(dims().begin(), dims().end(),
                                  [&, &n = name](const Dim& d) { return d.name == n; });
    if (dim == dims().end()) {
      throw UserError(fmt::format("{} has no open dimension '{}'", this->name(), name));
    }
    if (!std::binary_search(dim->values.begin(), dim->values.end(), size)) {
      throw UserError(fmt::format("{} takes {} = {}, not {}", this->name(), name,
                                  values_text(dim->values), size));
    }
    for (TensorInfo& t : list) {
      for (size_t a = 0; a < t.dims.size(); ++a) {
        if (t.dims[a] == dim - dims().begin()) t.shape[a] = size;
      }
    }
  }
  compute_sizes(list, dims());
  return list;
}

const std::string& Model::target() const { return impl_->file.target; }
const std::string& Model::manifest() const { return impl_->file.text; }
int64_t Model::weights_bytes() const { return impl_->weights_bytes; }
int64_t Model::workspace_bytes() const {
  return static_cast<int64_t>(impl_->library.workspace_bytes());
}

bool Model::is_for_gpu() const { return impl_->library.run_device != nullptr; }

Session::Session(const Model& model, const SessionOptions& options) : model_(model) {
  const std::string weights = (model.directory() / (model.name() + ".weights")).string();
  tenon_model_options o{};
  o.size = sizeof o;
  o.threads = options.threads;
  o.runtime = options.runtime;
  o.device = options.device;
  if (model.impl_->library.weights_bytes() > 0) o.weights_path = weights.c_str();
  const char* why = "";
  tenon_model_ctx* ctx = model.impl_->library.create_with(&o, &why);
  if (ctx == nullptr) {
    throw UserError(why);
  }
  const auto destroy = model.impl_->library.destroy;
  ctx_ = {ctx, [destroy](void* p) { destroy(static_cast<tenon_model_ctx*>(p)); }};
}

int Session::threads() const {
  return model_.impl_->library.threads(static_cast<const tenon_model_ctx*>(ctx_.get()));
}

void Session::set_shape(size_t input, const std::vector<int64_t>& shape) {
  const char* why = nullptr;
  const int code = model_.impl_->library.set_shape(static_cast<tenon_model_ctx*>(ctx_.get()),
                                                   static_cast<int32_t>(input), shape.data(),
                                                   static_cast<int32_t>(shape.size()), &why);
  if (code != 0 && why != nullptr) throw UserError(why);
  check_answer(code);
}

void Session::set_shapes(const std::vector<std::vector<int64_t>>& shapes) {
  const std::vector<TensorInfo>& inputs = model_.inputs();
  TENON_CHECK(shapes.size() == inputs.size());
  for (size_t i = 0; i < shapes.size(); ++i) set_shape(i, shapes[i]);
  // A later input may have another size of the same dimension.
  for (size_t i = 0; i < shapes.size(); ++i) {
    const TensorInfo now = input(i);
    for (size_t a = 0; a < now.shape.size(); ++a) {
      if (now.shape[a] == shapes[i][a]) continue;
      const auto sum = inputs[i].sums.find(a);
      const std::string what = sum != inputs[i].sums.end()
                                   ? sum->second.text()
                                   : model_.dims()[static_cast<size_t>(inputs[i].dims[a])].name;
      throw UserError(fmt::format("input '{}' has size {} where {} is {} by the other inputs",
                                  inputs[i].name, shapes[i][a], what, now.shape[a]));
    }
  }
}

TensorInfo Session::input(size_t i) const {
  const Library& library = model_.impl_->library;
  TensorInfo t = library.info(
      *library.input_now(static_cast<const tenon_model_ctx*>(ctx_.get()), static_cast<int32_t>(i)));
  t.name = model_.inputs()[i].name;
  return t;
}

TensorInfo Session::output(size_t i) const {
  const Library& library = model_.impl_->library;
  TensorInfo t = library.info(*library.output_now(static_cast<const tenon_model_ctx*>(ctx_.get()),
                                                  static_cast<int32_t>(i)));
  t.name = model_.outputs()[i].name;
  return t;
}

TensorInfo Session::output_given(size_t i) const {
  const Library& library = model_.impl_->library;
  TensorInfo t = library.info(*library.output_given(static_cast<const tenon_model_ctx*>(ctx_.get()),
                                                    static_cast<int32_t>(i)));
  t.name = model_.outputs()[i].name;
  return t;
}

std::vector<StepInfo> Session::steps() const {
  const std::vector<Dim>& dims = model_.dims();
  if (dims.empty()) return model_.steps();
  std::vector<int64_t> sizes(dims.size());
  for (size_t i = 0; i < model_.inputs().size(); ++i) {
    const TensorInfo t = input(i);
    for (size_t a = 0; a < t.dims.size(); ++a) {
      if (t.dims[a] >= 0) sizes[static_cast<size_t>(t.dims[a])] = t.shape[a];
    }
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<int64_t>& compiled = dims[d].compiled;
    if (dims[d].padded) {
      sizes[d] = *std::lower_bound(compiled.begin(), compiled.end(), sizes[d]);
    }
  }
  const auto parted = std::find_if(
      dims.begin(), dims.end(), [](const Dim& d) { return d.compiled != d.values && !d.padded; });
  if (parted == dims.end()) return model_.impl_->variants.at(sizes);
  int64_t& part = sizes[static_cast<size_t>(parted - dims.begin())];
  std::vector<StepInfo> steps;
  for (int64_t left = part; left > 0; left -= part) {
    part = *std::prev(std::upper_bound(parted->compiled.begin(), parted->compiled.end(), left));
    const std::vector<StepInfo>& more = model_.impl_->variants.at(sizes);
    steps.insert(steps.end(), more.begin(), more.end());
  }
  return steps;
}

std::vector<ir::Array> Session::run(const std::vector<ir::Array>& inputs) {
  const std::vector<TensorInfo>& expected = model_.inputs();
  if (inputs.size() != expected.size()) {
    throw UserError(
        fmt::format("{} takes {} inputs, not {}", model_.name(), expected.size(), inputs.size()));
  }
  if (!model_.dims().empty()) set_shapes(shapes_of(inputs));
  std::vector<const void*> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo wanted = input(i);
    if (inputs[i].dtype() != wanted.dtype || inputs[i].shape() != wanted.shape) {
      throw UserError(fmt::format("input '{}' is {} {}, not {} {}", wanted.name,
                                  ir::to_string(wanted.dtype), shape_text(wanted.shape),
                                  ir::to_string(inputs[i].dtype()), shape_text(inputs[i].shape())));
    }
    in.push_back(inputs[i].data());
  }
  std::vector<ir::Array> results;
  std::vector<void*> out;
  for (size_t i = 0; i < model_.outputs().size(); ++i) {
    const TensorInfo t = output(i);
    results.emplace_back(t.dtype, t.shape);
  }
  for (ir::Array& a : results) {
    out.push_back(a.data());
  }
  run(in.data(), out.data());
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorInfo t = output_given(i);
    if (t.shape == results[i].shape()) continue;
    ir::Array rows(t.dtype, t.shape);
    std::copy(results[i].data(), results[i].data() + rows.bytes(), rows.data());
    results[i] = std::move(rows);
  }
  return results;
}

void Session::check_answer(int code) const {
  if (code == 0) {
    return;
  }
  const Library& library = model_.impl_->library;
  const auto* ctx = static_cast<const tenon_model_ctx*>(ctx_.get());
  const char* more = library.driver_error != nullptr ? library.driver_error(ctx) : "";
  throw UserError(fmt::format("{}: {}", model_.name(), library.error(code)), more);
}

void Session::run(const void* const* inputs, void* const* outputs) {
  if (hook_ != nullptr) hook_->first = hook_->next = 0;
  check_answer(
      model_.impl_->library.run(static_cast<tenon_model_ctx*>(ctx_.get()), inputs, outputs));
}

void Session::run_device(const uint64_t* inputs, const uint64_t* outputs, void* stream) {
  const Library& library = model_.impl_->library;
  if (library.run_device == nullptr) {
    throw UserError(
        fmt::format("{} was compiled for {}, which is no GPU", model_.name(), model_.target()));
  }
  check_answer(
      library.run_device(static_cast<tenon_model_ctx*>(ctx_.get()), inputs, outputs, stream));
}

// Steps are counted from the start of the run, also where it consists of several parts that count their own.
void Session::set_hook(Hook hook) {
  const bool parts = std::any_of(model_.dims().begin(), model_.dims().end(),
                                 [](const Dim& d) { return d.compiled != d.values; });
  hook_ = hook ? std::make_unique<Counted>(Counted{std::move(hook), parts}) : nullptr;
  const tenon_model_hook call = [](void* user, int32_t step, int32_t after) {
    auto& counted = *static_cast<Counted*>(user);
    if (counted.parts && after == 0 && step == 0) counted.first = counted.next;
    counted.next = counted.first + step + 1;
    counted.hook(counted.first + step, after != 0);
  };
  model_.impl_->library.set_hook(static_cast<tenon_model_ctx*>(ctx_.get()),
                                 hook_ != nullptr ? call : nullptr, hook_.get());
}

}  // namespace tenon::artifact
