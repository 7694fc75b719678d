// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <filesystem>

#include "api/guarded.h"
#include "artifact/write.h"
#include "onnx/import.h"
#include "plan/text.h"
#include "tenon/tenon.h"

namespace tenon::api {
namespace {

onnx::ImportOptions import_options(const CompileOptions& o) {
  onnx::ImportOptions options;
  options.dims = o.dims;
  options.shapes = o.shapes;
  return options;
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

}  // namespace tenon::api
