// SPDX-License-Identifier: Apache-2.0
// Two times of the same programs tell how far either can be trusted.
#include "history/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "search/space/spaces.h"
#include "search/tasks.h"
#include "support/rng.h"

namespace tenon::history {
namespace {

// Programs of one product, with these times, fastest first as records have them.
Known programs(const std::vector<double>& seconds) {
  Known k{search::make_task([&](te::Builder& b) {
            const auto a = b.input("A", ir::kF32, {16, 24});
            const auto w = b.constant("W", ir::kF32, {24, 32});
            b.output(te::matmul(b, "C", a, w));
          }),
          {}};
  const auto space = search::make_space("joint", k.task);
  Rng rng(1);
  std::set<uint64_t> seen;
  while (k.entries.size() < seconds.size()) {
    const auto p = space->sample(rng);
    if (!p || !seen.insert(p->hash).second) continue;
    k.entries.push_back({p->trace, p->choices, seconds[k.entries.size()]});
  }
  return k;
}

TEST(Agreement, OfEqualTimesIsPerfect) {
  const Agreement a = agreement({programs({1, 2, 3})}, {programs({1, 2, 3})});
  EXPECT_EQ(a.programs, 3);
  EXPECT_EQ(a.deviation, 0);
  EXPECT_EQ(a.scores.tasks, 1);
  EXPECT_EQ(a.scores.top1, 1);
  EXPECT_EQ(a.scores.pairwise, 1);
}

TEST(Agreement, CountsWhatWasOrderedOtherwise) {
  const Agreement a = agreement({programs({1, 2, 4})}, {programs({2, 1, 4})});
  EXPECT_NEAR(a.scores.pairwise, 2.0 / 3, 1e-9);
  EXPECT_NEAR(a.scores.top1, 0.5, 1e-9)
      << "the fastest of the one takes twice the best of the other";
  EXPECT_NEAR(a.deviation, std::sqrt(2 * std::log(2) * std::log(2) / 2 / 3), 1e-9);
}

TEST(Agreement, LeavesOutWhatDidNotRunInBoth) {
  const double failed = std::numeric_limits<double>::infinity();
  const Agreement a = agreement({programs({1, 2, 3, 4})}, {programs({1, 2, failed})});
  EXPECT_EQ(a.programs, 2);
  const Agreement none = agreement({programs({1, 2})}, {});
  EXPECT_EQ(none.programs, 0);
  EXPECT_EQ(none.scores.tasks, 0);
}

}  // namespace
}  // namespace tenon::history
