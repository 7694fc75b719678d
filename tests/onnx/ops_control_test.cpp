// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan with bodies written in C++; Constant and Dropout.
#include <gtest/gtest.h>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using graph::GraphBuilder;
using testing::at;
using testing::difference;
using testing::filled_by;
using testing::floats;
using testing::OpRun;
using testing::scalar;
using testing::Subgraph;
using Place = std::vector<int64_t>;
using Values = std::vector<ValueId>;

ValueId add(GraphBuilder& b, ValueId x, ValueId y) {
  return b.elementwise("add", {x, y}, [](std::span<const ir::Expr> v) {
    return v[0] + ir::cast(v[0].dtype(), v[1]);
  });
}

// (trip, condition, sum) -> (trip + 1 < stop, sum + trip, sum): the sum before each trip is scanned.
Subgraph counting(int64_t stop) {
  return [stop](GraphBuilder& b, const Values& in) -> Values {
    const ValueId more = b.elementwise("more", {in[0]}, [&](std::span<const ir::Expr> v) {
      return ir::lt(v[0] + 1, ir::Expr(stop));
    });
    return {more, add(b, in[2], in[0]), in[2]};
  };
}

ir::Array number(int64_t v) { return scalar(ir::kI64, static_cast<double>(v)); }
ir::Array truth(bool v) { return scalar(ir::kBool, v ? 1 : 0); }

TEST(Control, LoopStopsByCountOrCondition) {
  struct Case {
    int64_t count, stop, trips;
  };
  for (const Case& c : {Case{4, 100, 4}, Case{100, 3, 3}, Case{1, 100, 1}, Case{-1, 5, 5}}) {
    SCOPED_TRACE(c.trips);
    OpRun loop("Loop", 13);
    c.count < 0 ? loop.absent() : loop.known(number(c.count));
    const auto out = loop.known(truth(true))
                         .in(floats({10, 20}))
                         .with("body", counting(c.stop))
                         .outputs(2)
                         .run();
    const auto sum = static_cast<double>(c.trips * (c.trips - 1) / 2);
    EXPECT_EQ(difference(out[0], floats({10 + sum, 20 + sum})), "");
    ASSERT_EQ(out[1].shape(), (Shape{c.trips, 2}));
    for (int64_t i = 0; i < c.trips; ++i) {
      EXPECT_EQ(at(out[1], {i, 1}), 20 + static_cast<double>(i * (i - 1) / 2));
    }
  }
}

TEST(Control, LoopWithoutATripKeepsItsState) {
  for (const bool by_count : {true, false}) {
    const auto loop = [&](size_t outputs) {
      return OpRun("Loop", 13)
          .known(number(by_count ? 0 : 3))
          .known(truth(by_count))
          .in(floats({1, 2}))
          .with("body", counting(9))
          .outputs(outputs);
    };
    EXPECT_EQ(difference(loop(1).run()[0], floats({1, 2})), "");
    EXPECT_EQ(loop(2).run()[1].shape(), (Shape{0, 2}));
  }
}

// (trip, condition, x) -> (x + 1 < stop, x + 1, x)
Subgraph up_to(double stop) {
  return [stop](GraphBuilder& b, const Values& in) -> Values {
    const ValueId next = b.elementwise("next", {in[2]}, [](std::span<const ir::Expr> v) {
      return v[0] + ir::make_const(v[0].dtype(), 1);
    });
    const ValueId more = b.elementwise("more", {next}, [&](std::span<const ir::Expr> v) {
      return ir::lt(v[0], ir::make_const(v[0].dtype(), stop));
    });
    return {more, next, in[2]};
  };
}

TEST(Control, LoopsEndWhenTheirDataSaysSo) {
  struct Case {
    int64_t count;
    bool first;
    double from, stop;
    int64_t trips;
  };
  for (const Case& c : {Case{100, true, 0, 5, 5}, Case{3, true, 0, 5, 3}, Case{0, true, 0, 5, 0},
                        Case{9, false, 0, 5, 0}, Case{9, true, 7, 5, 1}}) {
    for (const bool known : {true, false}) {
      SCOPED_TRACE(c.trips);
      OpRun loop("Loop", 13);
      known ? loop.known(number(c.count)) : loop.in(number(c.count));
      loop.in(truth(c.first)).in(scalar(ir::kF32, c.from)).with("body", up_to(c.stop));
      const auto out = loop.outputs(known ? 2 : 1).run();
      EXPECT_EQ(out[0].get_double(0), c.from + static_cast<double>(c.trips));
      if (!known) continue;
      ASSERT_EQ(out[1].shape(), (Shape{c.trips}));  // a row for each turn that there was
      for (int64_t i = 0; i < c.trips; ++i)
        EXPECT_EQ(at(out[1], {i}), c.from + static_cast<double>(i));
    }
  }
}

