// SPDX-License-Identifier: Apache-2.0
#include "measure/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/rng.h"
#include "te/rounding.h"
#include "te/text.h"

namespace tenon::measure {
namespace {

constexpr double kEvaluatedWork = 300'000;  // flops or bytes
constexpr uint64_t kSeeds = 3;
constexpr int64_t kKeptBytes = int64_t{1} << 29;
constexpr int64_t kRoundedApart = 1000;  // one integer in so many may be rounded to its neighbour

// Floats uniform in [-1, 1), or small whole numbers, whose sums have no rounding; integers 0 or 1, valid as indices.
ir::Array draw(const te::Tensor& t, Rng& rng, bool whole) {
  ir::Array a(t.dtype(), t.shape());
  for (int64_t i = 0; i < a.elements(); ++i) {
    double v = 0;
    if (!t.dtype().is_float() || whole) {
      v = static_cast<double>(
          rng.between(t.dtype().is_float() ? -2 : 0, t.dtype().is_float() ? 2 : 1));
    } else {
      v = 2 * rng.unit() - 1;
    }
    a.set_double(i, v);
  }
  return a;
}

bool rounds_floats(const te::ComputeDag& dag) {
  return std::any_of(dag.ops.begin(), dag.ops.end(),
                     [](const te::OpRef& op) { return op->output.dtype().is_float(); }) ||
         std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [](const te::Input& in) { return in.tensor.dtype().is_float(); });
}

double largest_of(const ir::Array& a) {
  double largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double v = std::abs(a.get_double(i));
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  return largest;
}

bool near(double got, double want, double allowed) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  return std::abs(got - want) <= allowed;  // false for NaN and for infinities
}

std::string array_differs(const ir::Array& got, const ir::Array& want, double allowed,
                          int64_t neighbours) {
  int64_t wrong = 0;
  int64_t first = -1;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double g = got.get_double(i);
    const double w = want.get_double(i);
    if (near(g, w, allowed)) continue;
    if (std::abs(g - w) == 1 && neighbours-- > 0) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ; the first, {}, is {} instead of {} (+- {:.2g})",
                     wrong, want.elements(), first, got.get_double(first), want.get_double(first),
                     allowed);
}

}  // namespace

schedule::Trace on_all_cores(const task::Task& t) {
  schedule::Trace trace;
  const schedule::State plain(t.dag, t.target);
  for (const schedule::StageId id : plain.order()) {
    const schedule::Stage& stage = plain.stage(id);
    for (const schedule::LoopId l : stage.leaves) {
      const schedule::Loop& loop = stage.loop(l);
      if (loop.kind != schedule::LoopKind::kSpatial || loop.extent < 2) continue;
      const schedule::Parallel step{{id}, {l}};
      if (schedule::check(step, plain)) trace.push_back(step);
      break;
    }
  }
  return trace;
}

std::shared_ptr<const std::vector<Case>> References::cases(const task::Task& t) {
  // Layouts do not change what is computed: tasks that differ in nothing else have the same answers.
  const std::string key = te::to_text(*t.dag) + t.target->fingerprint();
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  const bool evaluated = std::max(t.flops, t.bytes) <= kEvaluatedWork;
  std::vector<Case> made;
  int64_t bytes = 0;
  for (uint64_t seed = 1; seed <= (evaluated ? kSeeds : kSeeds - 1); ++seed) {
    Rng rng(seed);
    Case c;
    for (const te::Input& in : t.dag->inputs) c.inputs.push_back(draw(in.tensor, rng, seed == 2));
    c.outputs = evaluated ? te::evaluate(*t.dag, c.inputs) : run_(t, c.inputs);
    for (const auto* group : {&c.inputs, &c.outputs}) {
      for (const ir::Array& a : *group) bytes += a.bytes();
    }
    made.push_back(std::move(c));
  }
  if (bytes_ + bytes > kKeptBytes) {
    made_.clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
  return made_.emplace(key, std::make_shared<const std::vector<Case>>(std::move(made)))
      .first->second;
}

std::string differs(const te::ComputeDag& dag, const Case& c, const std::vector<ir::Array>& got,
                    double error_factor) {
  const double relative = error_factor * te::tolerance(dag);
  const bool rounded = rounds_floats(dag);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    const ir::Array& want = c.outputs[o];
    const bool floats = want.dtype().is_float();
    const double allowed = floats ? relative * largest_of(want) : 0;
    const int64_t neighbours = !floats && rounded ? want.elements() / kRoundedApart + 1 : 0;
    const std::string why = array_differs(got[o], want, allowed, neighbours);
    if (!why.empty()) return fmt::format("output {}: {}", dag.outputs[o].name(), why);
  }
  return "";
}

}  // namespace tenon::measure
