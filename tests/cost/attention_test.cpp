// SPDX-License-Identifier: Apache-2.0
// The attention network by hand and against libtorch, its losses, and what it learns.
#include "cost/models/attention_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "cost/losses.h"
#include "cost/random_rows.h"
#include "cost/torch_plug_in.h"
#include "support/check.h"

namespace tenon::cost {
namespace {

std::vector<float> plain(const AttentionNetwork& net, std::span<const Row> sets,
                         uint32_t output = 0) {
  return plain_rows_scorer(net, Keep::kForThisRun)->score(sets, output);
}

double relu(double v) { return std::max(v, 0.0); }

// One column, two rows; each of the two heads has one of the two numbers of a row.
TEST(AttentionNetwork, OfTwoHeadsByHand) {
  Rng rng(1);
  const AttentionNetwork net = random_attention_network({1, 2, 2, 2}, rng);
  const auto w = [&](AttentionPart p, size_t i) { return double{net.part(p)[i]}; };
  using P = AttentionPart;
  using Pair = std::array<double, 2>;
  // Two columns to two columns.
  const auto layer = [&](const Pair& x, P part, P bias) {
    return Pair{x[0] * w(part, 0) + x[1] * w(part, 2) + w(bias, 0),
                x[0] * w(part, 1) + x[1] * w(part, 3) + w(bias, 1)};
  };
  const std::vector<float> set = {0.5F, -0.75F};
  std::array<Pair, 2> x, seen;
  for (size_t r = 0; r < 2; ++r) {
    const Pair in = {relu(set[r] * w(P::kIn, 0) + w(P::kInBias, 0)),
                     relu(set[r] * w(P::kIn, 1) + w(P::kInBias, 1))};
    const Pair up = layer(in, P::kUp, P::kUpBias);
    x[r] = {relu(up[0]), relu(up[1])};
  }
  const auto asked = [&](size_t row, size_t which, size_t head) {
    const size_t c = 2 * which + head;
    return x[row][0] * w(P::kAsk, c) + x[row][1] * w(P::kAsk, 6 + c) + w(P::kAskBias, c);
  };
  for (size_t r = 0; r < 2; ++r) {
    for (size_t h = 0; h < 2; ++h) {
      const double a = std::exp(asked(r, 0, h) * asked(0, 1, h)),
                   b = std::exp(asked(r, 0, h) * asked(1, 1, h));
      seen[r][h] = (a * asked(0, 2, h) + b * asked(1, 2, h)) / (a + b);
    }
  }
  Pair score = {0, 0};
  for (size_t r = 0; r < 2; ++r) {
    const Pair mix = layer(seen[r], P::kMix, P::kMixBias);
    Pair y = {x[r][0] + mix[0], x[r][1] + mix[1]};
    for (const auto& [part, bias] :
         {std::pair(P::kFirst, P::kFirstBias), std::pair(P::kSecond, P::kSecondBias)}) {
      const Pair more = layer(y, part, bias);
      y = {y[0] + relu(more[0]), y[1] + relu(more[1])};
    }
    for (size_t o = 0; o < 2; ++o) {
      const double last =
          relu(y[0] * w(P::kHead, 2 * o) + y[1] * w(P::kHead, 2 * o + 1) + w(P::kHeadBias, o));
      score[o] += last * w(P::kScore, o) + w(P::kScoreBias, o);
    }
  }
  const std::vector<Row> sets = {{set, 1, {}}};
  EXPECT_NEAR(plain(net, sets, 0)[0], score[0], 1e-6);
  EXPECT_NEAR(plain(net, sets, 1)[0], score[1], 1e-6);
}

TEST(AttentionNetwork, HasItsWeights) {
  const size_t dense = 64 * 64 + 64;
  EXPECT_EQ(weights_of({40, 64, 4, 1}),
            (40 * 64 + 64) + dense + 3 * dense + dense + 2 * dense + (64 * 32 + 32) + 32 + 1);
  EXPECT_EQ(weights_of({40, 64, 4, 3}) - weights_of({40, 64, 4, 1}), 2U * (64 * 32 + 32 + 32 + 1));
  EXPECT_THROW(fresh_attention_network({40, 64, 5, 1}, 1), InternalError);
  EXPECT_EQ(fresh_attention_network({4, 8, 2, 1}, 1).weights,
            fresh_attention_network({4, 8, 2, 1}, 1).weights);
}

TEST(AttentionNetwork, DoesNotSeeTheOrderOfRows) {
  Rng rng(2);
  const AttentionNetwork net = random_attention_network({3, 12, 3, 1}, rng);
  const Row set = random_set(3, 7, rng);
  Row turned = set;
  for (size_t r = 0; r < 7; ++r) {
    std::copy_n(set.values.begin() + static_cast<std::ptrdiff_t>(3 * r), 3,
                turned.values.begin() + static_cast<std::ptrdiff_t>(3 * (6 - r)));
  }
  const auto scores = plain(net, std::vector<Row>{set, turned});
  EXPECT_NEAR(scores[0], scores[1], 1e-5);
}

class AttentionByTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << kNoTorch;
    trainer_ = find_attention_trainer();
    ASSERT_NE(trainer_.functions, nullptr) << trainer_.why;
  }

