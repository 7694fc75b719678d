// SPDX-License-Identifier: Apache-2.0
// The parts of `tenon compare`: what was asked for, where the right answers come from, where numbers go wrong first, and how
// all of it is told.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "artifact/model.h"
#include "compile/oracle.h"
#include "ir/arrays.h"
#include "tools/tenon/console.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {

struct CompareOptions {
  ModelOptions model;
  std::string package;
  std::vector<std::string> inputs;
  std::string reference = "auto";
  std::optional<double> rtol, atol;
  bool bisect = false;
  int threads = 0;
};

struct Compared {
  std::string reference;
  std::vector<artifact::TensorInfo> tensors;
  std::vector<ir::Difference> differences;
  bool matches() const { return std::ranges::all_of(differences, &ir::Difference::matches); }
  bool passes() const { return std::ranges::all_of(differences, &ir::Difference::passes); }
};

struct Bisected {
  size_t nodes = 0;
  int steps = 0;
  std::string node;  // name in the model; empty: no node differs on its own
  std::string label;
  std::optional<ir::Difference> difference;
};

// Whether the answers come from the model's graph, or are looked for along it.
bool needs_graph(const CompareOptions& options);
compile::Oracle oracle_of(const std::string& reference, const graph::Graph& g);
// Recorded outputs, another program's, another artifact's, or those of the oracle. `g` is null where no graph is needed, and
// `name` becomes what they are called.
std::vector<ir::Array> reference_outputs(const CompareOptions& options, const graph::Graph* g,
                                         const artifact::Model& model,
                                         const std::vector<artifact::TensorInfo>& outputs,
                                         const std::vector<ir::Array>& inputs, std::string& name);

// Halves the list of nodes in the order of running. Only the values of one node are held at a time.
Bisected bisect(const CompareOptions& options, const graph::Graph& g,
                const std::vector<ir::Array>& inputs, const Console& console);

// The answer of the command, as JSON or as lines.
std::string answer_text(const Compared& c, const std::optional<Bisected>& b, bool as_json);

}  // namespace tenon::tools
