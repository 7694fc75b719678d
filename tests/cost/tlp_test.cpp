// SPDX-License-Identifier: Apache-2.0
// The model tlp: what it learns of made-up machines, how it is kept, and what it refuses.
#include "cost/models/tlp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cost/models/shared.h"
#include "cost/models/tlp_run.h"
#include "cost/tilings.h"
#include "cost/torch_plug_in.h"
#include "support/check.h"

namespace tenon::cost {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<Row> rows_of(const std::vector<Sample>& samples) {
  std::vector<Row> rows;
  for (const Sample& s : samples) rows.push_back(s.row);
  return rows;
}

double pairs(const CostModel& m, const std::vector<Sample>& samples) {
  return ranking_quality(m.score(rows_of(samples)), samples, 5).pairwise_accuracy;
}

// Products of several sizes; the last is held out.
struct MadeUp {
  std::vector<Sample> known, held_out;
  MadeUp() {
    const auto m = make_model("tlp", 1, 1);
    Rng rng(11);
    const Product sizes[] = {{192, 256, 128}, {96, 512, 64}, {256, 128, 256}, {64, 192, 96}};
    for (size_t i = 0; i < std::size(sizes); ++i) {
      for (Sample& s : made_up_samples(*m, sizes[i], std::to_string(i), 32, rng))
        known.push_back(std::move(s));
    }
    held_out = made_up_samples(*m, {128, 384, 160}, "new", 120, rng);
  }
};

class TlpWithTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << kNoTorch;
  }
};

// Trained once: it takes ten seconds.
std::unique_ptr<CostModel> learned(const MadeUp& d) {
  static const std::string bytes = [&] {
    const auto m = make_model("tlp", 3, 2);
    m->learn(d.known, Role::kHistory);
    return m->save();
  }();
  return load_model(bytes, 3, 2);
}

TEST_F(TlpWithTorch, RanksATaskThatItNeverSaw) {
  const MadeUp d;
  const auto m = learned(d);
  ASSERT_TRUE(m->trained());
  const double known = pairs(*m, d.known), unseen = pairs(*m, d.held_out);
  RecordProperty("pairs_known", std::to_string(known));
  RecordProperty("pairs_unseen", std::to_string(unseen));
  EXPECT_GT(known, 0.85);
  EXPECT_GT(unseen, 0.75);  // by chance: 0.5
}

TEST_F(TlpWithTorch, IsTheSameForAnyNumberOfThreads) {
  const MadeUp d;
  std::string saved[2];
  for (int threads : {1, 2}) {
    const auto m = make_model("tlp", 3, threads);
    m->learn(std::span(d.known).first(32), Role::kHistory);
    ASSERT_TRUE(m->trained());
    saved[threads - 1] = m->save();
  }
  EXPECT_EQ(saved[0], saved[1]);
}

TEST_F(TlpWithTorch, WhatTheRunMeasuresIsLearnedOnTop) {
  const MadeUp d;
  const auto m = learned(d);
  const std::string saved_before = m->save();
  const std::vector<Sample> run(d.held_out.begin(), d.held_out.begin() + 64);
  const std::vector<Sample> rest(d.held_out.begin() + 64, d.held_out.end());
  const double before = pairs(*m, rest);
  m->learn(run, Role::kThisRun);
  const double after = pairs(*m, rest);
  RecordProperty("before", std::to_string(before));
  RecordProperty("after", std::to_string(after));
  EXPECT_GT(after, before - 0.01);
  EXPECT_EQ(m->save(), saved_before);  // what is kept is the network
}

// The same programs on a machine where narrow tiles are good: what the two share is learned from both.
TEST_F(TlpWithTorch, FewTimesOfAMachineAndManyOfAnotherAreBetterThanTheFewAlone) {
  const MadeUp d;
  Rng rng(5);
  TlpLessons both{{{"here", "p", 64}, {"there", "p", 32}}, {}, {}, {}},
      few{{{"here", "p", 64}}, {}, {}, {}};
  for (const Sample& s : d.known) {
    const double here = rng.chance(0.07) ? s.seconds : kUnknown;
    both.rows.push_back(s.row);
    both.tasks.push_back(s.task);
    both.seconds.insert(both.seconds.end(), {here, s.seconds * (1 + 0.2 * rng.unit())});
    if (std::isnan(here)) continue;
    few.rows.push_back(s.row);
    few.tasks.push_back(s.task);
    few.seconds.push_back(here);
  }
  const auto with = learned_tlp(both, 1, 2), without = learned_tlp(few, 1, 2);
  const double helped = pairs(*with, d.held_out), alone = pairs(*without, d.held_out);
  RecordProperty("helped", std::to_string(helped));
  RecordProperty("alone", std::to_string(alone));
  EXPECT_GT(helped, alone + 0.02);
}

