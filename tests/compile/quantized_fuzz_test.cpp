// SPDX-License-Identifier: Apache-2.0
// Random networks in 8 bits, by their definition, by the passes and by compiled code. What run i does follows from
// seed + i alone: --seed=THAT --runs=1 repeats it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "compile/compile.h"
#include "compile/quantized_graph.h"
#include "compile/run.h"
#include "graph/passes.h"
#include "target/target.h"

namespace tenon::compile {

uint64_t first_seed = 1;
int64_t runs = 100;

namespace {

// How far the integers of two arrays are apart at most, real ones in units of `step`.
double steps_between(const ir::Array& a, const ir::Array& b, double step) {
  EXPECT_EQ(a.shape(), b.shape());
  double most = 0;
  for (int64_t i = 0; i < a.elements(); ++i)
    most = std::max(most, std::abs(a.get_double(i) - b.get_double(i)) / step);
  return most;
}

ir::Array random_input(Rng& rng, const graph::Value& v) {
  ir::Array a(v.dtype, v.shape);
  for (int64_t i = 0; i < a.elements(); ++i)
    a.set_double(i, static_cast<double>(rng.between(-512, 511)) / 128);
  return a;
}

ir::Array compiled(const graph::Graph& g, const std::string& machine, const ir::Array& x) {
  Options options;
  options.target = machine.empty() ? target::host_target() : target::parse_target(machine);
  options.threads = 1;
  return run(compile(g, "quantized", options), {x})[0];
}

// With scales that are powers of two the definition is exact, and everything must give its bits.
TEST(QuantizedFuzz, ExactScalesGiveTheDefinitionsBits) {
  int integers = 0;
  for (int64_t i = 0; i < runs; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    SCOPED_TRACE(fmt::format("--seed={} --runs=1", seed));
    Rng rng(seed);
    const graph::Graph g =
        graph::random_quantized(rng, {.exact = true, .layers = 1 + static_cast<int>(seed % 3)});
    const ir::Array x = random_input(rng, g.value(g.inputs[0]));
    const ir::Array want = graph::evaluate(g, {x})[0];
    graph::Graph passed = g;
    graph::optimize(passed, {}, {.skip = {}, .verify = true, .watch = {}});
    for (const graph::Node& n : passed.nodes)
      integers +=
          std::holds_alternative<graph::Conv>(n.op) && g.value(n.inputs[0]).dtype.bits == 8 ? 1 : 0;
    ASSERT_EQ(steps_between(graph::evaluate(passed, {x})[0], want, 1), 0)
        << to_string(g) << to_string(passed);
    const std::string machine = seed % 4 == 0 ? "x86-64-v3" : "";
    ASSERT_EQ(steps_between(compiled(g, machine, x), want, 1), 0) << machine << "\n"
                                                                  << to_string(g);
  }
  EXPECT_GT(integers, runs / 8);
}

// With any scales the real sums of the definition round, and so may a * b + c in code: one step at most.
TEST(QuantizedFuzz, AnyScalesStayWithinOneStep) {
  for (int64_t i = 0; i < runs; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    SCOPED_TRACE(fmt::format("--seed={} --runs=1", seed));
    Rng rng(seed + 1'000'000);
    const graph::Graph g = graph::random_quantized(rng, {.exact = false, .layers = 1});
    const ir::Array x = random_input(rng, g.value(g.inputs[0]));
    graph::Graph passed = g;
    graph::optimize(passed);
    const ir::Array made = graph::evaluate(passed, {x})[0];
    if (made.dtype().bits == 8) {
      ASSERT_LE(steps_between(made, graph::evaluate(g, {x})[0], 1), 1) << to_string(g);
      ASSERT_LE(steps_between(compiled(g, "", x), made, 1), 1) << to_string(g);
    }
  }
}

}  // namespace
}  // namespace tenon::compile

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seed=", 7) == 0)
      tenon::compile::first_seed = std::strtoull(argv[i] + 7, nullptr, 10);
    if (std::strncmp(argv[i], "--runs=", 7) == 0)
      tenon::compile::runs = std::strtoll(argv[i] + 7, nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