  struct Got {
    double value = 0;
    std::vector<float> gradient;
  };
  Got loss(const AttentionNetwork& net, const RowsLessons& lessons, uint32_t which) const {
    const PackedSets packed(lessons.sets, net.sizes.columns);
    tenon_attention_lessons given{};
    given.sets = packed.view();
    given.labels = lessons.labels.data();
    given.tasks = lessons.tasks.data();
    given.loss = which;
    Got out{0, std::vector<float>(net.weights.size())};
    EXPECT_EQ(trainer_.functions->loss(&net.sizes, &given, net.weights.data(), &out.value,
                                       out.gradient.data()),
              0);
    return out;
  }

  AttentionTrainer trainer_;
};

TEST_F(AttentionByTorch, TheForwardPassIsLibtorchs) {
  Rng rng(3);
  for (const tenon_attention_sizes sizes :
       {tenon_attention_sizes{5, 12, 3, 2}, tenon_attention_sizes{40, 64, 4, 1}}) {
    const AttentionNetwork net = random_attention_network(sizes, rng);
    const auto sets = random_sets(sizes.columns, 50, 21, rng);
    const PackedSets packed(sets, sizes.columns);
    const auto view = packed.view();
    std::vector<float> theirs(sets.size() * sizes.outputs);
    ASSERT_EQ(trainer_.functions->score(&sizes, &view, net.weights.data(), theirs.data()), 0);
    for (uint32_t o = 0; o < sizes.outputs; ++o) {
      const auto ours = plain(net, sets, o);
      for (size_t i = 0; i < sets.size(); ++i) {
        EXPECT_NEAR(ours[i], theirs[i * sizes.outputs + o],
                    1e-5 * std::max(1.0F, std::abs(ours[i])));
      }
    }
  }
}

// Sets of three tasks in turn; on the second machine a third of the labels is not known.
RowsLessons made_up(uint32_t columns, size_t n, Rng& rng) {
  RowsLessons out;
  out.sets = random_sets(columns, n, 6, rng);
  for (size_t i = 0; i < n; ++i) {
    out.tasks.push_back(static_cast<uint32_t>(i % 3));
    for (size_t o = 0; o < 2; ++o) {
      const bool known = o == 0 || i % 4 != 0;
      out.labels.push_back(known ? static_cast<float>(rng.between(0, 10)) / 10 : -1.0F);
    }
  }
  return out;
}

// By cost/losses.h.
double loss_by_hand(const AttentionNetwork& net, const RowsLessons& lessons, Loss* loss) {
  double sum = 0, known = 0;
  for (uint32_t o = 0; o < 2; ++o) {
    Packs packs{{}, {}, lessons.tasks};
    std::vector<char> counts;
    for (size_t i = 0; i < lessons.sets.size(); ++i) {
      packs.rows.push_back(1);
      packs.labels.push_back(lessons.labels[2 * i + o]);
      counts.push_back(packs.labels.back() >= 0);
    }
    const auto scores = plain(net, lessons.sets, o);
    Derivatives d;
    loss(packs, std::vector<double>(scores.begin(), scores.end()), counts, d);
    // The mean of the value loss is over all labels that are known.
    const auto n = static_cast<double>(std::count(counts.begin(), counts.end(), 1));
    sum += loss == value_loss ? n * d.error : d.error;
    known += n;
  }
  return loss == value_loss ? sum / known : sum;
}

