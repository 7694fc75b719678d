// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/run_case.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "compile/run.h"
#include "graph/define.h"
#include "onnx/import.h"
#include "onnx_suite/compare.h"
#include "onnx_suite/open_form.h"

namespace tenon::onnx_suite {
namespace {

using Names = std::set<std::string>;
using Values = std::map<std::string, ir::Array>;

// The problem that says most: what is out of scope, otherwise the first.
std::string main_reason(const onnx::ImportError& e) {
  for (const onnx::Problem& p : e.problems()) {
    if (p.reason.find("out of scope") != std::string::npos) return p.reason;
  }
  const onnx::Problem& first = e.problems().at(0);
  return first.op + ": " + first.reason;
}

// Whether the input decides about something that must be known. Nobody is told to bind an image, but the cases of the suite can.
bool decides(const onnx::Problem& p, const std::string& input) {
  const auto has = [&](const std::string& text) {
    return p.reason.find(text) != std::string::npos;
  };
  return (has("how large its result is depends on") || has("must be known when compiling")) &&
         has("'" + input + "'");
}

// Inputs of the model that the problems' hints ask to bind, or that sizes depend on.
Names asked_for(const onnx::ImportError& e, const ModelSummary& model) {
  Names names;
  for (const onnx::Problem& p : e.problems()) {
    for (const ModelInput& i : model.inputs) {
      const bool asked = p.hint.find("--bind " + i.name + "=") != std::string::npos;
      if (asked || decides(p, i.name)) names.insert(i.name);
    }
  }
  return names;
}

// A larger set of names to bind after a refusal; nothing when all are bound already.
std::optional<Names> more_names(const Names& bound, const onnx::ImportError& e,
                                const ModelSummary& model) {
  Names more = bound;
  more.merge(asked_for(e, model));
  if (more.size() > bound.size()) return more;
  if (std::none_of(e.problems().begin(), e.problems().end(), [](const onnx::Problem& p) {
        return p.hint.find("bind") != std::string::npos;
      })) {
    return std::nullopt;
  }
  for (const bool integers : {true, false}) {
    for (const ModelInput& i : model.inputs) {
      if (i.integer || !integers) more.insert(i.name);
    }
    if (more.size() > bound.size()) return more;
  }
  return std::nullopt;
}

// The same bytes under another type.
ir::Array with_type(const ir::Array& a, ir::DType t) {
  ir::Array out(t, a.shape());
  std::copy(a.data(), a.data() + a.bytes(), out.data());
  return out;
}

// What the suite records a little differently from what the model states: bf16 as u16, and one element of
// the operand of CastLike whose values do not matter.
ir::Array as_stated(ir::Array a, const ModelInput& input) {
  if (input.bf16 && a.dtype() == ir::kU16) a = with_type(a, ir::kBF16);
  if (a.elements() == 1 && a.shape() != input.shape && !input.shape.empty()) {
    ir::Array stretched(a.dtype(), input.shape);
    for (int64_t i = 0; i < stretched.elements(); ++i) stretched.set(i, a.get(0));
    return stretched;
  }
  return a;
}

// Recorded inputs by name, of sequences each tensor. What is no tensor is left out: the importer will say why.
Values read_inputs(const std::string& folder, const ModelSummary& model) {
  Values values;
  const std::vector<std::string> files = data_files(folder, "input");
  for (size_t i = 0; i < files.size() && i < model.inputs.size(); ++i) {
    if (model.inputs[i].sequence) {
      const std::vector<std::string> tensors = tensors_of_sequence(files[i]);
      if (tensors.empty()) values.emplace(model.inputs[i].name, ir::Array(ir::kBool, {0}));
      for (size_t k = 0; k < tensors.size(); ++k) {
        values.emplace(fmt::format("{}.{}", model.inputs[i].name, k),
                       onnx::read_tensor(tensors[k]));
      }
    }
    if (!model.inputs[i].tensor) continue;
    values.emplace(model.inputs[i].name,
                   as_stated(onnx::read_tensor_file(files[i]), model.inputs[i]));
  }
  return values;
}

std::vector<ir::Array> read_outputs(const std::string& folder, const ModelSummary& model) {
  std::vector<ir::Array> values;
  const std::vector<std::string> files = data_files(folder, "output");
  for (size_t i = 0; i < files.size(); ++i) {
    if (i >= model.sequence_outputs.size() || !model.sequence_outputs[i]) {
      values.push_back(onnx::read_tensor_file(files[i]));
      continue;
    }
    for (const std::string& tensor : tensors_of_sequence(files[i])) {
      values.push_back(onnx::read_tensor(tensor));
    }
  }
  return values;
}

onnx::Imported import_binding(const Case& c, const ModelSummary& model, const Values& inputs,
                              Names& bound) {
  for (;;) {
    onnx::ImportOptions options;
    for (const auto& [name, value] : inputs) {
      if (bound.contains(name)) {
        options.bound.emplace(name, value);
      } else {
        options.shapes.emplace(name, value.shape());
      }
    }
    try {
      return onnx::import_file(c.model(), options);
    } catch (const onnx::ImportError& e) {
      std::optional<Names> more = more_names(bound, e, model);
      if (!more) throw;
      bound = std::move(*more);
    }
  }
}

// A folder of its own that is gone afterwards.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("onnx_suite.{}", getpid())) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<ir::Array> run_library(const artifact::Program& p,
                                   const std::vector<ir::Array>& inputs) {
  const Folder folder;
  artifact::WriteOptions options;
  options.directory = folder.path();
  options.threads = 1;
  artifact::write(p, options);
  return artifact::Session(artifact::Model::load(folder.path()), 1).run(inputs);
}

std::vector<ir::Array> compute(graph::Graph g, const Values& inputs, const How& how) {
  std::vector<ir::Array> arrays;
  for (const graph::ValueId v : g.inputs) arrays.push_back(inputs.at(g.value(v).name));
  if (how.mode == Mode::kInterpret) return graph::evaluate(g, arrays);
  compile::Options options;
  options.target = target::parse_target(how.target);
  options.threads = 1;  // the cases themselves run in parallel
  const artifact::Program p = compile::compile(std::move(g), "suite", options);
  return how.mode == Mode::kJit ? compile::run(p, arrays) : run_library(p, arrays);
}

// By one library for several sizes, of which the inputs have one.
std::vector<ir::Array> compute_open(const compile::OpenModel& model, const graph::Graph& exact,
                                    const Values& inputs) {
  compile::Options options;
  options.target = target::host_target();
  options.threads = 1;
  std::vector<ir::Array> arrays;
  for (const graph::ValueId v : exact.inputs) arrays.push_back(inputs.at(exact.value(v).name));
  return run_library(compile::compile_sizes(model, "suite", options), arrays);
}

std::vector<std::string> names_of(const compile::OpenModel& model) {
  std::vector<std::string> names;
  for (const compile::OpenModel::Dim& d : model.dims) names.push_back(d.name);
  return names;
}

// What is wrong; empty: nothing.
std::string run_data_set(const Case& c, const ModelSummary& model, const std::string& folder,
                         const How& how, Names& bound, std::vector<std::string>& open) {
  const Values inputs = read_inputs(folder, model);
  onnx::Imported m = import_binding(c, model, inputs, bound);
  if (!m.graph.flow.empty() && !target::parse_target(how.target).is_cpu()) {
    // Programs for GPUs have no branches and loops: what decides about them is made known.
    for (const ModelInput& i : model.inputs) bound.insert(i.name);
    m = import_binding(c, model, inputs, bound);
  }
  const auto by_size = how.mode == Mode::kCompile && how.target == "host"
                           ? open_form(onnx::Source::from_file(c.model()), inputs, bound)
                           : std::nullopt;
  if (by_size && !by_size->closed.empty()) {
    return fmt::format("'{}' is open and takes no size but the recorded one", by_size->closed[0]);
  }
  if (by_size) open = names_of(by_size->model);
  const std::vector<ir::Array> got = by_size ? compute_open(by_size->model, m.graph, inputs)
                                             : compute(std::move(m.graph), inputs, how);
  const std::vector<ir::Array> want = read_outputs(folder, model);
  if (got.size() != want.size()) {
    return fmt::format("{} outputs, not {}", got.size(), want.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const ir::Array& recorded = want[i];
    const bool bits = got[i].dtype() == ir::kBF16 && recorded.dtype() == ir::kU16;
    const std::string why =
        bits ? difference_in_bits(got[i], recorded) : difference(got[i], recorded);
    if (!why.empty()) return fmt::format("output {}: {}", i, why);
  }
  return "";
}

void run_data_sets(const Case& c, const How& how, Outcome& out) {
  const ModelSummary model = summarize(c.model());
  Names bound;
  for (const std::string& folder : data_sets(c)) {
    out.reason = run_data_set(c, model, folder, how, bound, out.open);
    if (!out.reason.empty()) {
      out.status = Status::kWrong;
      break;
    }
  }
  out.bound.assign(bound.begin(), bound.end());
}

}  // namespace

std::string_view to_string(Status s) {
  switch (s) {
    case Status::kPassed:
      return "passed";
    case Status::kUnsupported:
      return "unsupported";
    case Status::kWrong:
      return "wrong";
    case Status::kError:
      return "error";
    case Status::kCrashed:
      return "crashed";
    case Status::kHung:
      return "hung";
  }
  return "?";
}

namespace {

constexpr std::pair<Mode, std::string_view> kModes[] = {
    {Mode::kCompile, "compile"}, {Mode::kJit, "jit"}, {Mode::kInterpret, "interpret"}};

}  // namespace

std::string_view to_string(Mode m) {
  for (const auto& [mode, name] : kModes) {
    if (mode == m) return name;
  }
  return "?";
}

Mode parse_mode(std::string_view text) {
  for (const auto& [mode, name] : kModes) {
    if (name == text) return mode;
  }
  throw UserError(fmt::format("no mode '{}'", text));
}

namespace {

Outcome run_once(const Case& c, const How& how) {
  Outcome out;
  out.name = c.name;
  try {
    run_data_sets(c, how, out);
  } catch (const onnx::ImportError& e) {
    out.status = Status::kUnsupported;
    out.reason = main_reason(e);
  } catch (const UserError& e) {
    out.status = Status::kUnsupported;
    out.reason = e.what();
  } catch (const std::exception& e) {
    out.status = Status::kError;
    out.reason = e.what();
  }
  return out;
}

}  // namespace

Outcome run_case(const Case& c, const How& how) {
  const auto start = std::chrono::steady_clock::now();
  Outcome out = run_once(c, how);
  if (out.status == Status::kUnsupported && how.target != "host" &&
      run_once(c, {how.mode, "host"}).status == Status::kPassed) {
    out.status = Status::kWrong;
    out.reason = fmt::format("{} refuses what the host takes: {}", how.target, out.reason);
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace tenon::onnx_suite
