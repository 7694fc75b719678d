// SPDX-License-Identifier: Apache-2.0
// Tasks inside a network: the layouts of their edges are decided outside, nothing is stored with a
// border, and what lies in the rounding of blocks is garbage.
#include "templates/edges.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "lower/lower.h"
#include "templates/by_name.h"
#include "templates/cases.h"

namespace tenon::templates {
namespace {

// How one test stores the tensors of rank 3 and more; others are plain. 0: free, -1: channels last.
struct Storing {
  std::string name;
  int64_t inputs, outputs;
};

const Storing kStorings[] = {{"free", 0, 0},      {"plain", 1, 1},   {"by16", 16, 16},
                             {"by8", 8, 8},       {"by4", 4, 4},     {"to_plain", 16, 1},
                             {"to_16", 1, 16},    {"to_free", 8, 0}, {"last", -1, -1},
                             {"from_free", 0, 16}};

Request request_for(const te::ComputeDag& dag, const Storing& s) {
  Request e;
  e.borders = false;
  const auto fix = [&](const te::Tensor& t, int64_t block) {
    if (block == 0) return;
    const int64_t channels = t.rank() < 3 ? 1 : t.shape()[1];
    int64_t b = block < 0 ? channels : block;
    while (b > 1 && b > 3 * channels) b /= 2;  // layouts may not grow much
    if (channels == 1) b = 1;
    e.fixed[t.name()] = blocked(t.shape(), b);
  };
  for (const te::Input& in : dag.inputs) {
    if (!in.constant) fix(in.tensor, s.inputs);
  }
  for (const te::Tensor& t : dag.outputs) fix(t, s.outputs);
  return e;
}

// What blocks round up to is whatever another kernel left there.
std::vector<ir::Array> pack_with_garbage(const schedule::State& s,
                                         const std::vector<ir::Array>& inputs) {
  std::vector<ir::Array> packed = lower::pack_inputs(s, inputs);
  for (size_t i = 0; i < packed.size(); ++i) {
    if (s.dag().inputs[i].constant) continue;
    ir::Array ones(inputs[i].dtype(), inputs[i].shape());
    for (int64_t e = 0; e < ones.elements(); ++e) ones.set_double(e, 1);
    const ir::Array held = s.stage(static_cast<schedule::StageId>(i)).layout.pack(ones);
    for (int64_t e = 0; e < held.elements(); ++e) {
      if (held.get_double(e) != 0) continue;
      if (held.dtype().is_float()) {
        packed[i].set_double(e, std::nan(""));
      } else {
        packed[i].set(e, {held.dtype().is_bool() ? 1 : 101, 0});
      }
    }
  }
  return packed;
}

std::string run_with_garbage(const schedule::State& s, const std::vector<ir::Array>& inputs,
                             const std::vector<ir::Array>& expected) {
  const auto f = lower::lower(s);
  if (!f) return "refused";
  std::vector<ir::Array> args = pack_with_garbage(s, inputs);
  const auto n = static_cast<std::ptrdiff_t>(args.size());
  for (ir::Array& a : lower::make_outputs(s)) args.push_back(std::move(a));
  ir::interpret(*f, args);
  return fuzz::compare(expected, lower::unpack_outputs(s, {args.begin() + n, args.end()}), s.dag(),
                       s.error_factor());
}

class EdgesTest : public ::testing::TestWithParam<Case> {};

TEST_P(EdgesTest, AreStoredAsAsked) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(*dag, rng);
  const auto expected = te::evaluate(*dag, inputs);
  for (const Storing& storing : kStorings) {
    const Request request = request_for(*dag, storing);
    for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
      if (kSanitized && std::string_view(name) != "x86-64-v4") continue;
      SCOPED_TRACE(storing.name + " " + name);
      auto target = std::make_shared<target::Target>(target::parse_target(name));
      target->cpu().cores = 2;
      const schedule::State initial(dag, target);
      const Choice choice = choose(initial, request);
      for (const auto& [tensor, l] : request.fixed) {
        ASSERT_TRUE(choice.edges.contains(tensor));
        EXPECT_TRUE(layout::same_storage(choice.edges.at(tensor), l)) << tensor;
      }
      EXPECT_EQ(choice.edges.size(), dag->inputs.size() + dag->outputs.size());
      const auto state = schedule::replay(initial, choice.trace);
      ASSERT_TRUE(state);
      for (const te::Input& in : dag->inputs) {
        if (in.constant) continue;
        for (const auto& step : choice.edges.at(in.tensor.name()).steps())
          EXPECT_NE(step.op, layout::LayoutOp::kPad) << in.tensor.name();
      }
      std::unique_ptr<backend::Compiler> compiler;
      if (target::runs_here(*target)) compiler = backend::make_compiler(*target);
      const auto outcome = fuzz::check_program(*state, inputs, expected, compiler.get());
      EXPECT_FALSE(outcome.refused);
      EXPECT_EQ(run_with_garbage(*state, inputs, expected), "") << choice.name;
      ASSERT_EQ(outcome.problem, "") << choice.name << "\n"
                                     << schedule::to_text(choice.trace, initial);
    }
  }
}

// Padding of plain images is copied with the rows, or its taps are left out.
TEST(PlainDepthwise, EveryWayOfPaddingIsRight) {
  int64_t tried = 0;
  for (const Case& c : cases()) {
    if (c.name.rfind("depthwise_wide", 0) != 0) continue;
    const auto dag = std::make_shared<const te::ComputeDag>(c.make());
    Rng rng(1);
    const auto inputs = fuzz::random_inputs(*dag, rng);
    const auto expected = te::evaluate(*dag, inputs);
    auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v4"));
    const schedule::State initial(dag, target);
    for (const int64_t padding : {1, 2}) {
      for (const int64_t rows : {1, 3, 8}) {
        const Request request = request_for(*dag, {"plain", 1, 1});
        const auto program =
            write_with("depthwise", initial, request, {{"pad", padding}, {"rows", rows}});
        if (!program || !program->numbers.contains("pad")) continue;
        EXPECT_EQ(program->numbers.at("pad"), padding);
        EXPECT_EQ(run_with_garbage(program->state, inputs, expected), "") << c.name;
        ++tried;
      }
    }
  }
  EXPECT_EQ(tried, 5 * 6);
}

INSTANTIATE_TEST_SUITE_P(Families, EdgesTest, ::testing::ValuesIn(cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::templates
