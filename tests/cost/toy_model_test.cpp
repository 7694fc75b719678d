// SPDX-License-Identifier: Apache-2.0
// A model added as docs/adding/cost-model.md says: toy_model.cpp and one row.
#include <gtest/gtest.h>

#include "measure/measure.h"
#include "search/tasks.h"
#include "templates/template.h"
#include "tune/tuner.h"

namespace tenon::cost {

MakeModel make_nearest_model;

namespace {

constexpr ModelRow kRows[] = {
    {"nearest", "what the most similar steps were worth", make_nearest_model},
};

tune::TaskToTune product(int64_t m, int64_t n, int64_t k) {
  const task::Task t = search::make_task([=](te::Builder& b) {
    const auto x = b.input("A", ir::kF32, {m, k});
    b.output(te::matmul(b, "C", x, b.constant("W", ir::kF32, {k, n})));
  });
  const auto choice = templates::choose(schedule::State(t.dag, t.target), {t.edges, false});
  return {t, choice.trace, "template"};
}

TEST(ToyModel, IsARowLikeAnyOther) {
  EXPECT_EQ(make_model("nearest", 1, 1, kRows)->name(), "nearest");
  EXPECT_THROW(make_model("nearest", 1, 1), UserError);
  const auto m = make_model("nearest", 1, 1, kRows);
  EXPECT_EQ(load_model(m->save(), 1, 1, kRows)->name(), "nearest");
  EXPECT_THROW(load_model(m->save(), 1, 1), UserError);
}

TEST(ToyModel, TunesOnThePretendDevice) {
  tune::TunerOptions o;
  o.space = "sketch";
  o.round = 8;
  o.trials = 34;
  o.threads = 2;
  o.search.population = 48;
  o.search.generations = 2;
  o.verify = tune::Verify::kOff;
  o.model = std::make_shared<tune::RunModel>(make_model("nearest", 1, 1, kRows));
  const auto device = measure::sim_measurer({.seed = 3, .protocol = {}, .noise = 0});
  int ranked = 0;  // rounds in which a trained model ordered the programs
  tune::TaskTuner tuner({product(24, 17, 31), product(5, 48, 16)}, {{{2, 1}, 0, 0}}, o, *device,
                        nullptr, "run", [&](const events::Event& event) {
                          const auto* round = std::get_if<events::RoundDone>(&event);
                          ranked += round != nullptr && round->ranking.has_value();
                        });
  while (tuner.step([] { return false; })) {
  }
  EXPECT_TRUE(o.model->model().trained());
  EXPECT_GE(ranked, 3);
  EXPECT_EQ(tuner.measured(), o.trials);
  for (const tune::TaskResult& r : tuner.results()) EXPECT_LE(r.best_s, r.start_s);
}

}  // namespace
}  // namespace tenon::cost
