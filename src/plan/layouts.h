// SPDX-License-Identifier: Apache-2.0
// How every tensor between tasks is stored. Tasks with an opinion (convolutions, by their templates) get what they
// wish; element-wise work and pooling follow their inputs; where two wishes meet a conversion is a step of its own.
//
//   conv -> relu -> conv -> global pool -> dense
//     N C/16 H W 16 all the way to the pool; plain before the first and after the last
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "layout/layout.h"
#include "target/target.h"

namespace tenon::plan {

// A value as it lies in memory. Two steps that name the same Slot share the memory.
struct Slot {
  graph::ValueId value = 0;  // never a view
  layout::Layout layout;     // of the value's own shape
};

struct PlannedCall {
  std::shared_ptr<const te::ComputeDag> dag;
  std::string task;                             // key of the dag
  std::vector<int32_t> inputs;                  // slots; -1 for a constant
  std::vector<graph::ValueId> constants;        // the value of each constant input; -1 otherwise
  std::vector<int32_t> outputs;                 // slots
  std::map<std::string, layout::Layout> edges;  // of every tensor of the dag that is not constant
  std::vector<std::string> nodes;
  int32_t call = -1;      // of the partition; -1: a conversion
  int32_t in_place = -1;  // the input whose memory the output may take over
};

struct LayoutPlan {
  std::vector<Slot> slots;
  std::vector<PlannedCall> calls;  // conversions among them
};

// The copy of a tensor; every conversion is one under two layouts.
te::ComputeDag conversion_dag(ir::DType t, const std::vector<int64_t>& shape);

// How calls were decided to store their edges, by their names (graph::Call::name): task::edges_text of each. As lock files hold
// them; those that are not there follow the rules.
using Layouts = std::map<std::string, std::string>;

class LayoutRules;
// Throws UserError for layouts that do not fit.
LayoutPlan plan_layouts(const LayoutRules& rules, const Layouts& chosen);
LayoutPlan plan_layouts(const graph::Graph& g, const graph::Partition& p,
                        const target::Target& target);
// Everything row-major.
LayoutPlan plan_plain(const graph::Graph& g, const graph::Partition& p);

}  // namespace tenon::plan