TEST(Control, LoopWithoutACountEndsByItsCondition) {
  const auto out = OpRun("Loop", 13)
                       .absent()
                       .in(truth(true))
                       .in(scalar(ir::kF32, 0))
                       .with("body", up_to(5000))
                       .run();
  EXPECT_EQ(out[0].get_double(0), 5000);
}

TEST(Control, LoopRefusesWhatItsRowsWouldNeed) {
  EXPECT_THROW(OpRun("Loop", 13)  // rows of a number of turns that is not known
                   .in(number(4))
                   .known(truth(true))
                   .in(scalar(ir::kF32, 1))
                   .with("body", up_to(5))
                   .outputs(2)
                   .graph(),
               Unsupported);
  const Subgraph grows = [](GraphBuilder& b, const Values& in) -> Values {
    const ValueId twice = b.compute("twice", {in[2]}, [](te::Builder& t, auto x) {
      return te::concat(t, "twice", {x[0], x[0]}, 0);
    });
    return {in[1], twice};
  };
  const auto growing = [&](bool known) {
    OpRun loop("Loop", 13);
    known ? loop.known(number(3)) : loop.in(number(3));
    return loop.known(truth(true)).in(floats({1, 2})).with("body", grows);
  };
  EXPECT_EQ(growing(true).run()[0].shape(), (Shape{16}));
  EXPECT_THROW(growing(false).graph(), Unsupported);
}

// Turns leave each other's states: a, b = b, a.
TEST(Control, LoopsSwapStates) {
  const Subgraph swap = [](GraphBuilder&, const Values& in) -> Values {
    return {in[1], in[3], in[2], in[0]};
  };
  for (const int64_t turns : {0, 1, 4, 7}) {
    const auto out = OpRun("Loop", 13)
                         .in(number(turns))
                         .absent()
                         .in(floats({1, 2}))
                         .in(floats({3, 4}))
                         .with("body", swap)
                         .outputs(2)
                         .run();
    EXPECT_EQ(difference(out[0], turns % 2 == 0 ? floats({1, 2}) : floats({3, 4})), "");
    EXPECT_EQ(difference(out[1], turns % 2 == 0 ? floats({3, 4}) : floats({1, 2})), "");
  }
}

