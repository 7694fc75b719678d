// SPDX-License-Identifier: Apache-2.0
// What records teach: beginnings are worth what the best is that begins so, and a function that learned from some tasks
// ranks programs of others.
#include "value/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/torch_plug_in.h"
#include "history/train.h"
#include "search/space/spaces.h"
#include "search/tasks.h"
#include "value/rows.h"

namespace tenon::value {
namespace {

task::Task product(int64_t rows, int64_t columns, int64_t depth) {
  return search::make_task([&](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {rows, depth});
    const auto w = b.constant("W", ir::kF32, {depth, columns});
    b.output(te::matmul(b, "C", a, w));
  });
}

// A machine that likes every size to be 8.
double pretend_seconds(const space::Choices& choices) {
  double s = 1;
  for (const space::Choice& c : choices) {
    if (c.hole.kind != space::HoleKind::kFactor) continue;
    s += std::abs(std::log2(1.0 + static_cast<double>(c.value)) - 3);
  }
  return s * 1e-3;
}

history::Known records_of(const task::Task& t, size_t n, uint64_t seed) {
  history::Known k{t, {}};
  const auto space = search::make_space("joint", t);
  Rng rng(seed);
  for (size_t tries = 0; k.entries.size() < n && tries < 20 * n; ++tries) {
    const auto p = space->sample(rng);
    if (p) k.entries.push_back({p->trace, p->choices, pretend_seconds(p->choices)});
  }
  std::sort(k.entries.begin(), k.entries.end(),
            [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return k;
}

TEST(Lessons, ABeginningIsWorthTheBestThatBeginsSo) {
  const auto all = lessons_of({records_of(product(32, 64, 48), 60, 1)}, {.beginnings = 8});
  size_t beginnings = 0;
  float best = 0, shortest = 0;
  size_t fewest = std::numeric_limits<size_t>::max();
  for (const Lesson& l : all) {
    EXPECT_GE(l.label, 0);
    EXPECT_LE(l.label, 1);
    if (l.complete) best = std::max(best, l.label);
    if (!l.complete) ++beginnings;
    if (l.rows.rows() < fewest) {
      fewest = l.rows.rows();
      shortest = l.label;
    }
  }
  EXPECT_EQ(best, 1);
  EXPECT_GT(beginnings, 60U);
  EXPECT_EQ(shortest, 1) << "nothing is decided, so the best can be reached";
}

TEST(Lessons, DoNotDependOnThreads) {
  const std::vector<history::Known> tasks{records_of(product(32, 64, 48), 20, 1),
                                          records_of(product(16, 96, 20), 20, 2)};
  const auto one = lessons_of(tasks, {.threads = 1});
  const auto three = lessons_of(tasks, {.threads = 3});
  ASSERT_EQ(one.size(), three.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].rows.values, three[i].rows.values);
    EXPECT_EQ(one[i].label, three[i].label);
  }
}

TEST(Lessons, LeaveOutWhatCannotBeJudged) {
  history::Known none = records_of(product(32, 64, 48), 20, 1);
  for (history::Entry& e : none.entries) e.seconds = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(lessons_of({none}, {}).empty());
  history::Known unknown = records_of(product(32, 64, 48), 20, 1);
  for (history::Entry& e : unknown.entries) e.choices.clear();
  EXPECT_TRUE(lessons_of({unknown}, {}).empty());
}

std::vector<history::Known> many_tasks() {
  std::vector<history::Known> tasks;
  uint64_t seed = 1;
  for (const int64_t rows : {16, 32, 48}) {
    for (const int64_t columns : {32, 64, 80, 128}) {
      tasks.push_back(records_of(product(rows, columns, rows + columns / 2), 40, seed++));
    }
  }
  return tasks;
}

TEST(TrainValue, RanksTasksThatItDidNotSee) {
  if (!cost::has_torch()) GTEST_SKIP() << cost::kNoTorch;
  const TrainValueOptions how{.lessons = {.beginnings = 2},
                              .width = 16,
                              .heads = 2,
                              .epochs = 15,
                              .batch = 64,
                              .ship = false};
  const auto tasks = many_tasks();
  const TrainedValue t = train_value(tasks, how);
  EXPECT_GE(t.held_out.tasks, 1);
  EXPECT_GT(t.held_out.pairwise, 0.7) << "half of the pairs is chance";
  EXPECT_EQ(to_bytes(train_value(tasks, how).model), to_bytes(t.model)) << "the same seed";
  EXPECT_FALSE(t.model.judge.empty());
}

// A network of random weights says nothing, the judge has learned: its half of the opinion puts programs in order.
TEST(ValueFunction, AsksItsJudgeAboutCompletePrograms) {
  const history::Known known = records_of(product(32, 64, 48), 80, 3);
  const auto judge = cost::make_model("xgb", 1, 1);
  judge->learn(history::encode(*judge, {known}, 1), cost::Role::kHistory);
  ASSERT_TRUE(judge->trained());
  ValueModel model;
  model.network = cost::fresh_attention_network({row_columns(), 16, 2, 1}, 1);
  const ValueFunction alone(model, cost::plain_rows_scorer);
  model.judge = judge->save();
  const ValueFunction judged(model, cost::plain_rows_scorer);
  const auto space = search::make_space("joint", known.task);
  const auto worth = [&](const ValueFunction& v, const history::Entry& e) {
    const Look look = look_at(*space, e.choices).value();
    EXPECT_EQ(alone.settled(-0.5, known.task, look.program), -0.5);
    return v.settled(-0.5, known.task, look.program);
  };
  const double best = worth(judged, known.entries.front());
  const double worst = worth(judged, known.entries.back());
  EXPECT_GT(best, worst);
  EXPECT_LE(best, -0.25) << "the mean of -0.5 and at most 0";
  EXPECT_GE(worst, (-0.5 + std::log(1.0 / 64)) / 2);
}

TEST(TrainValue, SaysThatThereAreTooFewRecords) {
  EXPECT_THROW(train_value({records_of(product(16, 16, 16), 5, 1)}, {}), UserError);
}

}  // namespace
}  // namespace tenon::value
