// SPDX-License-Identifier: Apache-2.0
// What the algorithms of `variant` share: the stages that they add before the one that they compute, and sums of terms
// by the rows of a small matrix.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/algorithms/algorithms.h"
#include "schedule/state.h"

namespace tenon::schedule {

// The two reads of a sum of products.
struct Operands {
  const ir::Load* x = nullptr;
  const ir::Load* w = nullptr;
};
// Nothing unless `op` is a sum of products of two reads, in float32.
std::optional<Operands> find_operands(const te::ComputeOp& op);
bool is_constant(const State& s, const ir::Load& read);

// Axes with fresh variables, in the order of the new tensor's dimensions.
struct Shape {
  std::vector<te::Axis> axes;
  ir::Expr add(const std::string& name, int64_t extent);
};

ir::Expr number(int64_t v);

// The row `which` of a matrix times terms. What is added comes first, and nothing is read for zeros. One of the rows
// remains when the loop over `which` is unrolled.
ir::Expr choose_row(const Matrix& rows, const ir::Expr& which,
                    const std::function<ir::Expr(size_t)>& term);

// Adds the stage "NAME.part" before `stage`, which is called NAME, and gives its tensor.
ir::Buffer add_stage(State& s, StageId stage, const char* part, Shape shape, ir::Expr body,
                     std::vector<te::Axis> reduce = {});

// A constant becomes what the algorithm multiplies with.
ir::Buffer turn_weights(State& s, const ir::Buffer& w, WeightTransform transform);

// `stage` reads its elements where the algorithm left them.
void read_result(State& s, StageId stage, ir::Expr body, Algorithm algorithm);

}  // namespace tenon::schedule
