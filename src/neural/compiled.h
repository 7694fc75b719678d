// SPDX-License-Identifier: Apache-2.0
// Networks of cost models, run by code that tenon itself compiled for this machine.
//
//   const auto make = compiled_tree_scorers({.cache = "tenon.db.models/networks", .threads = 2});
//   make(network, Keep::kForOthers)->score(rows);   // the next program finds it compiled
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "cost/models/attention_network.h"
#include "cost/models/tree_network.h"
#include "neural/tree_onnx.h"

namespace tenon::neural {

// Sets are put together by their lengths, so many at a time, and padded to the least of these
// numbers of rows that holds them all; longer ones are left to plain loops.
struct RowsForms {
  int64_t batch = 64;
  std::vector<int64_t> paddings = {8, 16, 24, 32, 48, 64};  // rising
};

struct CompileNetworks {
  std::filesystem::path cache;  // a folder for networks of saved models; empty: none is kept
  int threads = 0;              // to compile with; 0: one per core
  TreeForm form = {};           // that trees are padded to
  RowsForms rows = {};
};
cost::MakeTreeScorer compiled_tree_scorers(const CompileNetworks& how);
// Each padding and output is compiled when it is first needed.
cost::MakeRowsScorer compiled_rows_scorers(const CompileNetworks& how);

}  // namespace tenon::neural
