// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/run_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "graph/define.h"
#include "onnx/import.h"
#include "onnx_suite/compare.h"

namespace tenon::onnx_suite {
namespace {

using Names = std::set<std::string>;
using Values = std::map<std::string, ir::Array>;

std::string join_reasons(const onnx::ImportError& e) {
  std::string text;
  for (const onnx::Problem& p : e.problems()) {
    text += (text.empty() ? "" : "; ") + p.op + ": " + p.reason;
  }
  return text;
}

// Inputs of the model that the problems' hints ask to bind.
Names asked_for(const onnx::ImportError& e, const ModelSummary& model) {
  Names names;
  for (const onnx::Problem& p : e.problems()) {
    for (const ModelInput& i : model.inputs) {
      if (p.hint.find("--bind " + i.name + "=") != std::string::npos) names.insert(i.name);
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

struct DataSet {
  Values inputs;
  std::vector<ir::Array> outputs;
};

DataSet read_data_set(const std::string& folder, const ModelSummary& model) {
  DataSet d;
  const std::vector<std::string> inputs = data_files(folder, "input");
  for (size_t i = 0; i < inputs.size() && i < model.inputs.size(); ++i) {
    d.inputs.emplace(model.inputs[i].name, onnx::read_tensor_file(inputs[i]));
  }
  for (const std::string& f : data_files(folder, "output")) {
    d.outputs.push_back(onnx::read_tensor_file(f));
  }
  return d;
}

onnx::Imported import_binding(const Case& c, const ModelSummary& model, const DataSet& data,
                              Names& bound) {
  for (;;) {
    onnx::ImportOptions options;
    for (const std::string& name : bound) options.bound.emplace(name, data.inputs.at(name));
    try {
      return onnx::import_file(c.model(), options);
    } catch (const onnx::ImportError& e) {
      std::optional<Names> more = more_names(bound, e, model);
      if (!more) throw;
      bound = std::move(*more);
    }
  }
}

std::vector<ir::Array> compute(const graph::Graph& g, const Values& inputs, Mode mode) {
  std::vector<ir::Array> arrays;
  for (const graph::ValueId v : g.inputs) arrays.push_back(inputs.at(g.value(v).name));
  static_cast<void>(mode);
  return graph::evaluate(g, arrays);
}

// What is wrong; empty: nothing.
std::string run_data_set(const Case& c, const ModelSummary& model, const std::string& folder,
                         Mode mode, Names& bound) {
  const DataSet data = read_data_set(folder, model);
  const onnx::Imported m = import_binding(c, model, data, bound);
  const std::vector<ir::Array> got = compute(m.graph, data.inputs, mode);
  if (got.size() != data.outputs.size()) {
    return fmt::format("{} outputs, not {}", got.size(), data.outputs.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string why = difference(got[i], data.outputs[i]);
    if (!why.empty()) return fmt::format("output {}: {}", i, why);
  }
  return "";
}

void run_data_sets(const Case& c, Mode mode, Outcome& out) {
  const ModelSummary model = summarize(c.model());
  Names bound;
  for (const std::string& folder : data_sets(c)) {
    out.reason = run_data_set(c, model, folder, mode, bound);
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

Outcome run_case(const Case& c, Mode mode) {
  const auto start = std::chrono::steady_clock::now();
  Outcome out;
  out.name = c.name;
  try {
    run_data_sets(c, mode, out);
  } catch (const onnx::ImportError& e) {
    out.status = Status::kUnsupported;
    out.reason = join_reasons(e);
  } catch (const UserError& e) {
    out.status = Status::kUnsupported;
    out.reason = e.what();
  } catch (const std::exception& e) {
    out.status = Status::kError;
    out.reason = e.what();
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace tenon::onnx_suite
