// SPDX-License-Identifier: Apache-2.0
// What each value of the hole `structure` is, in words that mean the same for every task. The place of a sketch in its
// list depends on what the task computes besides: a product that something element-wise follows has another order of
// sketches than the product alone.
//
//   C = A*B            template, tile, fuse1, fuse2
//   R = relu(A*B)      template, fuse1, fuse2, tile
#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/sketch/sketch.h"
#include "task/task.h"

namespace tenon::search {

// The sketches of one algorithm, in the order of the hole. That a sum is written as one product of
// matrices is how GPUs compute its definition, beside its loops as they are.
std::vector<Sketch> sketches_of(const task::Task& t, int64_t algorithm,
                                std::span<const SketchRule> user = {});

inline constexpr const char* kTemplateStructure = "template";

// By value of the hole, of the programs of one algorithm (as space::HoleKind::kAlgorithm counts). No two are equal.
std::vector<std::string> structure_names(const task::Task& t, int64_t algorithm);

}  // namespace tenon::search
