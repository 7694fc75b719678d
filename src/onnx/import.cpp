// SPDX-License-Identifier: Apache-2.0
#include "onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "onnx/importer.h"
#include "onnx/model_file.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

// Sizes that make no sense are refused where the tensor is read.
int64_t count_elements(const proto::TensorProto& t) {
  int64_t count = 1;
  for (const int64_t extent : t.dims()) {
    if (extent <= 0 || count > te::kMaxElements / extent) return 0;
    count *= extent;
  }
  return count;
}

// A type that there is not is refused where the tensor is read.
int64_t bytes_of_type(int32_t data_type) try {
  return numeric_type(data_type).bytes();
} catch (const UserError&) {
  return 0;
}

struct Parameters {
  int64_t elements = 0, bytes = 0;

  void add(int64_t count, int64_t each) {
    elements += count;
    bytes += count * each;
  }
  void add(const proto::TensorProto& t) { add(count_elements(t), bytes_of_type(t.data_type())); }
  void add(const Nodes& nodes);
  void add(const proto::GraphProto& g);
};

// Of a list of nodes: what they hold as constants, and what their subgraphs do.
void Parameters::add(const Nodes& nodes) {
  for (const auto& node : nodes) {
    for (const auto& a : node.attribute()) {
      if (a.has_g()) add(a.g());
      if (node.op_type() != "Constant") continue;
      if (a.has_t()) add(a.t());
      add(a.floats_size() + (a.name() == "value_float" ? 1 : 0), 4);
      add(a.ints_size() + (a.name() == "value_int" ? 1 : 0), 8);
    }
  }
}

void Parameters::add(const proto::GraphProto& g) {
  add(g.node());
  for (const auto& t : g.initializer()) add(t);
  for (const auto& t : g.sparse_initializer()) add(t.values());
}

ModelInfo describe(const proto::ModelProto& m) {
  ModelInfo info;
  info.name = m.graph().name();
  info.producer = m.producer_name();
  if (!m.producer_version().empty()) info.producer += " " + m.producer_version();
  info.ir_version = m.ir_version();
  for (const auto& set : m.opset_import()) {
    if (plain_domain(set.domain()).empty()) info.opset = set.version();
  }
  if (m.opset_import().empty()) info.opset = 1;  // files of the first format
  info.nodes = m.graph().node_size();
  for (const auto& node : m.graph().node()) ++info.ops[node.op_type()];
  Parameters parameters;
  parameters.add(m.graph());
  for (const auto& f : m.functions()) parameters.add(f.node());
  info.parameters = parameters.elements;
  info.parameter_bytes = parameters.bytes;
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
  } catch (const RequestError& e) {
    throw RequestError(path, 0, 0, e.what());
  } catch (const UserError& e) {
    throw UserError(path, 0, 0, e.what());
  } catch (const std::bad_alloc&) {
    throw UserError(path, 0, 0, "the model needs more memory than there is");
  }
}

std::string summary(const std::string& file, const std::vector<Problem>& problems) {
  constexpr size_t kShown = 5;
  std::string text = fmt::format("{}: {}", file, refusal_text(problems));
  for (size_t i = 0; i < problems.size() && i < kShown; ++i) {
    const Problem& p = problems[i];
    text += fmt::format("\n  {} ({}): {}", p.node, p.op, p.reason);
    if (!p.hint.empty()) text += fmt::format(" ({})", p.hint);
  }
  if (problems.size() > kShown) text += fmt::format("\n  and {} more", problems.size() - kShown);
  return text;
}

}  // namespace

std::string refusal_text(const std::vector<Problem>& problems) {
  const auto count = [&](const auto& is) {
    return std::count_if(problems.begin(), problems.end(), is);
  };
  const auto open = count([](const Problem& p) { return p.needs_sizes; });
  const auto inputs = count([](const Problem& p) { return p.op == "input" && !p.needs_sizes; });
  const auto nodes = count([](const Problem& p) { return p.op != "input"; });
  const auto text = [](std::ptrdiff_t n, const char* word) {
    return n == 0 ? "" : fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  };
  std::string out;
  if (open > 0) out = text(open, "input") + (open == 1 ? " needs sizes" : " need sizes");
  if (inputs + nodes == 0) return out;
  return out + (open > 0 ? "; " : "") + text(inputs, "input") +
         (inputs > 0 && nodes > 0 ? " and " : "") + text(nodes, "node") + " cannot be imported";
}

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

std::optional<StatedInput> Source::input(const std::string& name) const {
  for (const auto& in : impl_->model.graph().input()) {
    if (in.name() != name) continue;
    if (!in.type().has_tensor_type()) return StatedInput{name, std::nullopt, false, {}, {}};
    return stated_input(name, in.type().tensor_type());
  }
  return std::nullopt;
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
