// SPDX-License-Identifier: Apache-2.0
#include "cost/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "cost/features.h"
#include "cost/losses.h"
#include "cost/models/shared.h"
#include "cost/tilings.h"
#include "cost/torch_plug_in.h"
#include "support/parallel.h"

namespace tenon::cost {
namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();

Row row_of(size_t rows, float v) {
  return {std::vector<float>(rows * kFeatures, v), kFeatures, {}};
}

std::vector<Row> rows_of(std::span<const Sample> samples) {
  std::vector<Row> out;
  for (const Sample& s : samples) out.push_back(s.row);
  return out;
}

std::vector<Row> different_rows(std::span<const Sample> samples) {
  std::vector<Row> out;
  std::set<std::vector<float>> seen;
  for (const Sample& s : samples) {
    if (seen.insert(s.row.values).second) out.push_back(s.row);
  }
  return out;
}

const std::vector<char> kBoth = {1, 1};

TEST(AnsorLoss, EveryRowGetsTheResidualOfItsProgram) {
  const Packs packs{{1, 3}, {0.5F, 0.5F}, {0, 0}};
  const std::vector<float> predicted = {0.25F, 0.5F, 0.125F, 0.25F};
  Gradients g;
  gradients(ansor_loss, packs, scores_of(packs, predicted), kBoth, g);
  EXPECT_EQ(g.first, (std::vector<float>{-0.125F, 0.1875F, 0.1875F, 0.1875F}));
  EXPECT_EQ(g.second, (std::vector<float>{0.5F, 1.5F, 1.5F, 1.5F}));
  EXPECT_NEAR(g.error, std::sqrt((0.0625 + 0.140625) / 2), 1e-9);
}

TEST(AnsorLoss, FailuresWeighNothing) {
  const Packs packs{{2, 1}, {0.0F, 1.0F}, {0, 0}};
  Gradients g;
  gradients(ansor_loss, packs, scores_of(packs, std::vector<float>{3, 3, 0.75F}), kBoth, g);
  EXPECT_EQ(g.first, (std::vector<float>{0, 0, -0.25F}));
  EXPECT_EQ(g.second, (std::vector<float>{0, 0, 1}));
}

TEST(AnsorLoss, LabelsAreRelativeToTheBestOfTheTask) {
  const std::vector<Sample> samples = {{{}, "a", 2e-3},    {{}, "b", 8.0}, {{}, "a", 1e-3},
                                       {{}, "a", kFailed}, {{}, "b", 2.0}, {{}, "c", kFailed},
                                       {{}, "a", 0.0}};
  EXPECT_EQ(labels_of(samples), (std::vector<float>{0.5F, 0.25F, 1, 0, 1, 0, 0}));
}

TEST(Models, AreFoundByName) {
  ASSERT_EQ(models().size(), 10U);
  for (const ModelRow& r : models()) {
    EXPECT_EQ(make_model(std::string(r.name), 1, 1)->name(), r.name);
  }
  EXPECT_THROW(make_model("xgboost", 1, 1), UserError);
}

// ---- what every model promises ---------------------------------------------------------------

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const ModelRow& r : models()) out.emplace_back(r.name);
  return out;
}

// Of letters and digits alone.
std::string test_name(std::string model) {
  std::replace(model.begin(), model.end(), '-', '_');
  return model;
}

struct Taught {
  explicit Taught(const std::string& name) : model(make_model(name, 1, 1)) {
    Rng rng(3);
    const auto samples = made_up_samples(*model, {24, 32, 16}, "t", 48, rng);
    model->learn(samples, Role::kThisRun);
    rows = rows_of(samples);
    bytes = model->save();
  }
  std::unique_ptr<CostModel> model;
  std::vector<Row> rows;
  std::string bytes;
};

class EveryModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (is_trained_by_plug_in(GetParam()) && !has_torch()) GTEST_SKIP() << kNoTorch;
  }
  static void TearDownTestSuite() { known_.clear(); }

  // Taught once for all tests of files: networks take seconds to train.
  static const Taught& taught(const std::string& name) {
    return known_.try_emplace(name, name).first->second;
  }

 private:
  inline static std::map<std::string, Taught> known_;
};

