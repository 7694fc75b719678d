// SPDX-License-Identifier: Apache-2.0
// Networks compiled by tenon itself for this machine.
//
//   const auto make = compiled_tree_scorers({.cache = "tenon.db.models/networks", .threads = 2});
//   make(network, Keep::kForOthers)->score(rows);   // the next program finds it compiled
#pragma once

#include <filesystem>

#include "cost/models/tree_network.h"
#include "neural/tree_onnx.h"

namespace tenon::neural {

struct CompileNetworks {
  std::filesystem::path cache;  // a folder for networks of saved models; empty: none is kept
  int threads = 0;              // to compile with; 0: one per core
  TreeForm form = {};           // that trees are padded to
};
cost::MakeTreeScorer compiled_tree_scorers(const CompileNetworks& how);

}  // namespace tenon::neural
