// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <gtest/gtest.h>

#include "support/check.h"
#include "task/record.h"
#include "te/ops.h"

namespace tenon::task {
namespace {

using layout::Layout;

std::shared_ptr<const te::ComputeDag> conv_relu() {
  te::Builder b;
  const te::Tensor x = b.input("x0", ir::kF32, {1, 32, 9, 9});
  const te::Tensor w = b.constant("w0", ir::kF32, {48, 32, 3, 3});
  b.output(te::relu(b, "relu", te::conv(b, "conv", x, w, {})));
  return std::make_shared<const te::ComputeDag>(b.finish("relu"));
}

Layout blocked(const std::vector<int64_t>& shape, int64_t b) {
  return Layout(shape).split(1, {shape[1] / b, b}).reorder({0, 1, 3, 4, 2});
}

Task blocked_task() {
  return make_task(conv_relu(),
                   {{"x0", blocked({1, 32, 9, 9}, 16)}, {"relu", blocked({1, 48, 7, 7}, 16)}},
                   std::make_shared<const target::Target>(target::parse_target("x86-64-v3")));
}

TEST(Task, StartsWithItsEdgesStoredAsAsked) {
  const Task t = blocked_task();
  EXPECT_EQ(t.label, "conv relu");
  EXPECT_EQ(t.key.size(), 16u);
  const schedule::Trace steps = edge_steps(t);
  EXPECT_EQ(steps.size(), 4u);
  const schedule::State s = start(t);
  EXPECT_TRUE(keeps_edges(t, s));
  EXPECT_FALSE(keeps_edges(t, schedule::State(t.dag, t.target)));
  const schedule::State initial(t.dag, t.target);
  EXPECT_EQ(schedule::to_json(schedule::parse_trace(schedule::to_text(steps, initial), initial)),
            schedule::to_json(steps));
}

TEST(Task, KeyDependsOnTheEdges) {
  const Task a = blocked_task();
  const Task b = make_task(a.dag, {}, a.target);
  EXPECT_NE(a.key, b.key);
  EXPECT_EQ(a.tag, b.tag);
}

std::shared_ptr<const te::ComputeDag> scaled(double factor, double floor) {
  te::Builder b;
  const te::Tensor x = b.input("x0", ir::kF32, {4, 24});
  b.output(te::elementwise(b, "y", {x}, [&](auto v) {
    return ir::max(v[0] * ir::make_float(ir::kF32, factor), ir::make_float(ir::kF32, floor));
  }));
  return std::make_shared<const te::ComputeDag>(b.finish("y"));
}

// Scalars are parameters of a kernel, not of a task; those that change what is computed tell tasks apart.
TEST(Task, KeyLeavesInlinedScalarsOut) {
  const auto target = std::make_shared<const target::Target>(target::parse_target("x86-64-v3"));
  const auto key = [&](double factor, double floor) {
    return make_task(scaled(factor, floor), {}, target).key;
  };
  EXPECT_EQ(key(0.125, 0), key(1e-5, 0));
  EXPECT_EQ(key(0.125, 0), key(37.5, 0));
  EXPECT_NE(key(0.125, 0), key(1, 0));
  EXPECT_NE(key(0.125, 0), key(0.125, 0.5));
  const Task a = make_task(scaled(0.125, 0), {}, target), b = make_task(scaled(2.5, 0), {}, target);
  EXPECT_NE(a.exact_key, b.exact_key);
  EXPECT_EQ(text_without_scalars("y[i: 8] = max(x[i] * 0.125, 0.0) + 1.0 - 1e-05 * x2.5"),
            "y[i: 8] = max(x[i] * _, 0.0) + 1.0 - _ * x2.5");
}

TEST(Task, EdgesReadBack) {
  const Task t = blocked_task();
  const auto back = parse_edges(edges_text(t.edges), *t.dag);
  EXPECT_EQ(back, t.edges);
  EXPECT_THROW(parse_edges("nobody: split(0,[1,1])\n", *t.dag), UserError);
  EXPECT_THROW(parse_edges("x0: nonsense\n", *t.dag), UserError);
}

TEST(Record, ReadsBack) {
  Measurement m;
  m.task = "0123456789abcdef";
  m.target = "somewhere";
  m.protocol = to_string(Protocol{1, 2, true});
  m.trace = R"([["split",2,0,[16],false]])";
  m.seconds = {1e-3, 1.5e-3};
  m.best_s = 1e-3;
  m.error = "with \"quotes\"\nand lines";
  m.time = 1700000000;
  const std::string line = to_json(m);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(to_json(measurement_from_json(line)), line);
  for (size_t cut = 0; cut < line.size(); cut += 7) {
    EXPECT_THROW(measurement_from_json(line.substr(0, cut)), UserError) << cut;
  }
}

TEST(Record, OutcomesAndProtocolsReadBack) {
  for (int i = 0; i <= static_cast<int>(Outcome::kUndecided); ++i) {
    const auto o = static_cast<Outcome>(i);
    EXPECT_EQ(parse_outcome(to_string(o)), o);
  }
  EXPECT_FALSE(parse_outcome("splendid"));
  EXPECT_EQ(parse_protocol("v1 threads=2 cold").threads, 2);
  EXPECT_FALSE(parse_protocol("v1 threads=2 warm").cold);
  for (const char* bad :
       {"", "v1", "v1 threads=x cold", "v1 threads=2 tepid", "v1 threads=2 cold "}) {
    EXPECT_THROW(parse_protocol(bad), UserError) << bad;
  }
}

}  // namespace
}  // namespace tenon::task
