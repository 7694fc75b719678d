// SPDX-License-Identifier: Apache-2.0
// Random valid models: 3 to 70 nodes from the table of operators, and at a low rate what broke compilers before:
// a value with hundreds of readers, recurrences of hundreds of steps, long chains.
#pragma once

#include "graph_fuzz/draft.h"

namespace tenon::graph_fuzz {

struct Case {
  proto::ModelProto model;
  Arrays inputs;
};

// Everything follows from the settings. Throws NodeRefused when a valid node is not imported.
Case draw_case(const Settings& s);

}  // namespace tenon::graph_fuzz
