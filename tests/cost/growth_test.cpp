// SPDX-License-Identifier: Apache-2.0
// How far a run trusts its history.
#include "cost/models/growth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/rng.h"

namespace tenon::cost {
namespace {

constexpr uint32_t kWidth = 2;

// Programs with two random columns, of which the first tells the time; `scale` is the best time of
// this task.
Programs made_up(size_t n, double scale, Rng& rng) {
  Programs out;
  for (size_t i = 0; i < n; ++i) {
    Row row{{static_cast<float>(rng.unit()), static_cast<float>(rng.unit())}, kWidth, {}};
    const double seconds = scale / (0.1 + 0.9 * row.values[0]);
    out.add({std::move(row), "t", seconds});
  }
  return out;
}

// What a history says that reads one of the columns.
std::vector<double> read_column(const Programs& programs, size_t column) {
  std::vector<double> out;
  for (size_t p = 0; p < programs.size(); ++p) {
    out.push_back(0.1 + 0.9 * double{programs.values[p * kWidth + column]});
  }
  return out;
}

struct Stood {
  Footing footing;
  Packs packs;
};
Stood stand(const Programs& programs, const std::vector<double>& history, Loss* loss) {
  const Matrix data(programs.values, kWidth);
  Lessons lessons{data, packs_of(programs), {}};
  const Footing footing = stand_on(history, loss, lessons);
  return {footing, lessons.packs};
}

TEST(Footing, IsFullOnAHistoryThatIsRight) {
  Rng rng(1);
  for (const size_t n : {4U, 16U, 64U}) {
    const Programs programs = made_up(n, 1e-3, rng);
    EXPECT_GT(stand(programs, read_column(programs, 0), ansor_loss).footing.history, 0.95) << n;
    EXPECT_GT(stand(programs, read_column(programs, 0), squared_loss).footing.history, 0.95) << n;
    EXPECT_GT(stand(programs, read_column(programs, 0), rank_loss).footing.history, 0.95) << n;
  }
}

// A history that is the wrong way round deserves 0. Ansor's loss leaves it a little: it weighs fast
// programs most, and the mean around which the history is weighed does not.
TEST(Footing, FallsAsEvidenceAgainstTheHistoryGrows) {
  struct Case {
    Loss* loss;
    double at_most;
  };
  for (const auto& [loss, at_most] :
       {Case{ansor_loss, 0.1}, Case{squared_loss, 0.05}, Case{rank_loss, 0.05}}) {
    double before = 1;
    for (const size_t n : {4U, 32U, 256U}) {
      Rng rng(2);
      const Programs programs = made_up(n, 1e-3, rng);
      auto wrong = read_column(programs, 0);
      for (double& score : wrong) score = 3 * (1.1 - score);  // the wrong way round
      const double weight = stand(programs, wrong, loss).footing.history;
      EXPECT_GE(weight, 0);
      EXPECT_TRUE(weight < before || weight == 0) << n;
      before = weight;
    }
    EXPECT_LT(before, at_most);
  }
}

// Four programs of the slower half: the history knows how far from the best they are.
TEST(Footing, PutsLabelsOnTheScaleOfTheHistory) {
  Programs programs;
  for (const float v : {0.1F, 0.2F, 0.3F, 0.4F}) {
    programs.add({{{v, 0}, kWidth, {}}, "t", 1e-3 / (0.1 + 0.9 * double{v})});
  }
  const auto history = read_column(programs, 0);
  const Stood s = stand(programs, history, ansor_loss);
  for (size_t p = 0; p < 4; ++p) EXPECT_NEAR(s.packs.labels[p], history[p], 1e-6);
  EXPECT_NEAR(s.footing.history, 1, 1e-6);
  EXPECT_NEAR(s.footing.offset, 0, 1e-6);
}

// A history that is right gives way slowly, one that is wrong at once.
TEST(Footing, GivesThisRunMoreAsItMeasuresMore) {
  Rng rng(4);
  double before = 0;
  for (const size_t n : {4U, 16U, 64U}) {
    const Programs programs = made_up(n, 1e-3, rng);
    const auto right = read_column(programs, 0);
    auto wrong = right;
    for (double& score : wrong) score = 1.1 - score;
    const double run = stand(programs, right, ansor_loss).footing.run;
    const auto size = static_cast<double>(n);
    EXPECT_NEAR(run, size / (size + 16), 0.02);
    EXPECT_GT(run, before);
    EXPECT_GT(stand(programs, wrong, ansor_loss).footing.run, run);
    before = run;
  }
}

}  // namespace
}  // namespace tenon::cost
