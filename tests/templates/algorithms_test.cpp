// SPDX-License-Identifier: Apache-2.0
// Templates by the algorithm that is asked for: the right one fits, and its program is right for
// each kind of target.
#include "schedule/algorithms/algorithms.h"

#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "te/ops.h"
#include "templates/by_name.h"
#include "templates/cases.h"
#include "templates/edges.h"

namespace tenon::templates {
namespace {

Request asking_for_strassen() {
  Request request;
  request.algorithm = 1 + static_cast<int64_t>(schedule::Algorithm::kStrassen);
  return request;
}

// X[x..] * W + bias + residual, ReLU.
te::ComputeDag dense_dag(std::vector<int64_t> x, int64_t columns, bool transposed) {
  te::Builder b;
  const int64_t k = x.back();
  const auto in = b.input("X", ir::kF32, x);
  const auto w = transposed ? b.constant("W", ir::kF32, {columns, k})
                            : b.constant("W", ir::kF32, {k, columns});
  const auto bias = b.constant("B", ir::kF32, {columns});
  x.back() = columns;
  const auto r = b.input("R", ir::kF32, x);
  const auto y = te::batch_matmul(b, "Y", in, w, false, transposed);
  const auto z = te::elementwise(b, "Z", {y, bias, r}, [](auto v) { return v[0] + v[1] + v[2]; });
  b.output(te::relu(b, "O", z));
  return b.finish();
}

te::ComputeDag pointwise_dag(std::vector<int64_t> x, int64_t channels, int64_t stride) {
  te::Builder b;
  const auto in = b.input("X", ir::kF32, x);
  const auto w = b.constant("W", ir::kF32, {channels, x[1], 1, 1});
  const auto bias = b.constant("B", ir::kF32, {channels, 1, 1});
  const auto y = te::conv(b, "Y", in, w, {{stride, stride}, {0, 0}, {0, 0}, {}, 1});
  const auto z = te::elementwise(b, "Z", {y, bias}, [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "O", z));
  return b.finish();
}

te::ComputeDag plain_dag(int64_t rows, int64_t k, int64_t columns) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {rows, k});
  b.output(te::matmul(b, "Y", x, b.constant("W", ir::kF32, {k, columns})));
  return b.finish();
}

std::vector<Case> products() {
  return {
      {"strassen", "dense",
       [] {
         return dense_dag({6, 32}, 64, false);
       }},
      {"strassen", "dense_odd_rows",
       [] {
         return dense_dag({1, 7, 64}, 32, true);
       }},
      {"strassen", "dense_rows_of_three_axes",
       [] {
         return dense_dag({1, 3, 5, 32}, 32, false);
       }},
      {"strassen", "dense_bare", [] { return plain_dag(24, 96, 96); }},
      {"strassen", "pointwise",
       [] {
         return pointwise_dag({1, 32, 3, 4}, 64, 1);
       }},
      {"strassen", "pointwise_odd",
       [] {
         return pointwise_dag({1, 64, 7, 7}, 32, 1);
       }},
      {"strassen", "pointwise_strided",
       [] {
         return pointwise_dag({2, 32, 5, 6}, 64, 2);
       }},
      {"matmul", "columns_no_vectors", [] { return plain_dag(9, 32, 40); }},
      {"matmul", "steps_no_vectors", [] { return plain_dag(9, 40, 32); }},
      {"conv", "channels_no_vectors",
       [] {
         return pointwise_dag({1, 48, 3, 4}, 32, 1);
       }},
  };
}

// Enough rows that cores share them out by default: tiles of all of them would take too many
// registers.
std::vector<Case> products_of_many_rows() {
  return {
      {"strassen", "dense", [] { return plain_dag(128, 32, 64); }},
      {"strassen", "dense_odd",
       [] {
         return dense_dag({1, 131, 64}, 32, true);
       }},
      {"strassen", "pointwise",
       [] {
         return pointwise_dag({1, 64, 13, 10}, 32, 1);
       }},
  };
}

class AlgorithmsTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    dag_ = std::make_shared<const te::ComputeDag>(GetParam().make());
    Rng rng(3);
    inputs_ = fuzz::random_inputs(*dag_, rng);
    expected_ = te::evaluate(*dag_, inputs_);
  }

  schedule::State initial(const char* name, int cores) const {
    auto target = std::make_shared<target::Target>(target::parse_target(name));
    target->cpu().cores = cores;
    return schedule::State(dag_, target);
  }

  void check(const schedule::State& initial, const schedule::Trace& trace) const {
    const auto state = schedule::replay(initial, trace);
    ASSERT_TRUE(state);
    std::unique_ptr<backend::Compiler> compiler;
    if (target::runs_here(initial.target())) compiler = backend::make_compiler(initial.target());
    const auto outcome = fuzz::check_program(*state, inputs_, expected_, compiler.get());
    EXPECT_FALSE(outcome.refused);
    EXPECT_EQ(outcome.problem, "") << initial.target().cpu().cores << " cores\n"
                                   << schedule::to_text(trace, initial);
  }

  // The name of the template; its program is right.
  std::string run(const char* name, int cores) const {
    const schedule::State start = initial(name, cores);
    const Choice choice = choose(start, asking_for_strassen());
    EXPECT_EQ(choice.passed_over, std::vector<std::string>{});
    check(start, choice.trace);
    return std::string(choice.name);
  }

  std::shared_ptr<const te::ComputeDag> dag_;
  std::vector<ir::Array> inputs_, expected_;
};

TEST_P(AlgorithmsTest, FitsWhenAskedForAndIsRight) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (const int cores : {1, 2}) {
      const std::string used = run(name, cores);
      if (std::string(name) == "x86-64-v4") EXPECT_EQ(used, GetParam().family);
    }
  }
}

TEST_P(AlgorithmsTest, EveryNumberIsRight) {
  const schedule::State start = initial("x86-64-v4", 2);
  const std::string used(choose(start, asking_for_strassen()).name);
  for (const int64_t along : {1, 2}) {
    for (const int64_t even : {0, 1}) {
      for (const int64_t n : {1, 2, 3}) {
        const Numbers numbers{{"along", along}, {"nb", n}, {"even", even}, {"tile", n}, {"in", n}};
        const auto program = write_with(used, start, asking_for_strassen(), numbers);
        ASSERT_TRUE(program.has_value());
        check(start, program->trace);
      }
    }
  }
}

class BlocksOfRowsTest : public AlgorithmsTest {};

