// SPDX-License-Identifier: Apache-2.0
// Derivatives against finite differences, measures against worked values.
#include "cost/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "cost/models/boosted.h"
#include "cost/ranking.h"
#include "support/rng.h"

namespace tenon::cost {
namespace {

struct Case {
  Packs packs;
  std::vector<double> scores;
  std::vector<char> counts;
};

// Programs of two tasks in turn, some of them equally fast; the last does not count.
Case made_up(size_t n) {
  Rng rng(n);
  Case c;
  for (size_t i = 0; i < n; ++i) {
    c.packs.rows.push_back(1);
    c.packs.labels.push_back(static_cast<float>(rng.between(0, 20)) / 20);
    c.packs.tasks.push_back(static_cast<uint32_t>(i % 2));
    c.scores.push_back(2 * rng.unit() - 1);
    c.counts.push_back(i + 1 < n);
  }
  return c;
}

Derivatives of(Loss* loss, const Case& c) {
  Derivatives d;
  loss(c.packs, c.scores, c.counts, d);
  return d;
}

using Value = std::function<double(const Case&)>;

// `value` is the loss as a number.
void expect_derivatives(Loss* loss, const Case& c, const Value& value) {
  const Derivatives d = of(loss, c);
  constexpr double kStep = 1e-4;
  for (size_t i = 0; i < c.scores.size(); ++i) {
    Case less = c, more = c;
    less.scores[i] -= kStep;
    more.scores[i] += kStep;
    EXPECT_NEAR(d.first[i], (value(more) - value(less)) / (2 * kStep), 1e-6) << i;
    EXPECT_NEAR(d.second[i], (value(more) - 2 * value(c) + value(less)) / (kStep * kStep), 1e-5)
        << i;
  }
  EXPECT_EQ(d.first.back(), 0);
  EXPECT_EQ(d.second.back(), 0);
}

double squares(const Case& c, bool by_label) {
  double sum = 0;
  for (size_t i = 0; i < c.scores.size(); ++i) {
    const double y = c.packs.labels[i];
    if (c.counts[i] != 0) sum += (by_label ? y : 1) * (c.scores[i] - y) * (c.scores[i] - y) / 2;
  }
  return sum;
}

struct Pairs {
  double loss = 0, weight = 0;
};

// All pairs of each task, as the paper has them; those of a program weigh two together.
Pairs all_pairs(const Case& c) {
  Pairs out;
  for (uint32_t task = 0; task < 2; ++task) {
    std::vector<size_t> own;
    for (size_t i = 0; i < c.scores.size(); ++i) {
      if (c.packs.tasks[i] == task && c.counts[i] != 0) own.push_back(i);
    }
    const double weight = 2 / (static_cast<double>(own.size()) - 1);
    for (const size_t i : own) {
      for (const size_t j : own) {
        if (c.packs.labels[i] <= c.packs.labels[j]) continue;
        out.loss += weight * std::log(1 + std::exp(c.scores[j] - c.scores[i]));
        out.weight += weight;
      }
    }
  }
  return out;
}

TEST(Losses, OfAnsorHasItsDerivatives) {
  const Case c = made_up(9);
  expect_derivatives(ansor_loss, c, [](const Case& at) { return squares(at, true); });
}

TEST(Losses, SquaredHasItsDerivatives) {
  const Case c = made_up(9);
  expect_derivatives(squared_loss, c, [](const Case& at) { return squares(at, false); });
  EXPECT_NEAR(of(squared_loss, c).error, std::sqrt(2 * squares(c, false) / 8), 1e-12);
}

// Lists of an even and of an odd number of programs.
TEST(Losses, OfRanksIsThatOfAllPairsWhereTheyAreFew) {
  for (const size_t n : {7U, 8U, 10U, 13U, 40U}) {
    const Case c = made_up(n);
    expect_derivatives(rank_loss, c, [](const Case& at) { return all_pairs(at).loss; });
    EXPECT_NEAR(of(rank_loss, c).error, all_pairs(c).loss / all_pairs(c).weight, 1e-12);
  }
}

// Of many programs some pairs are taken: always the same, and a program's weigh two together.
TEST(Losses, OfRanksIsOneFunctionForManyPrograms) {
  Case c = made_up(401);
  const Derivatives d = of(rank_loss, c);
  double weight = 0;  // of all pairs
  constexpr double kStep = 1e-3;
  for (size_t i = 0; i < 20; ++i) {
    const double at = c.scores[i];
    c.scores[i] = at + kStep;
    const double more = of(rank_loss, c).error;
    c.scores[i] = at - kStep;
    const double slope = (more - of(rank_loss, c).error) / (2 * kStep);
    c.scores[i] = at;
    if (weight == 0) weight = d.first[i] / slope;
    EXPECT_NEAR(d.first[i], slope * weight, 1e-4) << i;
    EXPECT_LE(d.second[i], 2 * 0.25);
  }
  EXPECT_NEAR(weight, 400, 40);  // less the pairs of equal labels
}

TEST(Losses, OfRanksStayFiniteForScoresFarApart) {
  Case c = made_up(8);
  for (size_t i = 0; i < 8; ++i) c.scores[i] = i % 3 == 0 ? 1e6 : -1e6;
  for (Loss* loss : {rank_loss, lambda_rank_loss}) {
    const Derivatives d = of(loss, c);
    EXPECT_TRUE(std::isfinite(d.error));
    for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(std::isfinite(d.first[i]) && d.second[i] >= 0);
  }
}

// Worked by hand from TLP's definition.
TEST(Losses, LambdaRankHasItsGoldenValues) {
  const Packs packs{{1, 1, 1}, {1.0F, 0.5F, 0.8F}, {0, 0, 0}};
  const auto expect = [&](std::vector<double> scores, double loss, std::vector<double> gradient) {
    Derivatives d;
    lambda_rank_loss(packs, scores, std::vector<char>(3, 1), d);
    EXPECT_NEAR(d.error, loss, 1e-6);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(d.first[i], gradient[i], 1e-6) << i;
  };
  expect({0.5, 0.2, 0.9}, 0.168552, {-0.077398, 0.074837, 0.002561});
  expect({0.9, 0.2, 0.5}, 0.164400, {-0.116757, 0.099413, 0.017344});
}

TEST(Losses, LambdaRankAndValueHaveTheirDerivatives) {
  for (Loss* loss : {lambda_rank_loss, value_loss}) {
    for (const size_t n : {2U, 9U, 24U}) {
      expect_derivatives(loss, made_up(n), [&](const Case& at) { return of(loss, at).error; });
    }
  }
}

TEST(Losses, OfValuesIsTheDistanceOfLogarithms) {
  const Packs packs{{1, 1, 1}, {0.5F, 0, 1}, {0, 0, 1}};
  Derivatives d;
  value_loss(packs, std::vector<double>{0, 0, 9}, std::vector<char>{1, 1, 0}, d);
  EXPECT_NEAR(d.error, (0.5 * std::log(2) + std::log(64) / 64) / 2, 1e-12);
}

TEST(Losses, OfOneProgramHaveNothingToRank) {
  const Case c{{{1}, {1.0F}, {0}}, {0.5}, {1}};
  EXPECT_EQ(of(lambda_rank_loss, c).error, 0);
  EXPECT_EQ(of(rank_loss, c).error, 0);
  EXPECT_EQ(of(rank_loss, c).first, std::vector<double>{0});
}

double recall(const std::vector<float>& labels, const std::vector<double>& scores) {
  const Packs packs{std::vector<size_t>(labels.size(), 1), labels,
                    std::vector<uint32_t>(labels.size(), 0)};
  return average_recall(packs, scores, std::vector<char>(labels.size(), 1));
}

TEST(Recall, OfWorkedRankings) {
  EXPECT_DOUBLE_EQ(recall({1, 0.5F, 0.25F}, {3, 2, 1}), (0 + 1.0 / 2 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(recall({1, 0.5F, 0.25F}, {1, 2, 3}), (0 + 0 + 2.0 / 3) / 3);
  // The best is scored second, and among the first two then.
  EXPECT_DOUBLE_EQ(recall({0.5F, 1, 0.25F, 0.1F}, {3, 2, 1, 0}),
                   (0 + 1.0 / 2 + 2.0 / 3 + 3.0 / 4) / 4);
  EXPECT_DOUBLE_EQ(recall({0.5F, 0.1F, 0.25F, 1}, {3, 2, 1, 0}),
                   (0 + 1.0 / 2 + 1.0 / 3 + 3.0 / 4) / 4);
}

TEST(Recall, LooksAtTheFirst64AndAtEachTask) {
  std::vector<float> labels;
  std::vector<double> scores;
  double perfect = 0;
  for (int i = 0; i < 200; ++i) {
    labels.push_back(1 / (1 + static_cast<float>(i)));
    scores.push_back(-i);
    if (i < 64) perfect += i / (i + 1.0) / 64;
  }
  EXPECT_DOUBLE_EQ(recall(labels, scores), perfect);
  const Packs two{{1, 1, 1, 1}, {1, 0.5F, 1, 0.5F}, {0, 0, 1, 1}};
  const std::vector<double> right_and_wrong = {2, 1, 1, 2};
  EXPECT_DOUBLE_EQ(average_recall(two, right_and_wrong, std::vector<char>(4, 1)), 0.25);
  const Packs three{{1, 1, 1}, {1, 0.5F, 0.25F}, {0, 0, 0}};
  const std::vector<double> scored = {2, 1, 9};
  EXPECT_DOUBLE_EQ(average_recall(three, scored, std::vector<char>{1, 1, 0}), 0.25);
}

TEST(Acquisition, OfWorkedSpreads) {
  // With the noise of a label, 0.05, these deviate by 0.1.
  const float d = std::sqrt(0.01F - 0.0025F);
  const std::vector<float> as_good = {1 - d, 1 + d}, better = {1.2F - d, 1.2F + d},
                           sure = {0.5F, 0.5F};
  EXPECT_NEAR(expected_improvement(as_good), 0.1 * 0.398942280401, 1e-7);
  EXPECT_NEAR(expected_improvement(better), 0.2 * 0.977249868 + 0.1 * 0.053990967, 1e-7);
  EXPECT_GE(expected_improvement(sure), 0);
  EXPECT_NEAR(upper_confidence(std::vector<float>{0.9F, 1.1F}), 1 + 2.576 * 0.1, 1e-6);
  EXPECT_NEAR(upper_confidence(sure), 0.5, 1e-7);
}

constexpr double kFailed = std::numeric_limits<double>::infinity();

TEST(TopK, WeighsTasksByTheirTimeAndOccurrence) {
  const std::vector<Sample> s = {{{}, "a", 2}, {{}, "a", 3}, {{}, "b", 8}, {{}, "b", 4}};
  const std::vector<float> p = {2, 1, 2, 1};
  EXPECT_DOUBLE_EQ(top_k(p, s, 1), 6.0 / 10);
  EXPECT_DOUBLE_EQ(top_k(p, s, 1, {{"a", 1}, {"b", 3}}), 14.0 / 26);
  EXPECT_DOUBLE_EQ(top_k(p, s, 5), 1);
}

TEST(TopK, CountsFailures) {
  const std::vector<Sample> s = {{{}, "a", kFailed}, {{}, "a", 3}, {{}, "dead", kFailed}};
  EXPECT_DOUBLE_EQ(top_k(std::vector<float>{2, 1, 1}, s, 1), 1e-5);
  EXPECT_DOUBLE_EQ(top_k(std::vector<float>{1, 2, 1}, s, 1), 1);
  EXPECT_EQ(top_k({}, {}, 1), 0);
}

}  // namespace
}  // namespace tenon::cost