TEST_P(EveryModel, IsUniformSeededAndFreshPerRoundBeforeItKnowsAnything) {
  const auto a = make_model(GetParam(), 7, 1), b = make_model(GetParam(), 7, 2),
             c = make_model(GetParam(), 8, 1);
  Rng rng(2);
  const auto candidates = different_rows(made_up_samples(*a, {}, "t", 1500, rng));
  const auto n = static_cast<double>(candidates.size());
  ASSERT_GT(n, 1000);
  EXPECT_FALSE(a->trained());
  const auto first = a->score(candidates);
  EXPECT_EQ(first, a->score(candidates));
  EXPECT_EQ(first, b->score(candidates));
  EXPECT_NE(first, c->score(candidates));
  double sum = 0;
  int below = 0;
  for (const float v : first) {
    ASSERT_TRUE(v >= 0 && v < 1) << v;
    sum += v;
    below += v < 0.25F;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.03);
  EXPECT_NEAR(below / n, 0.25, 0.04);
  a->learn(made_up_samples(*a, {}, "t", 2, rng), Role::kThisRun);
  EXPECT_NE(first, a->score(candidates));
  EXPECT_TRUE(a->score({}).empty());
}

TEST_P(EveryModel, IsSavedAndLoaded) {
  const Taught& t = taught(GetParam());
  const auto other = make_model(GetParam(), 1, 1);
  other->load(t.bytes);
  EXPECT_EQ(t.model->trained(), other->trained());
  EXPECT_EQ(t.bytes, other->save());
  if (other->trained()) {
    EXPECT_EQ(t.model->score(t.rows), other->score(t.rows));
  }
  EXPECT_EQ(load_model(t.bytes, 1, 1)->name(), GetParam());
}

// With what its maker knows of a program or from the trace alone, on any thread.
TEST_P(EveryModel, SeesTheSameOfAProgramWhoeverShowsIt) {
  Rng rng(4);
  const task::Task t = task_of({});
  const schedule::Trace trace = random_tiling(t, {}, rng);
  const auto state = schedule::replay(schedule::State(t.dag, t.target), trace);
  const auto bounds = schedule::infer_bounds(*state);
  const auto m = make_model(GetParam(), 1, 1);
  const Row all = *m->encode({t, trace, &*state, &*bounds});
  EXPECT_GT(all.rows(), 0U);
  std::vector<std::vector<float>> seen(8);
  for_each_parallel(seen.size(), 4, [&](size_t i) {
    seen[i] = m->encode({t, trace, i % 2 == 0 ? nullptr : &*state})->values;
  });
  for (const auto& values : seen) EXPECT_EQ(values, all.values);
}

TEST_P(EveryModel, RefusesWhatIsNotItsOwn) {
  const auto& [model, rows, bytes] = taught(GetParam());
  const auto before = model->score(rows);
  const size_t end = bytes.find('\n');
  std::string older = bytes;
  older[older.find('3')] = '2';
  const std::string other_kind = make_model(GetParam() == "xgb" ? "random" : "xgb", 1, 1)->save();
  for (const std::string& bad :
       {std::string(), std::string("hello\nworld"), older, other_kind, bytes.substr(0, end)}) {
    EXPECT_THROW(model->load(bad), UserError) << bad.substr(0, 60);
  }
  if (model->trained()) {
    EXPECT_THROW(model->load(bytes.substr(0, bytes.size() / 2)), UserError);
  }
  EXPECT_EQ(before, model->score(rows));
}

// Cut anywhere, or with a bit changed anywhere.
TEST_P(EveryModel, RefusesADamagedFile) {
  Rng rng(3);
  const std::string& bytes = taught(GetParam()).bytes;
  const auto m = make_model(GetParam(), 1, 1);
  const size_t body = bytes.find('\n') + 1;
  for (int i = 0; i < 50; ++i) {
    const auto at = static_cast<size_t>(
        rng.between(static_cast<int64_t>(body), static_cast<int64_t>(bytes.size()) - 1));
    EXPECT_THROW(m->load(bytes.substr(0, at)), UserError) << at;
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1 << rng.between(0, 7));
    EXPECT_THROW(m->load(changed), UserError) << at;
  }
}

