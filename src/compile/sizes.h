// SPDX-License-Identifier: Apache-2.0
// A model with open dimensions to one program that serves every size (docs/dynamic-shapes.md).
//
//   compile_sizes({{{"batch", {1, 2, 3}}}, {{0, -1}}, import_at}, "net", options)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "support/size_sum.h"

namespace tenon::compile {

struct OpenModel {
  struct Dim {
    std::string name;
    std::vector<int64_t> sizes;  // ascending
  };
  std::vector<Dim> dims;
  std::vector<std::vector<int32_t>> input_dims;  // by input and axis: which of them, or -1
  std::function<graph::Graph(const std::vector<int64_t>& sizes)> at;  // the model of these sizes
  // By input: axes that are computed of dimensions; empty: none is.
  std::vector<std::map<size_t, SizeSum>> input_sums = {};
};

// With more sizes of one dimension some are compiled and others padded to these, if that is right.
inline constexpr size_t kMostUnpadded = 16;
// With more combinations of sizes batches are put together, if that is right.
inline constexpr size_t kMostWhole = 64;
// As many combinations are compiled of every model, and more of one with few nodes: compiling takes time for each node of
// each.
inline constexpr size_t kMostVariants = 256;
inline constexpr size_t kMostVariantsOfSmall = 4096;
inline constexpr size_t kMostNodes = 50'000;  // of all combinations together

// Throws UserError where sizes are too many, or the target is a GPU.
artifact::Program compile_sizes(const OpenModel& model, const std::string& name,
                                const Options& options);

}  // namespace tenon::compile
