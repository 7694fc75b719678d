// SPDX-License-Identifier: Apache-2.0
// The network of treegru by hand and against libtorch, and what it learns.
#include "cost/models/treegru.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cost/losses.h"
#include "cost/models/shared.h"
#include "cost/models/tree_lessons.h"
#include "cost/random_trees.h"
#include "cost/tilings.h"
#include "cost/torch_plug_in.h"
#include "support/check.h"

namespace tenon::cost {
namespace {

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

std::vector<float> plain(const TreeNetwork& net, std::span<const Row> rows) {
  return plain_tree_scorer(net, Keep::kForThisRun)->score(rows);
}

// One column, one hidden number, one slot: a root with two leaves.
TEST(TreeNetwork, OfOneHiddenNumberByHand) {
  const TreeNetwork net{{1, 1, 1},
                        {0.5F, 0.1F, 0.3F, -0.4F, 0.8F, 0.05F, 0.06F, 0.07F, 0.2F, 0.6F, -0.5F,
                         0.01F, 0.02F, 0.03F, 0.9F, 0.4F, 1.5F, -0.2F, 2.0F}};
  ASSERT_EQ(net.weights.size(), weights_of(net.sizes));
  const auto state = [](double x, double s) {
    const double e = sigmoid(0.5 * x + 0.1);
    const double r = sigmoid(0.3 * e + 0.05 + 0.2 * s + 0.01);
    const double z = sigmoid(-0.4 * e + 0.06 + 0.6 * s + 0.02);
    const double n = std::tanh(0.8 * e + 0.07 + r * (-0.5 * s + 0.03));
    return (1 - z) * n + z * s;
  };
  const double a = state(2, 0), b = state(-1, 0), root = state(0.25, a + b);
  const std::vector<Row> rows = {{{0.25F, 2, -1}, 1, {-1, 0, 0}}};
  EXPECT_NEAR(plain(net, rows)[0], 2.0 * sigmoid(1.5 * (a + b + root) - 0.2), 1e-6);
}

class WithTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << kNoTorch;
    trainer_ = find_tree_trainer();
    ASSERT_NE(trainer_.functions, nullptr) << trainer_.why;
  }
  std::vector<float> by_torch(const TreeNetwork& net, const std::vector<Row>& rows) const {
    std::vector<uint32_t> nodes;
    std::vector<float> values, scores(rows.size());
    std::vector<int32_t> parent;
    for (const Row& r : rows) {
      nodes.push_back(static_cast<uint32_t>(r.rows()));
      values.insert(values.end(), r.values.begin(), r.values.end());
      parent.insert(parent.end(), r.parent.begin(), r.parent.end());
    }
    const tenon_trees trees{rows.size(), nodes.data(), values.data(), parent.data()};
    EXPECT_EQ(trainer_.functions->score(&net.sizes, &trees, net.weights.data(), scores.data()), 0);
    return scores;
  }
  TreeTrainer trainer_;
};

TEST_F(WithTorch, TheForwardPassIsLibtorchs) {
  Rng rng(1);
  for (const tenon_tree_sizes sizes : {tenon_tree_sizes{5, 16, 3}, kTreeGruSizes}) {
    const TreeNetwork net = random_tree_network(sizes, rng);
    for (const int64_t choices : {1, 4, 20}) {
      const auto rows = random_trees(sizes.columns, 40, 21, choices, rng);
      const auto ours = plain(net, rows), theirs = by_torch(net, rows);
      for (size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-5) << i;
    }
  }
}

// Worth is the sum of the first columns: something that any order of nodes shows.
std::vector<Sample> made_up_trees(const std::string& task, size_t n, Rng& rng) {
  std::vector<Sample> out;
  for (Row& r : random_trees(4, n, 8, 3, rng)) {
    double sum = 0;
    for (size_t i = 0; i < r.rows(); ++i) sum += double{r.values[4 * i]};
    out.push_back({std::move(r), task, std::exp(-0.2 * sum)});
  }
  return out;
}

struct Judged {
  double loss, pairwise;
};
Judged judged(const TreeNetwork& net, const std::vector<Sample>& samples) {
  TreeLessons lessons;
  std::vector<Row> rows;
  for (const Sample& s : samples) {
    lessons.add(s);
    rows.push_back(s.row);
  }
  const auto scores = plain(net, rows);
  Derivatives d;
  rank_loss(packs_of(lessons.programs), std::vector<double>(scores.begin(), scores.end()),
            std::vector<char>(rows.size(), 1), d);
  return {d.error, ranking_quality(scores, samples, 10).pairwise_accuracy};
}

TEST_F(WithTorch, TrainingLowersTheRankLossAndOrdersWhatWasHeldOut) {
  Rng rng(2);
  auto samples = made_up_trees("a", 150, rng);
  for (Sample& s : made_up_trees("b", 150, rng)) samples.push_back(std::move(s));
  const auto held_out = made_up_trees("a", 100, rng);
  TreeLessons lessons;
  for (const Sample& s : samples) lessons.add(s);
  TreeNetwork net = fresh_tree_network({4, 32, 2}, 3);
  const Judged before = judged(net, samples);
  train(*trainer_.functions, lessons, 7, net);
  const Judged after = judged(net, samples), unseen = judged(net, held_out);
  RecordProperty("pairwise_accuracy", std::to_string(unseen.pairwise));
  EXPECT_LT(after.loss, 0.7 * before.loss);
  EXPECT_GT(unseen.pairwise, 0.8);
  TreeNetwork again = fresh_tree_network({4, 32, 2}, 3);
  train(*trainer_.functions, lessons, 7, again);
  EXPECT_EQ(again.weights, net.weights);
}

TEST(TreeGru, RefusesToLearnWithoutThePlugIn) {
  if (has_torch()) GTEST_SKIP() << "this build has the plug-in tenon-torch";
  const auto m = make_model("treegru", 1, 1);
  try {
    m->learn({}, Role::kThisRun);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("tenon-torch"), std::string::npos) << e.what();
  }
}

std::string file_of(const TreeNetwork& net) {
  const std::string columns = body_of_saved("treegru", make_model("treegru", 1, 1)->save());
  const auto& w = net.weights;
  return saved("treegru",
               columns + std::string(reinterpret_cast<const char*>(w.data()), w.size() * 4));
}

TEST(TreeGru, ScoresByASavedNetworkWithoutThePlugIn) {
  Rng rng(4);
  const TreeNetwork net = random_tree_network(kTreeGruSizes, rng);
  const auto m = load_model(file_of(net), 1, 2);
  EXPECT_TRUE(m->trained());
  const auto rows = random_trees(kTreeColumns, 150, 10, 1, rng);
  EXPECT_EQ(m->score(rows), plain(net, rows));
  EXPECT_EQ(m->save(), file_of(net));
}

TEST(TreeGru, RefusesWhatItWouldNotWrite) {
  Rng rng(4);
  TreeNetwork net = random_tree_network(kTreeGruSizes, rng);
  const auto m = make_model("treegru", 1, 1);
  net.weights[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(m->load(file_of(net)), UserError);
  net.weights[5] = 0;
  net.weights.pop_back();
  EXPECT_THROW(m->load(file_of(net)), UserError);
  EXPECT_THROW(m->load(saved("treegru", "columns 0\n")), UserError);
  EXPECT_FALSE(m->trained());
}

}  // namespace
}  // namespace tenon::cost
