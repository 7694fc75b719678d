// SPDX-License-Identifier: Apache-2.0
// Every family on small odd shapes, as kernels: SIMT on this machine gives the answer of the
// definition, and all of them become PTX.
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/nvptx/ptxas.h"
#include "fuzz/random_dag.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "schedule/algorithms/algorithms.h"
#include "schedule/state.h"
#include "simt/harness.h"
#include "templates/by_name.h"
#include "templates/case_tables.h"
#include "templates/cases.h"
#include "templates/template.h"

namespace tenon::templates {
namespace {

class GpuSimtTest : public ::testing::TestWithParam<Case> {};

void expect_right(const schedule::State& initial, const Choice& choice) {
  const te::ComputeDag& dag = initial.dag();
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(dag, rng);
  const auto state = schedule::replay(initial, choice.trace);
  ASSERT_TRUE(state);
  const auto f = lower::lower(*state);
  ASSERT_TRUE(f);
  std::vector<ir::Array> args = lower::pack_inputs(*state, inputs);
  const size_t first = args.size();
  for (ir::Array& a : lower::make_outputs(*state)) args.push_back(std::move(a));
  ASSERT_EQ(simt::run(*f, args), runtime::cuda::kSuccess) << ir::to_string(*f);
  const std::vector<ir::Array> outputs(args.begin() + static_cast<ptrdiff_t>(first), args.end());
  const std::string why =
      fuzz::compare(te::evaluate(dag, inputs), lower::unpack_outputs(*state, outputs), dag,
                    state->error_factor());
  EXPECT_EQ(why, "") << ir::to_string(*f);
  static const auto ptx = backend::make_compiler(simt::gpu("sm_90"));
  EXPECT_FALSE(ptx->emit(*f, backend::Emit::kAssembly).bytes.empty());
}

TEST_P(GpuSimtTest, KernelsAreRight) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  const schedule::State initial(dag, std::make_shared<target::Target>(simt::simt_target()));
  expect_right(initial, choose(initial));
}

TEST_P(GpuSimtTest, KernelsOfEachAlgorithmAreRight) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  const schedule::State initial(dag, std::make_shared<target::Target>(simt::simt_target()));
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    Request request;
    request.algorithm = 1 + static_cast<int64_t>(row.algorithm);
    const Choice choice = choose(initial, request);
    if (choice.name == "gpu_winograd") expect_right(initial, choice);
  }
}

// NVIDIA's assembler finds registers for all that kernels of whole rows and of whole tiles keep.
TEST(GpuPtxas, KernelsDoNotSpill) {
  const auto ptxas = backend::nvptx::find_ptxas();
  if (!ptxas) GTEST_SKIP() << "there is no ptxas";
  const auto compiler = backend::make_compiler(simt::gpu("sm_90"));
  for (const Case& c : network_cases()) {
    const bool tiles = c.name == "net_conv_1_64_56_64_3_1_1_1";
    if (!tiles && !c.name.starts_with("net_attention") && !c.name.starts_with("net_softmax"))
      continue;
    const schedule::State initial(std::make_shared<const te::ComputeDag>(c.make()),
                                  std::make_shared<target::Target>(simt::gpu("sm_90")));
    const auto state = schedule::replay(
        initial, tiles ? write_with("gpu_winograd", initial, {}, {{"one_kernel", 1}})->trace
                       : choose(initial).trace);
    ASSERT_TRUE(state);
    const auto f = lower::lower(*state);
    ASSERT_TRUE(f);
    const std::string ptx = compiler->emit(*f, backend::Emit::kAssembly).bytes;
    const auto made = backend::nvptx::assemble(*ptxas, {ptx}, "sm_90");
    ASSERT_EQ(made.kernels.size(), 1U) << c.name;
    EXPECT_EQ(made.kernels[0].spill_store_bytes, 0) << c.name;
    EXPECT_LE(made.kernels[0].registers, tiles ? 224 : 128) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GpuSimtTest, ::testing::ValuesIn(cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::templates
