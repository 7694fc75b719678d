// SPDX-License-Identifier: Apache-2.0
// What a dag still reads once scalars that are known are written into it.
//
//   c = x + 1; y = select(p, c, b) with p = [false]   ->   y = b; neither x nor c nor p is read
#pragma once

#include <map>

#include "te/dag.h"

namespace tenon::graph {

// Values of inputs with one element, by their buffers.
using Literals = std::map<const ir::BufferNode*, ir::Expr>;

ir::Expr literal(const ir::Array& scalar);

void write_literals(te::ComputeDag& dag, const Literals& literals);

// Drops ops that neither an output nor another op needs, then inputs that no op reads. The positions of
// the inputs that stay, in order.
std::vector<size_t> drop_unread(te::ComputeDag& dag);

}  // namespace tenon::graph
