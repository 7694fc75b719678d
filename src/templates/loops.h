// SPDX-License-Identifier: Apache-2.0
// Loops over the storage of a tensor that is written element by element: vectors innermost, parallel outside.
#pragma once

#include <string>
#include <vector>

#include "templates/plan_writer.h"

namespace tenon::templates {

struct NamedLoop {
  std::string name;
  int64_t extent;
};

// Runs the fewest leading `loops` of `stage` that keep all cores busy in parallel, as one loop; none if the work (in
// vectors or so) is not worth waking another core.
void deal_out(PlanWriter& p, const std::string& stage, const std::vector<NamedLoop>& loops,
              int64_t work);

// Everything inlined already, no reduction: the storage loops of `stage` are joined where every access allows it,
// cut into vectors, and dealt out.
void loop_over_storage(PlanWriter& p, const std::string& stage);

// A copy of `stage` in a plan of other vectors: its own, of as many lanes as float32 has, under the knob `hv`.
void loop_by_vectors(PlanWriter& p, const std::string& stage);

}  // namespace tenon::templates
