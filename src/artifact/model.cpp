// SPDX-License-Identifier: Apache-2.0
#include "artifact/model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "artifact/header.h"
#include "artifact/library.h"
#include "artifact/manifest_file.h"
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

// Types and shapes are the table's, by which the library runs. Names are the manifest's: there every byte that is no
// UTF-8 is replaced, so that they can be shown.
std::vector<TensorInfo> named(std::vector<TensorInfo> table, const Json& list) {
  TENON_CHECK(table.size() == list.size());
  for (size_t i = 0; i < table.size(); ++i) {
    table[i].name = list[i].at("name");
  }
  return table;
}

}  // namespace

struct Model::Impl {
  explicit Impl(const fs::path& path) : file(read_manifest(path)), library(file) {
    const Json inside = Json::parse(library.manifest());
    inputs = named(library.inputs(), inside.at("inputs"));
    outputs = named(library.outputs(), inside.at("outputs"));
    steps = parse_steps(inside);
    weights_bytes = inside.at("memory").at("weights_bytes");
    TENON_CHECK(steps.size() == static_cast<size_t>(library.step_count()));
    directory = file.directory();
  }

  ManifestFile file;
  Library library;
  fs::path directory;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<StepInfo> steps;
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
  o.threads = options.threads;
  o.runtime = options.runtime;
  o.device = options.device;
  o.weights_path = weights.c_str();
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

std::vector<ir::Array> Session::run(const std::vector<ir::Array>& inputs) {
  const std::vector<TensorInfo>& expected = model_.inputs();
  if (inputs.size() != expected.size()) {
    throw UserError(
        fmt::format("{} takes {} inputs, not {}", model_.name(), expected.size(), inputs.size()));
  }
  std::vector<const void*> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != expected[i].dtype || inputs[i].shape() != expected[i].shape) {
      throw UserError(fmt::format("input '{}' is {} {}, not {} {}", expected[i].name,
                                  ir::to_string(expected[i].dtype), shape_text(expected[i].shape),
                                  ir::to_string(inputs[i].dtype()), shape_text(inputs[i].shape())));
    }
    in.push_back(inputs[i].data());
  }
  std::vector<ir::Array> results;
  std::vector<void*> out;
  for (const TensorInfo& t : model_.outputs()) {
    results.emplace_back(t.dtype, t.shape);
  }
  for (ir::Array& a : results) {
    out.push_back(a.data());
  }
  run(in.data(), out.data());
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

void Session::set_hook(Hook hook) {
  hook_ = hook ? std::make_unique<Hook>(std::move(hook)) : nullptr;
  const tenon_model_hook call = [](void* user, int32_t step, int32_t after) {
    (*static_cast<Hook*>(user))(step, after != 0);
  };
  model_.impl_->library.set_hook(static_cast<tenon_model_ctx*>(ctx_.get()),
                                 hook_ != nullptr ? call : nullptr, hook_.get());
}

}  // namespace tenon::artifact