TEST_P(BlocksOfRowsTest, AreRight) {
  for (const char* name : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (const int cores : {1, 2}) {
      const std::string used = run(name, cores);
      EXPECT_EQ(used, GetParam().family);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Products, BlocksOfRowsTest, ::testing::ValuesIn(products_of_many_rows()),
                         [](const auto& i) { return i.param.name; });

TEST_P(AlgorithmsTest, SmallProductsAreDirect) {
  for (const Accuracy a : {Accuracy::kDefault, Accuracy::kStrict}) {
    auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v4"));
    Request request;
    request.accuracy = a;
    EXPECT_NE(choose(schedule::State(dag_, target), request).name, "strassen");
  }
}

INSTANTIATE_TEST_SUITE_P(Products, AlgorithmsTest, ::testing::ValuesIn(products()),
                         [](const auto& i) { return i.param.name; });

std::string chosen(const te::ComputeDag& dag, int cores, const target::Rates& rates = {}) {
  auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v4"));
  target->cpu().cores = cores;
  target->cpu().rates = rates;
  return std::string(
      choose(schedule::State(std::make_shared<const te::ComputeDag>(dag), target)).name);
}

// Where multiplications are most of the work, in both directions.
TEST(Algorithms, LargeProductsTakeSevenOfEight) {
  for (const int cores : {1, 2}) {
    EXPECT_EQ(chosen(plain_dag(128, 768, 768), cores), "strassen");
    EXPECT_EQ(chosen(plain_dag(128, 768, 3072), cores), "strassen");
    EXPECT_EQ(chosen(plain_dag(128, 3072, 768), cores), "strassen");
    EXPECT_EQ(chosen(plain_dag(197, 768, 3072), cores), "strassen");
    EXPECT_EQ(chosen(pointwise_dag({1, 1024, 14, 14}, 256, 1), cores), "strassen");
    EXPECT_EQ(chosen(plain_dag(1, 768, 768), cores), "matmul");
    EXPECT_EQ(chosen(plain_dag(16, 768, 3072), cores), "matmul");
    EXPECT_EQ(chosen(pointwise_dag({1, 64, 56, 56}, 256, 1), cores), "conv");
    EXPECT_EQ(chosen(pointwise_dag({1, 256, 56, 56}, 64, 1), cores), "conv");
  }
}

// Sums are made by moving data: where arithmetic is faster beside it, fewer products gain less.
TEST(Algorithms, ProductsAreDirectWhereDataMovesSlowly) {
  const target::Rates slow{.flops_per_cached_byte = 4};
  EXPECT_EQ(chosen(plain_dag(128, 768, 768), 1), "strassen");
  EXPECT_EQ(chosen(plain_dag(128, 768, 768), 1, slow), "matmul");
}

// Panels of columns would read sums of 29 MB from memory: half of the direct speed on a machine with 32 MB of cache.
TEST(Algorithms, ProductsAreDirectWhereTheirSumsLeaveTheLastCache) {
  const auto with_cache = [](int64_t rows, int64_t columns, int64_t k, int64_t l3_bytes) {
    auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v4"));
    target->cpu().cores = 1;
    target->cpu().rates = {};
    target->cpu().l2_bytes = 1 << 20;
    target->cpu().l3_bytes = l3_bytes;
    const auto dag = std::make_shared<const te::ComputeDag>(plain_dag(rows, k, columns));
    return std::string(choose(schedule::State(dag, target)).name);
  };
  EXPECT_EQ(with_cache(2048, 2048, 2048, 32 << 20), "matmul");
  EXPECT_EQ(with_cache(2048, 2048, 2048, 64 << 20), "strassen");
  EXPECT_EQ(with_cache(1000, 768, 3072, 32 << 20), "matmul");
  EXPECT_EQ(with_cache(1000, 3072, 768, 32 << 20), "strassen");
  EXPECT_EQ(with_cache(1536, 1536, 1536, 32 << 20), "strassen");
}

// A Xeon that no row names took 0.79 to 0.92 of the time for BERT-base and ResNet-50 with direct products.
TEST(Algorithms, ProductsAreDirectOnUnknownWideUnits) {
  const target::Target unknown = target::parse_target("x86-64-v4");
  EXPECT_EQ(chosen(plain_dag(128, 768, 768), 1, unknown.cpu().rates), "matmul");
  EXPECT_EQ(chosen(plain_dag(128, 768, 3072), 2, unknown.cpu().rates), "matmul");
  EXPECT_EQ(chosen(pointwise_dag({1, 1024, 14, 14}, 256, 1), 2, unknown.cpu().rates), "conv");
}

// A core reads the sums that it made, except where that takes small or uneven blocks.
TEST(Algorithms, CoresShareOutRowsOfSums) {
  const auto along = [](const te::ComputeDag& dag) {
    auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v4"));
    target->cpu().cores = 2;
    target->cpu().l2_bytes = 1 << 20;
    target->cpu().rates = {};
    const auto given = std::make_shared<const te::ComputeDag>(dag);
    return write_with("strassen", schedule::State(given, target), {}, {})->numbers.at("along");
  };
  EXPECT_EQ(along(plain_dag(512, 512, 512)), 2);
  EXPECT_EQ(along(plain_dag(1024, 1024, 1024)), 2);
  EXPECT_EQ(along(pointwise_dag({1, 512, 28, 28}, 256, 1)), 2);
  EXPECT_EQ(along(pointwise_dag({1, 1024, 14, 14}, 256, 1)), 2);
  EXPECT_EQ(along(pointwise_dag({1, 2048, 14, 14}, 256, 1)), 1);  // sums of 49 rows are too large
  EXPECT_EQ(along(plain_dag(197, 768, 3072)), 1);                 // 99 rows make three blocks of 33
}

}  // namespace
}  // namespace tenon::templates
