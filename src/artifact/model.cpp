// SPDX-License-Identifier: Apache-2.0
#include "artifact/model.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "artifact/header.h"
#include "artifact/manifest.h"
#include "ir/dtype.h"
#include "runtime/model_api.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A manifest, or nothing.
Json parse_manifest(const fs::path& path) {
  Json j = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  const bool ours = j.is_object() && j.value("schema", "") == kManifestSchema;
  return ours ? j : Json();
}

std::vector<TensorInfo> parse_tensors(const Json& list) {
  std::vector<TensorInfo> tensors;
  for (const Json& t : list) {
    const auto dtype = ir::parse_dtype(t.at("dtype").get<std::string>());
    TENON_CHECK(dtype.has_value());
    tensors.push_back({t.at("name"), *dtype, t.at("shape")});
  }
  return tensors;
}

std::vector<StepInfo> parse_steps(const Json& manifest) {
  std::vector<StepInfo> steps;
  for (const Json& s : manifest.at("steps")) {
    const Json& k = manifest.at("kernels").at(s.at("kernel").get<size_t>());
    steps.push_back(
        {k.at("name"), k.at("task"), k.at("origin"), s.at("nodes"), k.at("flops"), k.at("bytes")});
  }
  return steps;
}

}  // namespace

fs::path find_manifest(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return path;
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".json" && !parse_manifest(entry.path()).is_null()) {
      found.push_back(entry.path());
    }
  }
  if (found.size() != 1) {
    throw UserError(fmt::format("{} holds {} artifacts", path.string(),
                                found.empty() ? "no" : std::to_string(found.size())),
                    found.empty() ? "tenon compile MODEL -o DIR writes one"
                                  : "name the .json file of the one that is meant");
  }
  return found.front();
}

struct Model::Impl {
  ~Impl() {
    if (library != nullptr) {
      dlclose(library);
    }
  }
  template <class Fn>
  void find(Fn*& to, const char* what) {
    to = reinterpret_cast<Fn*>(dlsym(library, (name + "_" + what).c_str()));
    if (to == nullptr) {
      throw UserError(fmt::format("{} does not define {}_{}", path.string(), name, what));
    }
  }
  void load_manifest(const fs::path& manifest_path);
  void load_library();

  fs::path path;  // of the manifest
  fs::path directory;
  std::string name, target, manifest;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<StepInfo> steps;
  std::vector<FileEntry> files;
  int64_t weights_bytes = 0;
  void* library = nullptr;
  decltype(tenon_model_create_with)* create_with = nullptr;
  decltype(tenon_model_destroy)* destroy = nullptr;
  decltype(tenon_model_run)* run = nullptr;
  decltype(tenon_model_set_hook)* set_hook = nullptr;
  decltype(tenon_model_threads)* threads = nullptr;
  decltype(tenon_model_workspace_bytes)* workspace_bytes = nullptr;
};

void Model::Impl::load_manifest(const fs::path& manifest_path) {
  path = fs::absolute(manifest_path);
  directory = path.parent_path();
  const Json j = parse_manifest(path);
  if (j.is_null()) {
    throw UserError(manifest_path.string() + " is not a manifest of an artifact",
                    "tenon compile MODEL -o DIR writes one");
  }
  try {
    manifest = read_file(path);
    name = j.at("name");
    target = j.at("target").at("name");
    inputs = parse_tensors(j.at("inputs"));
    outputs = parse_tensors(j.at("outputs"));
    steps = parse_steps(j);
    weights_bytes = j.at("memory").at("weights_bytes");
    for (const Json& f : j.at("files")) {
      files.push_back({f.at("name"), f.at("bytes"), f.at("sha256")});
    }
  } catch (const Json::exception& e) {
    throw UserError(fmt::format("{} is damaged: {}", path.string(), e.what()));
  }
}

void Model::Impl::load_library() {
  const fs::path file = directory / ("lib" + name + ".so");
  library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw UserError(fmt::format("cannot load {}: {}", file.string(), dlerror()),
                    fmt::format("it was compiled for {}", target));
  }
  find(create_with, "create_with");
  find(destroy, "destroy");
  find(run, "run");
  find(set_hook, "set_hook");
  find(threads, "threads");
  find(workspace_bytes, "workspace_bytes");
}

Model Model::load(const fs::path& path) {
  auto impl = std::make_shared<Impl>();
  impl->load_manifest(find_manifest(path));
  impl->load_library();
  return Model(std::move(impl));
}

const std::string& Model::name() const { return impl_->name; }
const fs::path& Model::directory() const { return impl_->directory; }
const std::vector<TensorInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const { return impl_->outputs; }
const std::vector<StepInfo>& Model::steps() const { return impl_->steps; }
const std::string& Model::target() const { return impl_->target; }
const std::string& Model::manifest() const { return impl_->manifest; }
int64_t Model::weights_bytes() const { return impl_->weights_bytes; }
int64_t Model::workspace_bytes() const { return static_cast<int64_t>(impl_->workspace_bytes()); }

void Model::verify() const {
  for (const FileEntry& f : impl_->files) {
    if (describe_file(impl_->directory, f.name).sha256 != f.sha256) {
      throw UserError(fmt::format("{} is damaged: its hash is not the one in the manifest",
                                  (impl_->directory / f.name).string()));
    }
  }
}

Session::Session(const Model& model, const SessionOptions& options) : model_(model) {
  const std::string weights = (model.directory() / (model.name() + ".weights")).string();
  tenon_model_options o{};
  o.threads = options.threads;
  o.runtime = options.runtime;
  o.weights_path = weights.c_str();
  const char* why = "";
  tenon_model_ctx* ctx = model.impl_->create_with(&o, &why);
  if (ctx == nullptr) {
    throw UserError(why);
  }
  const auto destroy = model.impl_->destroy;
  ctx_ = {ctx, [destroy](void* p) { destroy(static_cast<tenon_model_ctx*>(p)); }};
}

int Session::threads() const {
  return model_.impl_->threads(static_cast<const tenon_model_ctx*>(ctx_.get()));
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

void Session::run(const void* const* inputs, void* const* outputs) {
  const int code = model_.impl_->run(static_cast<tenon_model_ctx*>(ctx_.get()), inputs, outputs);
  TENON_CHECK(code == 0) << "a tensor of " << model_.name() << " has no memory";
}

void Session::set_hook(Hook hook) {
  hook_ = hook ? std::make_unique<Hook>(std::move(hook)) : nullptr;
  const tenon_model_hook call = [](void* user, int32_t step, int32_t after) {
    (*static_cast<Hook*>(user))(step, after != 0);
  };
  model_.impl_->set_hook(static_cast<tenon_model_ctx*>(ctx_.get()),
                         hook_ != nullptr ? call : nullptr, hook_.get());
}

}  // namespace tenon::artifact
