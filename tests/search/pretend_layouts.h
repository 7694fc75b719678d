// SPDX-License-Identifier: Apache-2.0
// Spaces of layouts and a latency that is computed from their points, for tests of strategies.
#pragma once

#include <string>
#include <vector>

#include "search/layout/layout_skeleton.h"
#include "search/strategy/strategy.h"

namespace tenon::search {

// An operator, its layouts, and these as a space.
class Layouts {
 public:
  explicit Layouts(task::Task t);
  const LayoutSpace& points() const { return *points_; }
  const space::Space& space() const { return *space_; }
  LayoutSpace::Point point(const space::Program& p) const { return point_of(p.choices, points()); }
  space::Program program(const LayoutSpace::Point& p) const;

 private:
  std::unique_ptr<LayoutSpace> points_;
  std::unique_ptr<space::Space> space_;
};

Layouts conv_layouts(int64_t channels, int64_t size);
Layouts small_layouts();  // few enough points to count

// Smooth in the logarithms of the sizes; the best tile of a channel depends on the tiles of the positions.
double pretend_s(const LayoutSpace& s, const LayoutSpace::Point& p);

// Options with the plug-in of this build, if it has one.
LearnerOptions built_options(uint64_t seed);
bool has_plug_in();
std::unique_ptr<Strategy> make_layout_strategy(const std::string& name, const Layouts& l,
                                               const LearnerOptions& options);

// Times of the first n proposals, in order, each told at once.
std::vector<double> run(Strategy& strategy, const Layouts& l, uint64_t seed, size_t n);
std::vector<double> run(const std::string& name, const Layouts& l, uint64_t seed, size_t n);

double mean(const std::vector<double>& v, size_t from);

}  // namespace tenon::search
