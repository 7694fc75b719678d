// SPDX-License-Identifier: Apache-2.0
#include "onnx/import.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "onnx/importer.h"
#include "onnx/model_file.h"

namespace tenon::onnx {
namespace {

ModelInfo describe(const proto::ModelProto& m) {
  ModelInfo info;
  info.name = m.graph().name();
  info.producer = m.producer_name();
  if (!m.producer_version().empty()) info.producer += " " + m.producer_version();
  info.ir_version = m.ir_version();
  for (const auto& set : m.opset_import()) {
    if (plain_domain(set.domain()).empty()) info.opset = set.version();
  }
  info.nodes = m.graph().node_size();
  for (const auto& node : m.graph().node()) ++info.ops[node.op_type()];
  return info;
}

struct Walked {
  graph::Graph graph;
  Report report;
};

Walked walk(const proto::ModelProto& model, const std::string& folder, const ImportOptions& options,
            TensorCache& initializers) {
  Walked w;
  w.report.info = describe(model);
  Importer importer(model, folder, options, initializers);
  importer.run();
  w.report.info.parameters = importer.parameters();
  w.report.problems = importer.problems();
  w.graph = std::move(importer.graph());
  return w;
}

Imported finish(Walked w, const std::string& file) {
  if (!w.report.problems.empty()) throw ImportError(file, std::move(w.report.problems));
  w.graph.compact();
  return {std::move(w.graph), std::move(w.report.info)};
}

// The bytes are dropped as soon as they are parsed: weights are large.
proto::ModelProto parsed(FileBytes bytes) { return parse_model(bytes.view()); }

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

template <class Fn>
auto with_place(const std::string& path, const Fn& fn) {
  try {
    return fn();
  } catch (const ImportError&) {
    throw;
  } catch (const UserError& e) {
    throw UserError(path, 0, 0, e.what());
  } catch (const std::bad_alloc&) {
    throw UserError(path, 0, 0, "the model needs more memory than there is");
  }
}

std::string summary(const std::string& file, const std::vector<Problem>& problems) {
  constexpr size_t kShown = 5;
  std::string text = fmt::format("{}: {} node{} cannot be imported", file, problems.size(),
                                 problems.size() == 1 ? "" : "s");
  for (size_t i = 0; i < problems.size() && i < kShown; ++i) {
    const Problem& p = problems[i];
    text += fmt::format("\n  {} ({}): {}", p.node, p.op, p.reason);
    if (!p.hint.empty()) text += fmt::format(" ({})", p.hint);
  }
  if (problems.size() > kShown) text += fmt::format("\n  and {} more", problems.size() - kShown);
  return text;
}

}  // namespace

ImportError::ImportError(const std::string& file, std::vector<Problem> problems)
    : UserError(summary(file, problems)), problems_(std::move(problems)) {}

struct Source::Impl {
  std::string name, folder;
  proto::ModelProto model;
  TensorCache initializers;
};

Source Source::from_file(const std::string& path) {
  FileBytes bytes = read_file(path);
  return with_place(path, [&] {
    return Source(
        std::make_shared<Impl>(Impl{path, folder_of(path), parsed(std::move(bytes)), {}}));
  });
}

Source Source::from_bytes(const std::string& bytes, const std::string& folder) {
  return with_place("model", [&] {
    return Source(std::make_shared<Impl>(Impl{"model", folder, parse_model(bytes), {}}));
  });
}

Imported Source::import(const ImportOptions& options) const {
  return with_place(impl_->name, [&] {
    return finish(walk(impl_->model, impl_->folder, options, impl_->initializers), impl_->name);
  });
}

Report Source::check(const ImportOptions& options) const {
  return with_place(impl_->name, [&] {
    return walk(impl_->model, impl_->folder, options, impl_->initializers).report;
  });
}

std::vector<StatedInput> Source::inputs() const {
  std::set<std::string> known;
  for (const auto& t : impl_->model.graph().initializer()) known.insert(t.name());
  for (const auto& t : impl_->model.graph().sparse_initializer()) known.insert(t.values().name());
  std::vector<StatedInput> list;
  for (const auto& in : impl_->model.graph().input()) {
    if (known.count(in.name())) continue;
    StatedInput s{in.name(), std::nullopt, false, {}, {}};
    if (in.type().has_tensor_type()) s = stated_input(in.name(), in.type().tensor_type());
    list.push_back(std::move(s));
  }
  return list;
}

Imported import_file(const std::string& path, const ImportOptions& options) {
  return Source::from_file(path).import(options);
}

Imported import_bytes(const std::string& bytes, const std::string& folder,
                      const ImportOptions& options) {
  return Source::from_bytes(bytes, folder).import(options);
}

Report check_file(const std::string& path, const ImportOptions& options) {
  return Source::from_file(path).check(options);
}

ir::Array read_tensor(const std::string& bytes) {
  return with_place("tensor", [&] { return *to_data(parse_tensor(bytes), nullptr); });
}

ir::Array read_tensor_file(const std::string& path) {
  const FileBytes bytes = read_file(path);
  return with_place(path, [&] { return *to_data(parse_tensor(bytes.view()), nullptr); });
}

}  // namespace tenon::onnx
