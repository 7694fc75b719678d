// SPDX-License-Identifier: Apache-2.0
// Which layout of a space to try next. Rows: "evolution", "random", and "ppo", an agent of the plug-in tenon-torch.
//
//   const auto proposer = make_layout_proposer("evolution", space, {});
//   while (const auto p = proposer->propose(rng)) {
//     const auto edges = space.edges(*p);        // legal, and stored unlike all before
//     proposer->reward(*p, best_seconds_after_as_many_rounds_as_every_other(*edges));
//   }
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "search/layout_space.h"
#include "support/rng.h"

namespace tenon::search {

class LayoutProposer {
 public:
  using Point = LayoutSpace::Point;
  virtual ~LayoutProposer() = default;
  // The seeds of the space in their order, then others. Every point is legal and means layouts that were neither proposed
  // nor rewarded before; nothing: there are no more. The same seed, rewards and order of calls give the same answer.
  virtual std::optional<Point> propose(Rng& rng) = 0;
  // The time of the best loops that were found for the point; infinity if none ran. Points of records may be given too.
  // The first one rewarded is what others are compared with: give that of the default layout first.
  virtual void reward(const Point& p, double seconds) = 0;
};

// What is learned from the rewards of all spaces whose proposers share it.
class LayoutLearner {
 public:
  virtual ~LayoutLearner() = default;
  virtual void save(const std::string& file) const = 0;  // throws UserError
};

struct LayoutProposerOptions {
  uint64_t seed = 1;  // of a learner's first weights and actions
  std::string
      learned;  // a file of LayoutLearner::save to start from; empty: nothing learned before
  std::string plug_in;                     // the library of the learner; empty: beside the program
  std::shared_ptr<LayoutLearner> learner;  // of make_layout_learner; null: the proposer's own
};

struct LayoutProposerRow {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<LayoutProposer> (*make)(const LayoutSpace& space,
                                          const LayoutProposerOptions& options);
  std::shared_ptr<LayoutLearner> (*make_learner)(
      const LayoutProposerOptions& options);  // null: it learns nothing for other spaces
};
std::span<const LayoutProposerRow> layout_proposers();
// The space must live as long. Throws UserError: there is no such row, its plug-in is not installed, or the file does
// not fit.
std::unique_ptr<LayoutProposer> make_layout_proposer(const std::string& name,
                                                     const LayoutSpace& space,
                                                     const LayoutProposerOptions& options = {});
// To be shared by all proposers of that row; null if it learns nothing for other spaces. Throws the same.
std::shared_ptr<LayoutLearner> make_layout_learner(const std::string& name,
                                                   const LayoutProposerOptions& options);

}  // namespace tenon::search