// ---- files -----------------------------------------------------------------------------------------

AttentionNetwork random_network(uint32_t outputs, uint64_t seed) {
  return fresh_attention_network({kTokenColumns, kTlpWidth, kTlpHeads, outputs}, seed);
}

std::string file_of(const AttentionNetwork& net, const std::string& machines) {
  const std::string columns = body_of_saved("tlp", make_model("tlp", 1, 1)->save());
  const auto& w = net.weights;
  return saved("tlp", columns + machines +
                          std::string(reinterpret_cast<const char*>(w.data()), w.size() * 4));
}

const std::string kTwoMachines = "outputs 2\n64\tv1 threads=1\tZen\n32\tv1 threads=1\tOld\n";

std::vector<Row> some_rows() {
  Rng rng(2);
  return rows_of(made_up_samples(*make_model("tlp", 1, 1), {}, "t", 100, rng));
}

TEST(Tlp, ScoresByASavedNetworkWithoutThePlugIn) {
  const AttentionNetwork net = random_network(2, 9);
  const std::string file = file_of(net, kTwoMachines);
  const auto m = load_model(file, 1, 2);
  ASSERT_TRUE(m->trained());
  const auto rows = some_rows();
  EXPECT_EQ(m->score(rows), plain_rows_scorer(net, Keep::kForThisRun)->score(rows, 0));
  EXPECT_EQ(m->save(), file);
}

TEST(Tlp, ScoresForTheMachineOfTheRunOrTheNearest) {
  const AttentionNetwork net = random_network(2, 9);
  const auto m = load_model(file_of(net, kTwoMachines), 1, 1);
  const auto rows = some_rows();
  const auto plain = plain_rows_scorer(net, Keep::kForThisRun);
  EXPECT_EQ(m->serve("Old", "v1 threads=1", 32), "");
  EXPECT_EQ(m->score(rows), plain->score(rows, 1));
  const std::string told = m->serve("New", "v1 threads=1", 64);
  EXPECT_NE(told.find("Zen"), std::string::npos) << told;
  EXPECT_EQ(m->score(rows), plain->score(rows, 0));
  EXPECT_NE(m->serve("Older", "v1 threads=1", 16), "");
  EXPECT_EQ(m->score(rows), plain->score(rows, 1));
}

TEST(Tlp, RefusesWhatItWouldNotWrite) {
  AttentionNetwork net = random_network(2, 9);
  const auto m = make_model("tlp", 1, 1);
  EXPECT_THROW(m->load(file_of(net, "outputs 3\n64\ta\tb\n64\ta\tb\n64\ta\tc\n")), UserError);
  EXPECT_THROW(m->load(file_of(net, "outputs 0\n")), UserError);
  EXPECT_THROW(m->load(file_of(net, "outputs 2\n64 a b\n64 a b\n")), UserError);
  EXPECT_THROW(m->load(file_of(net, "")), UserError);
  net.weights[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(m->load(file_of(net, kTwoMachines)), UserError);
  EXPECT_FALSE(m->trained());
}

TEST(Tlp, RefusesToLearnWithoutThePlugIn) {
  if (has_torch()) GTEST_SKIP() << "this build has the plug-in tenon-torch";
  const auto m = make_model("tlp", 1, 1);
  try {
    m->learn({}, Role::kThisRun);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("tenon-torch"), std::string::npos) << e.what();
  }
}

TEST(Tlp, TheShortFormHasTheInnermostLoopsFirst) {
  const auto rows = some_rows();
  const auto one = short_form(rows[0]);
  ASSERT_EQ(one.size(), kShortColumns);
  float sum = 0;
  for (const float v : rows[0].values) sum += v;
  float sums = 0;
  for (size_t c = kShortColumns - kTokenColumns; c < kShortColumns; ++c) sums += one[c];
  EXPECT_NEAR(sums, sum, 1e-3 * std::abs(sum));
  const float* nest = nullptr;
  for (size_t r = rows[0].rows(); r-- > 0;) {
    const float* at = rows[0].values.data() + r * kTokenColumns;
    if (at[kNestToken] == 1) nest = at;
  }
  ASSERT_NE(nest, nullptr);
  for (size_t i = 0; i < kAxisRoles; ++i) EXPECT_EQ(one[i], nest[kTokenKinds + 8 + i]);
}

}  // namespace
}  // namespace tenon::cost
