// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <filesystem>
#include <utility>

#include "api/guarded.h"
#include "artifact/write.h"
#include "compile/sizes.h"
#include "onnx/import.h"
#include "onnx/sizes.h"
#include "plan/text.h"
#include "tenon/tenon.h"

namespace tenon::api {
namespace {

struct Opened {
  onnx::Source source;
  onnx::OpenSizes sizes;
};

Opened open_model(const std::string& model, const CompileOptions& o, bool for_cpu) {
  onnx::SizeRequest request;
  if (for_cpu) request.batch = onnx::parse_sizes("1..8", "batch");
  for (const auto& [name, size] : o.dims) request.dims[name] = {size};
  for (const auto& [name, sizes] : o.sizes) request.dims[name] = onnx::parse_sizes(sizes, name);
  for (const auto& [name, shape] : o.shapes) {
    std::vector<onnx::Sizes>& extents = request.shapes[name];
    for (const int64_t e : shape) extents.push_back({e});
  }
  onnx::Source source = onnx::Source::from_file(model);
  onnx::OpenSizes sizes = onnx::open_sizes(source, request);
  return {std::move(source), std::move(sizes)};
}

std::vector<int64_t> largest(const onnx::OpenSizes& sizes) {
  std::vector<int64_t> out;
  for (const onnx::OpenSizes::Dim& d : sizes.dims) out.push_back(d.sizes.back());
  return out;
}

artifact::Program build(const Opened& opened, const std::string& name,
                        const compile::Options& how) {
  const auto at = [&](const std::vector<int64_t>& sizes) {
    return opened.source.import(opened.sizes.at(sizes)).graph;
  };
  if (opened.sizes.dims.empty()) return compile::compile(at({}), name, how);
  compile::OpenModel model{{}, opened.sizes.input_dims, at, opened.sizes.input_sums};
  for (const onnx::OpenSizes::Dim& d : opened.sizes.dims) model.dims.push_back({d.name, d.sizes});
  return compile::compile_sizes(model, name, how);
}

}  // namespace

std::vector<std::string> check(const std::string& model, const CompileOptions& options) {
  return guarded([&] {
    std::vector<std::string> out;
    const Opened opened = open_model(model, options, true);
    for (const onnx::Problem& p :
         opened.source.check(opened.sizes.at(largest(opened.sizes))).problems) {
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
    if (!options.lock.empty()) {
      how.plan = plan::read_lock(options.lock, plan::target_name(how.target));
    }
    const std::string name =
        options.name.empty() ? std::filesystem::path(model).stem().string() : options.name;
    const artifact::Program program =
        build(open_model(model, options, how.target.is_cpu()), name, how);
    return artifact::write(program,
                           {folder, artifact::parse_outputs(options.emit), options.threads})
        .files;
  });
}

}  // namespace tenon::api
