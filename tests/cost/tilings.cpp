// SPDX-License-Identifier: Apache-2.0
#include "cost/tilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cost/features.h"
#include "schedule/trace.h"
#include "te/text.h"

namespace tenon::cost {

namespace {

int64_t random_divisor(int64_t n, int64_t most, Rng& rng) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return rng.pick(divisors);
}

size_t column(const std::string& name) {
  const auto& names = feature_names();
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

task::Task task_of(const Product& p) {
  const std::string te = fmt::format(
      "input A: f32[{0}, {2}]\ninput B: f32[{2}, {1}]\nC[i: {0}, j: {1}] = sum(k: {2}) A[i, k] * "
      "B[k, j]\n"
      "D[i: {0}, j: {1}] = max(C[i, j], 0.0)\noutput D\n",
      p.rows, p.columns, p.depth);
  return task::make_task(
      std::make_shared<const te::ComputeDag>(te::parse(te)), {},
      std::make_shared<const target::Target>(target::parse_target("x86-64-v3 cores=2")));
}

schedule::Trace random_tiling(const task::Task& t, const Product& p, Rng& rng) {
  const int64_t i1 = random_divisor(p.rows, 64, rng), i2 = random_divisor(i1, 16, rng);
  const int64_t j1 = random_divisor(p.columns, 128, rng), j2 = random_divisor(j1, 32, rng);
  const int64_t k1 = random_divisor(p.depth, 64, rng);
  std::string trace = fmt::format(
      "split D i [{}]\nsplit D j [{}]\nreorder D [i.0, j.0, i.1, j.1]\ncompute_at C D j.0\n"
      "split C i [{}]\nsplit C j [{}]\nsplit C k [{}]\n",
      i1, j1, i2, j2, k1);
  constexpr const char* kOrders[] = {"i.0, j.0, k.0, k.1, i.1, j.1", "k.0, i.0, j.0, k.1, i.1, j.1",
                                     "i.0, j.0, k.0, i.1, k.1, j.1"};
  trace += fmt::format("reorder C [{}]\n", kOrders[rng.between(0, 2)]);
  if (rng.chance(0.7)) trace += "fuse D [i.0, j.0]\nparallel D i.0@j.0\n";
  if (j2 > 1 && rng.chance(0.8)) trace += "vectorize C j.1\n";
  const int64_t unroll[] = {0, 16, 64, 512};
  if (const int64_t u = unroll[rng.between(0, 3)]; u > 0)
    trace += fmt::format("pragma_unroll C {}\n", u);
  return schedule::parse_trace(trace, schedule::State(t.dag, t.target));
}

double made_up_seconds(const Row& f) {
  double seconds = 1e-6;
  for (size_t row = 0; row < f.rows(); ++row) {
    const auto value = [&](const std::string& name) {
      return std::exp2(double{f.values[row * kFeatures + column(name)]}) - 1;
    };
    const double lanes = std::clamp(value("vectorized_product"), 1.0, 8.0);
    const double threads = std::clamp(value("parallel_product"), 1.0, 2.0);
    const double copies = std::clamp(value("unrolled_product"), 1.0, 16.0);
    double work = value("float_mul") + value("float_addsub") + value("float_compare");
    work += value("outer_product") * 2 / std::sqrt(copies);
    double lines = 0;
    for (int b = 0; b < 3; ++b) {
      const std::string name = "buffer" + std::to_string(b);
      const double near = value(name + "_reuse_bytes") < 32768 ? 0.1 : 1;
      lines += value(name + "_lines") * near;
    }
    seconds += (work / lanes + lines * 4) / threads * 1e-9;
  }
  return seconds;
}

std::vector<Sample> made_up_samples(const CostModel& model, const Product& p,
                                    const std::string& task, size_t n, Rng& rng) {
  const task::Task t = task_of(p);
  std::vector<Sample> out;
  while (out.size() < n) {
    const schedule::Trace trace = random_tiling(t, p, rng);
    const auto state = schedule::replay(schedule::State(t.dag, t.target), trace);
    const auto features = extract(*state);
    auto row = model.encode({t, trace, &*state});
    if (features && row) out.push_back({std::move(row.value()), task, made_up_seconds(*features)});
  }
  return out;
}

std::vector<Sample> made_up_samples(const Product& p, const std::string& task, size_t n, Rng& rng) {
  return made_up_samples(*make_model("xgb", 1, 1), p, task, n, rng);
}

}  // namespace tenon::cost