TEST_F(AttentionByTorch, LossesAreThoseOfPlainCode) {
  Rng rng(4);
  const AttentionNetwork net = random_attention_network({4, 8, 2, 2}, rng);
  const RowsLessons lessons = made_up(4, 41, rng);
  EXPECT_NEAR(loss(net, lessons, TENON_LOSS_RANK).value,
              loss_by_hand(net, lessons, lambda_rank_loss), 1e-4);
  EXPECT_NEAR(loss(net, lessons, TENON_LOSS_VALUE).value, loss_by_hand(net, lessons, value_loss),
              1e-5);
}

// Along the gradient: the losses are those of plain code.
TEST_F(AttentionByTorch, GradientsAreFiniteDifferences) {
  Rng rng(5);
  const AttentionNetwork net = random_attention_network({4, 8, 2, 2}, rng);
  const RowsLessons lessons = made_up(4, 12, rng);
  const auto expect = [&](uint32_t which, Loss* by_hand) {
    const auto g = loss(net, lessons, which).gradient;
    for (const NetworkPart& part : parts_of(net.sizes)) {
      double squares = 0;
      for (size_t i = part.first; i < part.end(); ++i) squares += double{g[i]} * double{g[i]};
      ASSERT_GT(squares, 0) << part.name;
      const auto moved = [&](double step) {
        AttentionNetwork at = net;
        for (size_t i = part.first; i < part.end(); ++i) {
          at.weights[i] += static_cast<float>(step * g[i] / std::sqrt(squares));
        }
        return loss_by_hand(at, lessons, by_hand);
      };
      constexpr double kStep = 1e-3;
      const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(slope / std::sqrt(squares), 1, 0.02) << part.name;
    }
  };
  expect(TENON_LOSS_RANK, lambda_rank_loss);
  expect(TENON_LOSS_VALUE, value_loss);
}

TEST_F(AttentionByTorch, UnknownLabelsTeachTheirHeadNothing) {
  Rng rng(6);
  const AttentionNetwork net = random_attention_network({4, 8, 2, 2}, rng);
  RowsLessons lessons = made_up(4, 20, rng);
  for (size_t i = 0; i < 20; ++i) lessons.labels[2 * i + 1] = -1;
  const auto of_output = [&](const std::vector<float>& g, AttentionPart p, uint32_t output) {
    const AttentionNetwork view{net.sizes, g};
    double sum = 0;
    for (const float v : view.part(p, output)) sum += std::abs(v);
    return sum;
  };
  for (const uint32_t which : {TENON_LOSS_RANK, TENON_LOSS_VALUE}) {
    const auto g = loss(net, lessons, which).gradient;
    EXPECT_GT(of_output(g, AttentionPart::kHead, 0), 0);
    EXPECT_EQ(of_output(g, AttentionPart::kHead, 1), 0);
    EXPECT_EQ(of_output(g, AttentionPart::kScore, 1), 0);
  }
  // No pair: nothing to learn, and nothing that is not a number.
  std::iota(lessons.tasks.begin(), lessons.tasks.end(), 0);
  const Got nothing = loss(net, lessons, TENON_LOSS_RANK);
  EXPECT_EQ(nothing.value, 0);
  for (const float v : nothing.gradient) EXPECT_EQ(v, 0);
}

// Worth is the sum of the first column where the second is large: rows have to be told apart. The
// last column says how many rows there are, which attention cannot see.
RowsLessons made_up_tasks(size_t tasks, size_t of_each, Rng& rng) {
  RowsLessons out;
  for (size_t t = 0; t < tasks; ++t) {
    std::vector<double> worth;
    for (Row& s : random_sets(4, of_each, 9, rng)) {
      double sum = 0;
      for (size_t r = 0; r < s.rows(); ++r) {
        sum += s.values[4 * r + 1] > 0 ? double{s.values[4 * r]} : 0;
        s.values[4 * r + 3] = 1 / static_cast<float>(s.rows());
      }
      worth.push_back(sum);
      out.sets.push_back(std::move(s));
      out.tasks.push_back(static_cast<uint32_t>(t));
    }
    const double best = *std::max_element(worth.begin(), worth.end());
    for (const double w : worth) out.labels.push_back(static_cast<float>(std::exp(w - best)));
  }
  return out;
}