// Many turns are a loop: the graph has the body once.
TEST(Control, ManyTurnsAreALoop) {
  const auto loop = [](int64_t turns) {
    return OpRun("Loop", 13)
        .known(number(turns))
        .absent()
        .in(floats({10, 20}))
        .with("body", counting(1 << 20))
        .outputs(2);
  };
  EXPECT_TRUE(loop(32).graph().flow.empty());
  const graph::Graph g = loop(20'000).graph();
  EXPECT_FALSE(g.flow.empty());
  EXPECT_LT(g.nodes.size(), 10U);
  const auto out = loop(300).run();
  EXPECT_EQ(difference(out[0], floats({10 + 44850, 20 + 44850})), "");
  ASSERT_EQ(out[1].shape(), (Shape{300, 2}));
  EXPECT_EQ(at(out[1], {299, 0}), 10 + 298 * 299 / 2);
}

TEST(Control, IfTakesTheBranchOfItsData) {
  const auto constant = [](std::vector<double> v) -> Subgraph {
    return [v](GraphBuilder& b, const Values&) -> Values { return {b.constant(floats(v))}; };
  };
  for (const bool taken : {true, false}) {
    const auto branch = [&](std::vector<double> otherwise) {
      return OpRun("If", 13)
          .in(truth(taken))
          .with("then_branch", constant({5, 6}))
          .with("else_branch", constant(std::move(otherwise)));
    };
    EXPECT_EQ(difference(branch({7, 8}).run()[0], taken ? floats({5, 6}) : floats({7, 8})), "");
    EXPECT_THROW(branch({7, 8, 9}).graph(), Unsupported);  // which size would the output have
  }
}

TEST(Control, IfTakesTheBranchOfItsCondition) {
  const auto constant = [](double v) -> Subgraph {
    return [v](GraphBuilder& b, const Values&) -> Values { return {b.scalar(ir::kF32, v)}; };
  };
  for (const bool taken : {true, false}) {
    const auto out = OpRun("If", 13)
                         .known(truth(taken))
                         .with("then_branch", constant(5))
                         .with("else_branch", constant(7))
                         .run();
    EXPECT_EQ(out[0].get_double(0), taken ? 5 : 7);
  }
  EXPECT_THROW(OpRun("If", 13).in(truth(true)).with("then_branch", constant(5)).graph(),
               Unsupported);
}

// (sum, x, y) -> (sum + x, sum + x, x + y)
const Subgraph kScanBody = [](GraphBuilder& b, const Values& in) -> Values {
  const ValueId sum = add(b, in[0], in[1]);
  return {sum, sum, add(b, in[1], in[2])};
};

// x runs along dimension 1, y along dimension 0; each forward or backward.
TEST(Control, ScanAxesAndDirections) {
  const ir::Array x = filled_by(
      ir::kF32, {2, 3}, [](const Place& p) { return static_cast<double>(10 * p[0] + p[1]); });
  const ir::Array y = filled_by(ir::kF32, {3, 2}, [](const Place& p) {
    return static_cast<double>(100 * p[0] + 1000 * p[1]);
  });
  for (int mask = 0; mask < 16; ++mask) {
    SCOPED_TRACE(mask);
    const auto bit = [&](int i) { return int64_t{(mask >> i) & 1}; };
    const auto out = OpRun("Scan", 11)
                         .in(floats({0.5, 0.25}))
                         .in(x)
                         .in(y)
                         .with("num_scan_inputs", int64_t{2})
                         .with("scan_input_axes", std::vector<int64_t>{-1, 0})
                         .with("scan_input_directions", std::vector<int64_t>{bit(0), bit(1)})
                         .with("scan_output_axes", std::vector<int64_t>{1, -2})
                         .with("scan_output_directions", std::vector<int64_t>{bit(2), bit(3)})
                         .with("body", kScanBody)
                         .outputs(3)
                         .run();
    ASSERT_EQ(out[1].shape(), (Shape{2, 3}));
    ASSERT_EQ(out[2].shape(), (Shape{3, 2}));
    for (int64_t r = 0; r < 2; ++r) {
      double sum = r == 0 ? 0.5 : 0.25;
      for (int64_t trip = 0; trip < 3; ++trip) {
        const double xv = at(x, {r, bit(0) ? 2 - trip : trip});
        sum += xv;
        EXPECT_EQ(at(out[1], {r, bit(2) ? 2 - trip : trip}), sum);
        EXPECT_EQ(at(out[2], {bit(3) ? 2 - trip : trip, r}),
                  xv + at(y, {bit(1) ? 2 - trip : trip, r}));
      }
      EXPECT_EQ(at(out[0], {r}), sum);
    }
  }
}

TEST(Control, ScanOfVersion8RunsEachBatch) {
  const ir::Array initial = filled_by(
      ir::kF32, {3, 2}, [](const Place& p) { return static_cast<double>(1000 * p[0] + p[1]); });
  const ir::Array x = filled_by(ir::kF32, {3, 4, 2}, [](const Place& p) {
    return static_cast<double>(100 * p[0] + 10 * p[1] + p[2]);
  });
  const Subgraph body = [](GraphBuilder& b, const Values& in) -> Values {
    const ValueId sum = add(b, in[0], in[1]);
    return {sum, sum};
  };
  const auto out = OpRun("Scan", 8)
                       .absent()
                       .in(initial)
                       .in(x)
                       .with("num_scan_inputs", int64_t{1})
                       .with("body", body)
                       .outputs(2)
                       .run();
  ASSERT_EQ(out[1].shape(), (Shape{3, 4, 2}));
  testing::for_each_place({3, 2}, [&](const Place& p) {
    double sum = at(initial, p);
    for (int64_t t = 0; t < 4; ++t) {
      sum += at(x, {p[0], t, p[1]});
      EXPECT_EQ(at(out[1], {p[0], t, p[1]}), sum);
    }
    EXPECT_EQ(at(out[0], p), sum);
  });
}

TEST(Control, ConstantsOfEveryForm) {
  const auto of = [](const std::string& name, testing::Attribute v) {
    return OpRun("Constant", 13).with(name, std::move(v)).run()[0];
  };
  EXPECT_EQ(difference(of("value", floats({1, 2})), floats({1, 2})), "");
  EXPECT_EQ(difference(of("value_float", 2.5), scalar(ir::kF32, 2.5)), "");
  EXPECT_EQ(difference(of("value_floats", std::vector<double>{2.5, -1}), floats({2.5, -1})), "");
  EXPECT_EQ(difference(of("value_int", int64_t{7}), number(7)), "");
  EXPECT_EQ(difference(of("value_ints", std::vector<int64_t>{7, -8}), testing::ints({7, -8})), "");
  EXPECT_THROW(of("value_string", std::string("x")), Unsupported);
  EXPECT_THROW(OpRun("Constant", 13).run(), Unsupported);
}

TEST(Control, DropoutPassesItsInputOn) {
  const ir::Array x = floats({1, 2, 3});
  for (const int64_t opset : {7, 10, 12, 13}) {
    const auto out = OpRun("Dropout", opset).in(x).outputs(2).run();
    EXPECT_EQ(difference(out[0], x), "");
    EXPECT_EQ(out[1].dtype(), opset < 10 ? ir::kF32 : ir::kBool);
    EXPECT_EQ(out[1].get_double(2), 1);
  }
  const auto training = [&](double ratio) {
    return OpRun("Dropout", 13).in(x).known(scalar(ir::kF32, ratio)).known(truth(true));
  };
  EXPECT_EQ(difference(training(0).run()[0], x), "");
  EXPECT_THROW(training(0.5).graph(), Unsupported);
  EXPECT_THROW(OpRun("Dropout", 13).in(x).absent().in(truth(false)).graph(), Unsupported);
}

}  // namespace
}  // namespace tenon::onnx
