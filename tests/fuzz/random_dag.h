// SPDX-License-Identifier: Apache-2.0
// Random small dags, inputs for them, and the comparison of two results.
//
//   Rng rng(seed);
//   te::ComputeDag dag = random_dag(rng);
//   auto inputs = random_inputs(dag, rng);
//   EXPECT_EQ(compare(te::evaluate(dag, inputs), mine(dag, inputs), dag), "") << te::to_text(dag);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/rng.h"
#include "te/dag.h"

namespace tenon::fuzz {

struct RandomDagOptions {
  double max_work = 5000;   // evaluations of bodies, over the whole dag
  int max_steps = 5;        // operators drawn, each of one to five ops
  bool exact_only = false;  // only what compares bit for bit: no exp, square root, general division
  bool small_types = true;  // sometimes i32, f64, i8 to i32, f16, bf16; otherwise f32 only
  std::string_view family;  // if set, the first operator drawn is of this family (see family_names)
};

// Valid, with at least one op; same seed and options, same dag.
te::ComputeDag random_dag(Rng& rng, const RandomDagOptions& options = {});
std::vector<std::string_view> family_names();

// Small whole numbers, so that float sums are exact in any order (see facts.h for the ranges).
std::vector<ir::Array> random_inputs(const te::ComputeDag& dag, Rng& rng);
// One element of a dozen floats becomes NaN.
void scatter_nan(std::vector<ir::Array>& inputs, Rng& rng);

// Empty, or the first mismatch. For inputs from random_inputs. Integers and outputs that depend on exact
// operations only must be equal; others may differ by tolerance().
// `error_factor` above 1 (schedule::State::error_factor): nothing is exact, and errors may be that much larger.
std::string compare(const std::vector<ir::Array>& expected, const std::vector<ir::Array>& actual,
                    const te::ComputeDag& dag, double error_factor = 1);

// Absolute: 16 * (rounding unit of the coarsest inexact float type) * sqrt(1 + lengths of the inexact
// reductions) * (bound of the largest inexact tensor); 0 for an exact output.
// With error_factor: error_factor * (rounding unit) * sqrt(1 + lengths of all reductions) * (largest bound).
double tolerance(const te::ComputeDag& dag, const te::Tensor& output, double error_factor = 1);

}  // namespace tenon::fuzz