// What a file may hold that nobody damaged, but nobody wrote either.
TEST(BoostedModels, RefuseWhatTheyWouldNotWrite) {
  for (const char* name : {"xgb-rank", "xgb-ei"}) {
    const auto m = make_model(name, 1, 1);
    const std::string columns = body_of_saved(name, m->save());
    m->load(saved(name, columns));
    for (const char* rest :
         {"x", "0 1", "0 1\n", "0 1\n1 9\ntrees", "0 1\n1 5\ntrees", "nan 1\n", "0 0\n",
          "0 1\n1 0\n", "0 99999999999999999999\n", "0 -1\n", "0 1 2\n"}) {
      EXPECT_THROW(m->load(saved(name, columns + rest)), UserError) << name << ": " << rest;
    }
    EXPECT_FALSE(m->trained());
  }
  // One member where six belong.
  Rng rng(3);
  const auto one = make_model("xgb-reg", 1, 1), six = make_model("xgb-ucb", 1, 1);
  one->learn(made_up_samples(*one, {24, 32, 16}, "t", 40, rng), Role::kThisRun);
  EXPECT_THROW(six->load(saved("xgb-ucb", body_of_saved("xgb-reg", one->save()))), UserError);
}

TEST(Xgb, RefusesAModelOfOtherColumns) {
  const auto m = make_model("xgb", 1, 1);
  std::string bytes = m->save();
  char& digit = bytes[bytes.size() - 2];  // of the hash
  digit = digit == '0' ? '1' : '0';
  EXPECT_THROW(m->load(bytes), UserError);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(names()), [](const auto& row) {
  std::string name = row.param;  // of letters and digits alone
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// ---- learning --------------------------------------------------------------------------------

TEST(Xgb, RanksHeldOutProgramsOfAMatmul) {
  Rng rng(11);
  const auto all = made_up_samples({}, "t", 800, rng);
  const std::span<const Sample> train = std::span(all).first(500),
                                held_out = std::span(all).subspan(500);
  const auto m = make_model("xgb", 1, 2);
  m->learn(train, Role::kThisRun);
  ASSERT_TRUE(m->trained());
  const RankingQuality q = ranking_quality(m->score(rows_of(held_out)), held_out, 30);
  RecordProperty("pairwise_accuracy", std::to_string(q.pairwise_accuracy));
  EXPECT_GT(q.pairwise_accuracy, 0.85);
  EXPECT_GT(q.recall_at_k, 0.5);
  EXPECT_GT(q.top_k_score, 0.9);
}

double accuracy(const CostModel& m, std::span<const Sample> held_out) {
  return ranking_quality(m.score(rows_of(held_out)), held_out, 30).pairwise_accuracy;
}

struct Learner {
  std::string name;
  // Of pairs of programs that it was not shown, at least. Expected improvement is 0 for all slow
  // ones.
  double accuracy;
};
class EveryLearner : public testing::TestWithParam<Learner> {
 protected:
  void SetUp() override {
    if (is_trained_by_plug_in(GetParam().name) && !has_torch()) GTEST_SKIP() << kNoTorch;
  }
};

TEST_P(EveryLearner, RanksHeldOutProgramsOfAMatmul) {
  Rng rng(11);
  const auto m = make_model(GetParam().name, 1, 2);
  const auto all = made_up_samples(*m, {}, "t", 450, rng);
  const std::span<const Sample> train = std::span(all).first(300),
                                held_out = std::span(all).subspan(300);
  m->learn(train, Role::kThisRun);
  ASSERT_TRUE(m->trained());
  const double right = accuracy(*m, held_out);
  RecordProperty("pairwise_accuracy", std::to_string(right));
  EXPECT_GT(right, GetParam().accuracy);
}

TEST_P(EveryLearner, IsTheSameForAnyNumberOfThreadsAndAskedByMany) {
  Rng rng(6);
  const auto one = make_model(GetParam().name, 9, 1), three = make_model(GetParam().name, 9, 3);
  const auto all = made_up_samples(*one, {24, 32, 16}, "t", 200, rng);
  const auto asked = rows_of(all);
  for (const auto& m : {one.get(), three.get()}) {
    m->learn(std::span(all).first(48), Role::kHistory);
    m->learn(std::span(all).subspan(48, 24), Role::kThisRun);
  }
  const auto alone = one->score(asked);
  EXPECT_EQ(alone, three->score(asked));
  std::vector<std::vector<float>> answers(4);
  for_each_parallel(answers.size(), 4, [&](size_t i) { answers[i] = three->score(asked); });
  for (const auto& a : answers) EXPECT_EQ(a, alone);
}

TEST_P(EveryLearner, KeepsItsHistoryThroughAFile) {
  Rng rng(6);
  const auto m = make_model(GetParam().name, 9, 1);
  const auto all = made_up_samples(*m, {24, 32, 16}, "t", 72, rng);
  m->learn(std::span(all).first(48), Role::kHistory);
  m->learn(std::span(all).subspan(48), Role::kThisRun);
  const std::string bytes = m->save();
  const auto other = load_model(bytes, 9, 1);
  EXPECT_EQ(other->score(rows_of(all)), m->score(rows_of(all)));
  EXPECT_EQ(other->save(), bytes);
}

TEST_P(EveryLearner, LearnsFromFailuresOrIgnoresThem) {
  Rng rng(6);
  const auto m = make_model(GetParam().name, 9, 1);
  auto all = made_up_samples(*m, {24, 32, 16}, "t", 60, rng);
  for (Sample& s : all) s.seconds = kFailed;
  m->learn(all, Role::kThisRun);
  EXPECT_FALSE(m->trained());
  m->learn(made_up_samples(*m, {24, 32, 16}, "t", 20, rng), Role::kThisRun);
  EXPECT_TRUE(m->trained());
  for (const float v : m->score(rows_of(all))) EXPECT_TRUE(std::isfinite(v));
}

INSTANTIATE_TEST_SUITE_P(Models, EveryLearner,
                         testing::Values(Learner{"xgb", 0.85}, Learner{"xgb-rank", 0.8},
                                         Learner{"xgb-reg", 0.8}, Learner{"xgb-itervar", 0.8},
                                         Learner{"xgb-knob", 0.7}, Learner{"xgb-ei", 0.7},
                                         Learner{"xgb-ucb", 0.7}, Learner{"treegru", 0.8}),
                         [](const auto& row) { return test_name(row.param.name); });

TEST(Xgb, LearnsSeveralTasksAtOnceAndIgnoresFailures) {
  Rng rng(12);
  auto all = made_up_samples({}, "large", 300, rng);
  for (Sample& s : made_up_samples({24, 64, 256}, "small", 300, rng)) all.push_back(std::move(s));
  for (Sample& s : made_up_samples({24, 64, 256}, "small", 50, rng)) {
    s.seconds = kFailed;
    all.push_back(std::move(s));
  }
  const auto m = make_model("xgb", 1, 2);
  m->learn(all, Role::kThisRun);
  auto held_out = made_up_samples({}, "large", 150, rng);
  for (Sample& s : made_up_samples({24, 64, 256}, "small", 150, rng))
    held_out.push_back(std::move(s));
  EXPECT_GT(ranking_quality(m->score(rows_of(held_out)), held_out, 30).pairwise_accuracy, 0.85);
}

TEST(Xgb, WaitsForSamplesAndRetrainsWhenTheyGrewByAFifth) {
  Rng rng(5);
  const auto all = made_up_samples({24, 32, 16}, "t", 130, rng);
  const auto asked = rows_of(all);
  const auto m = make_model("xgb", 1, 1);
  const auto learn = [&](size_t from, size_t to) {
    m->learn(std::span(all).subspan(from, to - from), Role::kThisRun);
  };
  learn(0, 15);
  EXPECT_FALSE(m->trained());
  learn(15, 100);
  EXPECT_TRUE(m->trained());
  const auto first = m->score(asked);
  learn(100, 119);
  EXPECT_EQ(first, m->score(asked));
  learn(119, 120);
  EXPECT_NE(first, m->score(asked));
}

// ---- history ---------------------------------------------------------------------------------

// Of two sizes: much of the one in the history, a little of the other in this run.
class XgbHistory : public testing::Test {
 protected:
  Rng rng_{21};
  std::vector<Sample> history_ = made_up_samples({}, "large", 400, rng_);
  std::vector<Sample> fresh_ = made_up_samples({24, 64, 256}, "small", 24, rng_);
  std::vector<Sample> large_ = made_up_samples({}, "large", 150, rng_);
  std::vector<Sample> small_ = made_up_samples({24, 64, 256}, "small", 150, rng_);
};

TEST_F(XgbHistory, OfASavedModelStaysUnderWhatThisRunAdds) {
  const auto before = make_model("xgb", 1, 1);
  before->learn(history_, Role::kThisRun);
  const auto m = load_model(before->save(), 2, 1);
  EXPECT_EQ(m->score(rows_of(large_)), before->score(rows_of(large_)));
  m->learn(fresh_, Role::kThisRun);
  EXPECT_NE(m->score(rows_of(large_)), before->score(rows_of(large_)));
  const auto alone = make_model("xgb", 2, 1);
  alone->learn(fresh_, Role::kThisRun);
  const double knew = accuracy(*before, large_), knows = accuracy(*m, large_);
  EXPECT_GT(knows, knew - 0.1);
  EXPECT_GT(knows, accuracy(*alone, large_) + 0.1) << knew << " before, " << knows << " now";
  EXPECT_GT(accuracy(*m, small_), accuracy(*alone, small_) + 0.1);
}

TEST_F(XgbHistory, OfSamplesIsTheSameAsASavedModel) {
  const auto before = make_model("xgb", 1, 1);
  before->learn(history_, Role::kThisRun);
  const auto loaded = load_model(before->save(), 1, 1), told = make_model("xgb", 1, 1);
  told->learn(history_, Role::kHistory);
  EXPECT_TRUE(told->trained());
  loaded->learn(fresh_, Role::kThisRun);
  told->learn(fresh_, Role::kThisRun);
  EXPECT_EQ(loaded->score(rows_of(large_)), told->score(rows_of(large_)));
  // Told later it comes to the same.
  const auto late = make_model("xgb", 1, 1);
  late->learn(fresh_, Role::kThisRun);
  late->learn(history_, Role::kHistory);
  EXPECT_EQ(late->score(rows_of(large_)), told->score(rows_of(large_)));
}

// However long training takes, its trees count from when there are a tenth more programs.
TEST(Xgb, TrainsOnManySamplesMeanwhile) {
  const auto m = make_model("xgb", 1, 1), loaded = make_model("xgb", 1, 1);
  Rng rng(5);
  const auto first = made_up_samples(*m, {}, "t", 200, rng);
  const auto more = made_up_samples(*m, {}, "t", 100, rng);
  const auto later = made_up_samples(*m, {}, "t", 40, rng);
  const auto candidates = rows_of(more);
  m->learn(first, Role::kThisRun);
  const auto before = m->score(candidates);
  m->learn(more, Role::kThisRun);
  EXPECT_EQ(m->score(candidates), before);
  const std::string saved = m->save();
  m->learn(std::span(later).first(29), Role::kThisRun);
  EXPECT_EQ(m->score(candidates), before);
  m->learn(std::span(later).subspan(29), Role::kThisRun);
  const auto after = m->score(candidates);
  EXPECT_NE(after, before);
  loaded->load(saved);
  EXPECT_EQ(loaded->score(candidates), after);
}

TEST(Xgb, IsTheSameForAnyNumberOfThreads) {
  Rng rng(6);
  const auto all = made_up_samples({}, "t", 1000, rng);
  const auto asked = rows_of(all);
  std::vector<std::vector<float>> predicted;
  for (const int threads : {1, 2, 3}) {
    const auto m = make_model("xgb", 9, threads);
    m->learn(all, Role::kThisRun);
    predicted.push_back(m->score(asked));
  }
  EXPECT_EQ(predicted[0], predicted[1]);
  EXPECT_EQ(predicted[0], predicted[2]);
}

TEST(Xgb, AnswersSeveralThreadsAtOnce) {
  Rng rng(7);
  const auto all = made_up_samples({24, 32, 16}, "t", 100, rng);
  const auto asked = rows_of(all);
  const auto m = make_model("xgb", 1, 2);
  m->learn(all, Role::kThisRun);
  const auto alone = m->score(asked);
  std::vector<std::vector<float>> answers(4);
  for_each_parallel(answers.size(), 4, [&](size_t i) { answers[i] = m->score(asked); });
  for (const auto& a : answers) EXPECT_EQ(a, alone);
}

TEST(Xgb, StaysBoundedForProgramsOfManyRows) {
  Rng rng(8);
  std::vector<Sample> samples;
  for (int i = 0; i < 64; ++i) {
    Sample s{row_of(40, 0), "t", 1 + rng.unit()};
    for (float& v : s.row.values) v = static_cast<float>(rng.between(0, 3));
    samples.push_back(std::move(s));
  }
  const auto m = make_model("xgb", 1, 1);
  m->learn(samples, Role::kThisRun);
  for (const float v : m->score(rows_of(samples))) EXPECT_TRUE(v > -0.5F && v < 2) << v;
}

// ---- ranking quality -------------------------------------------------------------------------

std::vector<Sample> timed(std::initializer_list<std::pair<const char*, double>> times) {
  std::vector<Sample> out;
  for (const auto& [task, seconds] : times) out.push_back({{}, task, seconds});
  return out;
}

TEST(Ranking, OfPerfectReversedAndConstantPredictions) {
  const auto s = timed({{"t", 1}, {"t", 2}, {"t", 3}, {"t", 4}});
  const auto perfect = ranking_quality(std::vector<float>{4, 3, 2, 1}, s, 2);
  EXPECT_EQ(perfect.pairwise_accuracy, 1);
  EXPECT_EQ(perfect.recall_at_k, 1);
  EXPECT_EQ(perfect.top_k_score, 1);
  EXPECT_EQ(perfect.samples, 4U);
  EXPECT_EQ(perfect.k, 2);
  const auto reversed = ranking_quality(std::vector<float>{1, 2, 3, 4}, s, 2);
  EXPECT_EQ(reversed.pairwise_accuracy, 0);
  EXPECT_EQ(reversed.recall_at_k, 0);
  EXPECT_DOUBLE_EQ(reversed.top_k_score, 1.0 / 3);
  EXPECT_EQ(ranking_quality(std::vector<float>{1, 1, 1, 1}, s, 2).pairwise_accuracy, 0.5);
}

TEST(Ranking, ComparesWithinTasksOnly) {
  // Right within each task, wrong across them.
  const auto s = timed({{"slow", 10}, {"slow", 20}, {"fast", 1}, {"fast", 2}});
  const auto q = ranking_quality(std::vector<float>{9, 8, 2, 1}, s, 1);
  EXPECT_EQ(q.pairwise_accuracy, 1);
  EXPECT_EQ(q.recall_at_k, 1);
  // One task right, one wrong: the mean.
  EXPECT_EQ(ranking_quality(std::vector<float>{9, 8, 1, 2}, s, 1).pairwise_accuracy, 0.5);
}

TEST(Ranking, FailuresRankLastAndSingleSamplesSayNothing) {
  const auto s = timed({{"t", kFailed},
                        {"t", 1},
                        {"t", kFailed},
                        {"alone", 1},
                        {"dead", kFailed},
                        {"dead", kFailed}});
  const auto q = ranking_quality(std::vector<float>{3, 2, 1, 0, 0, 1}, s, 1);
  EXPECT_EQ(q.pairwise_accuracy, 0.5);
  EXPECT_EQ(q.top_k_score, 0);
  const auto none = ranking_quality({}, {}, 5);
  EXPECT_EQ(none.pairwise_accuracy, 0);
  EXPECT_EQ(none.samples, 0U);
}

}  // namespace
}  // namespace tenon::cost
