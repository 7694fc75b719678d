// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "onnx/import.h"
#include "plan/text.h"
#include "tenon/tenon.h"

namespace tenon::api {
namespace {

// The public face has one exception; a bug of ours says that it is one.
template <class F>
auto guarded(const F& fn) {
  try {
    return fn();
  } catch (const UserError& e) {
    throw Error(e.what());
  } catch (const InternalError& e) {
    throw Error(std::string("internal error: ") + e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    throw Error(e.what());
  }
}

onnx::ImportOptions import_options(const CompileOptions& o) {
  onnx::ImportOptions options;
  options.dims = o.dims;
  options.shapes = o.shapes;
  return options;
}

std::vector<Tensor> tensors(const std::vector<artifact::TensorInfo>& infos) {
  std::vector<Tensor> out;
  for (const artifact::TensorInfo& t : infos) {
    out.push_back({t.name, ir::to_string(t.dtype), t.shape, t.bytes()});
  }
  return out;
}

}  // namespace

std::vector<std::string> check(const std::string& model, const CompileOptions& options) {
  return guarded([&] {
    std::vector<std::string> out;
    for (const onnx::Problem& p : onnx::check_file(model, import_options(options)).problems) {
      out.push_back(p.op + " \"" + p.node + "\": " + p.reason);
    }
    return out;
  });
}

std::vector<std::string> compile(const std::string& model, const std::string& folder,
                                 const CompileOptions& options) {
  return guarded([&] {
    compile::Options how;
    how.target = target::parse_target(options.target);
    how.frozen = options.frozen;
    how.threads = options.threads;
    how.progress = options.progress;
    how.warn = options.warn;
    if (!options.lock.empty()) how.plan = plan::read_lock(options.lock);
    onnx::Imported imported = onnx::import_file(model, import_options(options));
    const std::string name =
        options.name.empty() ? std::filesystem::path(model).stem().string() : options.name;
    const artifact::Program program = compile::compile(std::move(imported.graph), name, how);
    return artifact::write(program,
                           {folder, artifact::parse_outputs(options.emit), options.threads})
        .files;
  });
}

struct Library::Impl {
  artifact::Model model;
  std::vector<Tensor> inputs, outputs;
};

Library Library::load(const std::string& folder) {
  return guarded([&] {
    artifact::Model m = artifact::Model::load(folder);
    auto in = tensors(m.inputs());
    auto out = tensors(m.outputs());
    return Library(std::make_shared<const Impl>(Impl{std::move(m), std::move(in), std::move(out)}));
  });
}

const std::string& Library::name() const { return impl_->model.name(); }
const std::vector<Tensor>& Library::inputs() const { return impl_->inputs; }
const std::vector<Tensor>& Library::outputs() const { return impl_->outputs; }
const std::string& Library::manifest() const { return impl_->model.manifest(); }

struct Session::Impl {
  artifact::Session session;
  size_t inputs, outputs;
};

Session::Session(const Library& library, int threads)
    : impl_(guarded([&] {
        return std::make_unique<Impl>(Impl{artifact::Session(library.impl_->model, threads),
                                           library.inputs().size(), library.outputs().size()});
      })) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
  if (inputs.size() != impl_->inputs || outputs.size() != impl_->outputs) {
    throw Error("the model has " + std::to_string(impl_->inputs) + " inputs and " +
                std::to_string(impl_->outputs) + " outputs");
  }
  guarded([&] { impl_->session.run(inputs.data(), outputs.data()); });
}

}  // namespace tenon::api
