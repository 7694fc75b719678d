// SPDX-License-Identifier: Apache-2.0
// What a model computes, node by node: each node is imported as a model of its own and its definition is
// interpreted. Nothing of the compiler is involved: no pass, no fusion, no schedule, no memory plan.
//
//   Arrays want = evaluate(model, {{"x", x}}, nullptr);   want.at("y")
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph_fuzz/message.h"
#include "support/rng.h"

namespace tenon::graph_fuzz {

using Arrays = std::map<std::string, ir::Array>;

struct Known {
  ir::Array data;
  bool constant = false;  // known when the model is compiled
};
using Scope = std::map<std::string, Known>;

// The outputs of `node` in a model with the opsets of `around`; nothing for outputs without a name. UserError if the
// node cannot be imported.
std::vector<Known> run_node(const proto::ModelProto& around, const proto::NodeProto& node,
                            const Scope& scope);

// Every value of the model by name. With `disturb`, each value that rounding may have touched is moved by a few units
// in the last place, at random: what two right programs may differ by is what two such runs differ by.
Arrays evaluate(const proto::ModelProto& m, const Arrays& inputs, Rng* disturb);

// Writes types and shapes of all values into the model, as value_info.
void state_values(proto::ModelProto& m, const Arrays& values);

}  // namespace tenon::graph_fuzz
