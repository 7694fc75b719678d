// SPDX-License-Identifier: Apache-2.0
// What is tuned for memory never has an algorithm that inflates weights: not as the default, not as a candidate, and not out of
// the records of a run that was allowed to.
#include <algorithm>

#include "plan/lean.h"
#include "templates/template.h"
#include "tune/session_fixture.h"

namespace tenon::tune {
namespace {

// A convolution that templates compute by Winograd's algorithm.
class LeanTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    Rng rng(3);
    graph::Graph g;
    graph::GraphBuilder b(g);
    te::ConvParams p;
    p.pad_before = p.pad_after = {1, 1};
    const graph::ValueId x = b.input("x", ir::kF32, {1, 32, 16, 16});
    const graph::ValueId w = b.constant(graph::random_array(rng, ir::kF32, {32, 32, 3, 3}));
    g.add_output(b.add("conv", graph::Conv{p}, {x, w}), "y");
    set_graph(std::move(g), rng);
  }

  SessionOptions lean(bool on) const {
    SessionOptions o = options(40);
    o.tuner.space = "joint";
    o.compile.lean = on;
    o.command = on ? "lean" : "fast";
    return o;
  }

  // How many programs of a run inflate weights, of all that were measured.
  int inflating(const std::string& run) const {
    int n = 0;
    for (const db::TaskRow& row : db_->tasks()) {
      for (const task::Measurement& m : db_->measurements({row.key, "", "", ""})) {
        const bool fat = !plan::why_not_lean(schedule::trace_from_json(m.trace)).empty();
        n += m.run == run && fat ? 1 : 0;
      }
    }
    return n;
  }
};

TEST_F(LeanTest, InflatesNoWeights) {
  const Summary fast = run(lean(false));
  EXPECT_GT(inflating(fast.run), 0) << "or this test shows nothing";
  events_.clear();
  const Summary small = run(lean(true));
  EXPECT_GT(small.measured, 0);
  EXPECT_EQ(inflating(small.run), 0);
  const artifact::Model m = artifact::Model::load(out());
  const int64_t parameters = 32 * 32 * 3 * 3 * 4;
  EXPECT_LT(m.weights_bytes(), parameters * 5 / 4);
}

// Records of another run are of the same task where its tensors are stored alike; those that inflate weights are refused.
TEST_F(LeanTest, RecordsThatInflateWeightsAreRefused) {
  const auto target = std::make_shared<const target::Target>(target::host_target());
  te::Builder b;
  te::ConvParams p;
  p.pad_before = p.pad_after = {1, 1};
  b.output(te::conv(b, "conv", b.input("X", ir::kF32, {1, 32, 16, 16}),
                    b.constant("W", ir::kF32, {32, 32, 3, 3}), p));
  const auto dag = std::make_shared<const te::ComputeDag>(b.finish());
  const schedule::State initial(dag, target);
  const templates::Choice fast = templates::choose(initial, {.fixed = {}, .borders = false});
  ASSERT_NE(plan::why_not_lean(fast.trace), "") << "or this test shows nothing";
  auto edges = fast.edges;
  edges.erase("W");  // each algorithm packs it in its own way
  const templates::Choice small = templates::choose(
      initial, {.fixed = edges, .borders = false, .without = plan::inflating_algorithms()});
  const task::Task task = task::make_task(dag, edges, target);
  const auto measurer = device();
  std::vector<std::string> refused;
  for (const bool is_lean : {false, true}) {
    TunerOptions o = lean(is_lean).tuner;
    o.accuracy = templates::Accuracy::kDefault;
    o.lean = is_lean;
    o.trials = 10;
    const std::string run = db_->begin_run(is_lean ? "lean" : "fast", "net");
    TaskTuner tuner({{task, is_lean ? small.trace : fast.trace, "template"}}, {{{1}, 0, 0}}, o,
                    *measurer, db_.get(), run, [&](const events::Event& e) {
                      if (const auto* r = std::get_if<events::Refused>(&e))
                        refused.push_back(r->why);
                    });
    while (tuner.step([] { return false; })) {
    }
    EXPECT_EQ(inflating(run) > 0, !is_lean);
    if (is_lean) {
      EXPECT_EQ(plan::why_not_lean(tuner.results()[0].best), "");
    }
  }
  EXPECT_TRUE(std::any_of(refused.begin(), refused.end(), [](const std::string& why) {
    return why.find("needs more memory for weights") != std::string::npos;
  }));
}

}  // namespace
}  // namespace tenon::tune
