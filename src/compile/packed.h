// SPDX-License-Identifier: Apache-2.0
// Weights as kernels read them, each packed once for all sizes of a model.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "compile/compile.h"
#include "graph/graph.h"

namespace tenon::compile {

class PackedWeights {
 public:
  // The first array that was given with the same bytes, type and shape.
  graph::Data same_as_before(const graph::Data& data);

  // What was kept for an array of same_as_before packed in a certain way; null: nothing.
  graph::Data find(const graph::Data& data, const std::string& how);
  void keep(const graph::Data& data, const std::string& how, graph::Data packed);

 private:
  std::mutex lock_;
  std::set<graph::Data> first_;
  std::multimap<uint64_t, graph::Data> by_hash_;
  std::map<std::pair<graph::Data, std::string>, graph::Data> packed_;
};

// As compile::build. `known` has what other sizes of the model have packed, and is given what this one packs; null: none.
artifact::Program build(const plan::Network& network, const Options& options, PackedWeights* known);

// The hash looks at some of the bytes only.
uint64_t sampled_hash(const ir::Array& a);
bool equal_bytes(const ir::Array& a, const ir::Array& b);
bool begins_with(const ir::Array& a, const ir::Array& beginning);

}  // namespace tenon::compile
