// SPDX-License-Identifier: Apache-2.0
// The rows of the table in layout_proposer.cpp, and what they share.
#pragma once

#include <set>

#include "search/layout_proposer.h"

namespace tenon::search {

std::unique_ptr<LayoutProposer> make_layout_evolution(const LayoutSpace& space,
                                                      const LayoutProposerOptions& options);
std::unique_ptr<LayoutProposer> make_layout_random(const LayoutSpace& space,
                                                   const LayoutProposerOptions& options);
std::unique_ptr<LayoutProposer> make_layout_ppo(const LayoutSpace& space,
                                                const LayoutProposerOptions& options);

std::shared_ptr<LayoutLearner> make_layout_ppo_learner(const LayoutProposerOptions& options);

// One factor of the point, at its next smaller or larger size.
LayoutSpace::Point neighbour(const LayoutSpace& space, LayoutSpace::Point p, Rng& rng);

// Which layouts of a space were seen. Two points that store all edges alike are one.
class SeenLayouts {
 public:
  using Point = LayoutSpace::Point;
  explicit SeenLayouts(const LayoutSpace& space);

  // True, and seen from now on, if the point is legal and new.
  bool take(const Point& p);
  std::optional<Point> next_seed();
  Point draw(Rng& rng) const;  // any combination of choices
  // A new one: drawn while that is quick, then the first that is left.
  std::optional<Point> draw_new(Rng& rng);
  // Names the layouts of a point; empty if it is not legal.
  std::string key(const Point& p) const;

 private:
  std::optional<Point> first_left();

  const LayoutSpace& space_;
  std::set<std::string> seen_;
  size_t next_seed_ = 0;
  Point left_;  // all before it, counted up from the last factor, were seen; empty: all
};

}  // namespace tenon::search
