// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/gpu_holes.h"

#include <algorithm>

#include "arith/linear.h"
#include "schedule/primitives/pragma_unroll.h"
#include "schedule/primitives/vectorize.h"
#include "search/sketch/factors.h"
#include "search/sketch/find_step.h"

namespace tenon::search {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::StageRef;
using space::Value;

Domain tile_sizes(int64_t extent, int64_t below, int64_t most) {
  const int64_t last = std::min(most, (extent + below - 1) / below);
  std::vector<int64_t> sizes;
  for (const int64_t d : divisors(extent)) {
    if (d <= last) sizes.push_back(d);
  }
  for (int64_t p = 2; p <= last; p *= 2) {
    if (extent % p != 0) sizes.push_back(p);
  }
  if (sizes.empty()) sizes.push_back(1);
  return Domain::of(std::move(sizes));
}

std::vector<double> tile_weights(const Domain& d, int64_t extent, int64_t below) {
  constexpr double kInexactChance = 0.2;
  double exact = 0, inexact = 0;
  const auto divides = [&](size_t i) { return extent % (d.at(i) * below) == 0; };
  for (size_t i = 0; i < d.size(); ++i) (divides(i) ? exact : inexact) += 1;
  const double chance = exact == 0 ? 1 : inexact == 0 ? 0 : kInexactChance;
  std::vector<double> out;
  for (size_t i = 0; i < d.size(); ++i)
    out.push_back(divides(i) ? (1 - chance) / exact : chance / inexact);
  return out;
}

Domain only(const Domain& d, FunctionRef<bool(int64_t)> fits) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < d.size(); ++i) {
    if (fits(d.at(i))) sizes.push_back(d.at(i));
  }
  return Domain::of(std::move(sizes));
}

Domain powers_of_two(int64_t least, int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t p = 1; p <= most; p *= 2) {
    if (p >= least) sizes.push_back(p);
  }
  return Domain::of(std::move(sizes));
}

void limit_copies(Builder& b, StageRef stage, int64_t rule) {
  if (b.refused()) return;
  const auto alike = [](const Domain& d) { return std::vector<double>(d.size(), 1); };
  const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
    const auto* step =
        find_step<schedule::PragmaUnroll>(trace, [&](const auto& u) { return u.stage == stage; });
    return step == nullptr ? 0 : step->limit;
  };
  const Value limit = b.ask({HoleKind::kUnroll, stage.id, 0}, "unroll",
                            Domain::of({0, 16, 64, 512, 1024}), rule, alike, read);
  if (limit > 0) b.limit_unrolling(stage, limit);
}

Value ask_lanes(Builder& b, StageRef stage, int64_t most) {
  const auto alike = [](const Domain& d) { return std::vector<double>(d.size(), 1); };
  // The vectorised loop is the last part of the split before it.
  const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
    int64_t last = 1, lanes = 1;
    for (const schedule::Step& step : trace) {
      const auto* split = std::get_if<schedule::Split>(&step);
      if (split != nullptr && split->stage == stage) last = split->factors.back();
      const auto* vector = std::get_if<schedule::Vectorize>(&step);
      if (vector != nullptr && vector->stage == stage) lanes = last;
    }
    return lanes;
  };
  return b.ask({HoleKind::kLanes, stage.id, 0}, "lanes", powers_of_two(1, most), most, alike, read);
}

}  // namespace tenon::search
