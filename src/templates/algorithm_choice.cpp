// SPDX-License-Identifier: Apache-2.0
#include "templates/algorithm_choice.h"

#include <algorithm>

namespace tenon::templates {

double most_error_factor(Accuracy a) {
  return a == Accuracy::kStrict ? 4 : a == Accuracy::kDefault ? 1000 : 1e9;
}

namespace {

bool is_allowed(const Request& request, const schedule::AlgorithmRow& row) {
  const auto it = std::find(request.without.begin(), request.without.end(), row.algorithm);
  return row.error_factor <= most_error_factor(request.accuracy) && it == request.without.end();
}

bool is_asked_for(const Request& request, schedule::Algorithm a) {
  return request.algorithm == 1 + static_cast<int64_t>(a);
}

}  // namespace

double overlapped(double flops, double bytes, const target::Cpu& t) {
  const double compute = flops / t.cores;
  const double memory = bytes * t.rates.flops_per_byte / t.memory_share();
  return std::max(compute, memory) + 0.3 * std::min(compute, memory);
}

std::optional<schedule::Algorithm> choose_algorithm(
    const Request& request, double direct, double worth_it,
    FunctionRef<std::optional<double>(schedule::Algorithm)> cost_of) {
  std::optional<schedule::Algorithm> best;
  double least = worth_it * direct;
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    const auto cost = cost_of(row.algorithm);
    if (!cost || !is_allowed(request, row)) continue;
    if (request.algorithm) {
      if (is_asked_for(request, row.algorithm)) return row.algorithm;
    } else if (*cost < least) {
      least = *cost;
      best = row.algorithm;
    }
  }
  return best;
}

bool takes_bfloat16(const Request& request, const target::Cpu& t) {
  constexpr auto kNarrow = schedule::Algorithm::kBfloat16;
  if (request.algorithm && !is_asked_for(request, kNarrow)) return false;
  return target::has_bfloat16(t) && is_allowed(request, schedule::row_of(kNarrow));
}

double direct_share(const Request& request, const target::Cpu& t) {
  return takes_bfloat16(request, t) ? 0.55 : 1;
}

}  // namespace tenon::templates