double pairs_in_order(const RowsLessons& lessons, std::span<const float> scores) {
  double right = 0, all = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t j = 0; j < scores.size(); ++j) {
      if (lessons.tasks[i] != lessons.tasks[j] || lessons.labels[i] <= lessons.labels[j]) continue;
      right += scores[i] > scores[j];
      ++all;
    }
  }
  return right / all;
}

TEST_F(AttentionByTorch, TrainingOrdersWhatWasHeldOut) {
  Rng rng(7);
  const RowsLessons lessons = made_up_tasks(6, 100, rng), unseen = made_up_tasks(3, 60, rng);
  const TrainRows how{.epochs = 40, .batch = 64, .seed = 7, .threads = 2, .learning_rate = 3e-3F};
  AttentionNetwork net = fresh_attention_network({4, 32, 4, 1}, 3);
  EXPECT_LT(pairs_in_order(unseen, plain(net, unseen.sets)), 0.8);
  train(*trainer_.functions, lessons, how, net);
  const double learned = pairs_in_order(unseen, plain(net, unseen.sets));
  RecordProperty("pairwise_accuracy", std::to_string(learned));
  EXPECT_GT(learned, 0.9);
  AttentionNetwork again = fresh_attention_network({4, 32, 4, 1}, 3);
  train(*trainer_.functions, lessons, how, again);
  EXPECT_EQ(again.weights, net.weights);
}

TEST_F(AttentionByTorch, TheValueLossTeachesTheLogarithmOfWorth) {
  Rng rng(8);
  const RowsLessons lessons = made_up_tasks(1, 600, rng);  // the best of a task is unseen
  AttentionNetwork net = fresh_attention_network({4, 32, 4, 1}, 3);
  const auto error = [&] { return loss(net, lessons, TENON_LOSS_VALUE).value; };
  const double before = error();
  train(*trainer_.functions, lessons,
        {.loss = TENON_LOSS_VALUE, .epochs = 40, .batch = 32, .learning_rate = 3e-3F}, net);
  EXPECT_LT(error(), 0.3 * before);
}

// The weights of the epoch that was called the best.
TEST_F(AttentionByTorch, KeepsTheBestWeights) {
  Rng rng(9);
  const RowsLessons lessons = made_up_tasks(2, 40, rng);
  std::vector<std::vector<float>> told;
  TrainRows how{.epochs = 4, .batch = 32};
  how.asked = {3, 70, 5};
  how.quality = [&](std::span<const float> scores) {
    told.emplace_back(scores.begin(), scores.end());
    return told.size() == 2 ? 1.0 : 0.5;
  };
  AttentionNetwork net = fresh_attention_network({4, 8, 2, 1}, 3);
  train(*trainer_.functions, lessons, how, net);
  ASSERT_EQ(told.size(), 4U);
  const auto scores =
      plain(net, std::vector<Row>{lessons.sets[3], lessons.sets[70], lessons.sets[5]});
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(scores[i], told[1][i], 1e-5);
  EXPECT_NE(told[1], told[3]);
}

TEST_F(AttentionByTorch, RowsThatAreNoNumbersAreRefused) {
  Rng rng(10);
  RowsLessons lessons = made_up_tasks(1, 20, rng);
  lessons.sets[3].values[0] = std::numeric_limits<float>::quiet_NaN();
  AttentionNetwork net = fresh_attention_network({4, 8, 2, 1}, 3);
  const auto before = net.weights;
  EXPECT_THROW(train(*trainer_.functions, lessons, {.epochs = 1}, net), UserError);
  EXPECT_EQ(net.weights, before);
}

}  // namespace
}  // namespace tenon::cost
