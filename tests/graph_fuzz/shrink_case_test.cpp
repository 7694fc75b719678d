// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/shrink_case.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph_fuzz/compare.h"

namespace tenon::graph_fuzz {
namespace {

bool has(const Case& c, const std::string& op) {
  for (const auto& n : c.model.graph().node()) {
    if (n.op_type() == op) return true;
  }
  return false;
}

// The first seed whose graph has this operator among at least ten nodes.
Case with(const std::string& op) {
  for (uint64_t seed = 1;; ++seed) {
    Case c = draw_case({seed, 0});
    if (has(c, op) && c.model.graph().node_size() >= 10) return c;
  }
}

TEST(ShrinkCase, LeavesTheNodeThatFails) {
  for (const std::string op : {"Conv", "Softmax", "Where"}) {
    const Case small = shrink_case(with(op), [&](const Case& c) { return has(c, op); });
    EXPECT_EQ(small.model.graph().node_size(), 1) << small.model.graph().ShortDebugString();
    EXPECT_TRUE(has(small, op));
    const Arrays values = evaluate(small.model, small.inputs, nullptr);
    EXPECT_TRUE(values.contains(small.model.graph().output(0).name()));
  }
}

// y = ReduceSum(x) of numbers that nearly cancel.
Case cancelling() {
  Case c;
  c.model.set_ir_version(7);
  c.model.add_opset_import()->set_version(11);
  ir::Array x(ir::kF32, {4}), y(ir::kF32, {1});
  for (int64_t i = 0; i < 4; ++i) {
    x.set_double(i, (i % 2 == 0 ? 1 : -1) * (1.1 + 1e-6 * static_cast<double>(i)));
  }
  proto::GraphProto* g = c.model.mutable_graph();
  *g->add_input() = make_info("x", x);
  *g->add_output() = make_info("y", y);
  *g->add_node() = make_node("ReduceSum", {"x"}, {"y"}, {});
  c.inputs["x"] = x;
  return c;
}

TEST(CompareCase, TakesWhatRoundingExplainsAndNothingElse) {
  const Case c = cancelling();
  const ir::Array exact = evaluate(c.model, c.inputs, nullptr).at("y");
  const auto off_by = [&](double d) {
    ir::Array a = exact;
    a.set_double(0, a.get_double(0) + d);
    return compare(c, {{"y", a}}).difference;
  };
  EXPECT_EQ(off_by(0), "");
  EXPECT_EQ(off_by(2e-7), "") << "one unit in the last place of a term";
  EXPECT_NE(off_by(1e-3), "");
  EXPECT_NE(off_by(std::nan("")), "");
}

}  // namespace
}  // namespace tenon::graph_fuzz
