// SPDX-License-Identifier: Apache-2.0
// Where rounding can make two right programs differ.
//
//   Transpose, Relu, Max, ArgMax ...          move or choose numbers: never
//   Add, MatMul, Conv ... of small integers   exact in any order: never
//   everything else that gives floats         yes
#pragma once

#include "graph_fuzz/oracle.h"

namespace tenon::graph_fuzz {

// Every element is an integer of magnitude at most 256: products of two of them, and sums of hundreds of those, are
// exact in f32.
bool small_integers(const ir::Array& a);

// Whether `output`, which `node` computed from the values of `scope`, may be off by rounding.
bool rounds(const proto::NodeProto& node, const Scope& scope, const ir::Array& output);

// Some of its operands say what it does, as scales do: constants that it reads are not numbers to disturb.
bool takes_arguments(const proto::NodeProto& node);

// The distance of neighbouring numbers of a float type at 1.
double unit_roundoff(ir::DType t);

// Moves every finite element by up to four units in the last place. Integers stay.
void move_a_little(ir::Array& a, Rng& rng);

}  // namespace tenon::graph_fuzz
