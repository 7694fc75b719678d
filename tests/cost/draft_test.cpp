// SPDX-License-Identifier: Apache-2.0
// What anybody who writes loops knows, and so must the draft: nothing here is fitted.
#include "cost/draft.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cost/reach.h"
#include "schedule/scheduled.h"

namespace tenon::cost {
namespace {

double seconds(const std::string& te, const std::string& trace,
               const std::string& target = "x86-64-v3") {
  const schedule::State s = schedule::scheduled(te, trace, target);
  const auto b = schedule::infer_bounds(s);
  EXPECT_TRUE(b) << trace;
  const double drafted = draft_seconds(s, *b);
  // Strategies have bounds that know less.
  const auto quick = schedule::infer_bounds(s, -1, schedule::BoundsFor::kSearch);
  EXPECT_EQ(drafted, draft_seconds(s, *quick)) << trace;
  return drafted;
}

std::string product(int rows, int columns, int depth) {
  const std::string m = std::to_string(rows), n = std::to_string(columns),
                    k = std::to_string(depth);
  return "input A: f32[" + m + ", " + k + "]\ninput B: f32[" + k + ", " + n + "]\nC[i: " + m +
         ", j: " + n + "] = sum(k: " + k + ") A[i, k] * B[k, j]\noutput C\n";
}

// A tile of `rows` by `vectors` of eight lanes, summed up in straight code.
std::string tile(int rows, int vectors) {
  return "split C i [" + std::to_string(rows) + "]\nsplit C j [" + std::to_string(vectors) +
         ", 8]\nreorder C [i.0, j.0, k, i.1, j.1, j.2]\nunroll C i.1\nunroll C j.1\n"
         "vectorize C j.2\n";
}

constexpr const char* kConvolution = R"(
input X: f32[32, 30, 34]
input W: f32[32, 3, 3, 64]
Y[y: 28, x: 32, o: 64] = sum(c: 32, r: 3, s: 3) X[c, y + r, x + s] * W[c, r, s, o]
output Y
)";

TEST(Draft, IsAboutTheTimeOfThePeakForAGoodTile) {
  // Two instructions of eight lanes in a cycle at 3 GHz.
  const double peak = 192.0 * 192 * 192 / (2 * 8 * 3e9);
  const double drafted = seconds(product(192, 192, 192), tile(6, 2));
  EXPECT_GT(drafted, peak);
  EXPECT_LT(drafted, 1.6 * peak);
}

TEST(Draft, VectorsAreFasterThanScalars) {
  const std::string te = product(64, 64, 64);
  std::string scalar = tile(4, 2);
  scalar.replace(scalar.find("vectorize"), 9, "unroll");
  EXPECT_LT(3 * seconds(te, tile(4, 2)), seconds(te, scalar));
  const std::string conv =
      "split Y x [4]\nsplit Y o [2, 8]\nreorder Y [y, x.0, o.0, c, r, s, x.1, o.1, o.2]\n"
      "unroll Y x.1\nunroll Y o.1\n";
  EXPECT_LT(3 * seconds(kConvolution, conv + "vectorize Y o.2"),
            seconds(kConvolution, conv + "unroll Y o.2"));
}

TEST(Draft, LanesSideBySideAreFasterThanLanesApart) {
  const double apart = seconds(product(64, 64, 64),
                               "split C j [4]\nsplit C i [2, 8]\n"
                               "reorder C [j.0, i.0, k, j.1, i.1, i.2]\nunroll C j.1\n"
                               "unroll C i.1\nvectorize C i.2\n");
  EXPECT_LT(2 * seconds(product(64, 64, 64), tile(4, 2)), apart);
}

TEST(Draft, MoreSumsAtOnceAreFasterUntilRegistersRunOut) {
  const std::string te = product(192, 192, 192);
  const double one = seconds(te, tile(1, 1)), some = seconds(te, tile(6, 2));
  const double many = seconds(te, tile(12, 4));
  EXPECT_LT(2 * some, one) << "a sum waits for itself";
  EXPECT_LT(1.3 * some, many) << "16 registers, 48 sums";
  EXPECT_LT(seconds(te, tile(12, 2), "x86-64-v4"), seconds(te, tile(12, 2))) << "32 registers";
}

TEST(Draft, SumsInMemoryAreSlower) {
  const std::string te = product(64, 64, 64), good = tile(4, 2);
  std::string bad = good;
  bad.replace(bad.find("i.0, j.0, k"), 11, "i.0, k, j.0");
  EXPECT_LT(1.5 * seconds(te, good), seconds(te, bad));
}

TEST(Draft, BlocksThatFitTheCacheAreFasterForLargeSizesOnly) {
  // Blocks of 64 columns and 32 terms of the sum: what B holds of them is read from the first level.
  const std::string rest = "unroll C i.1\nvectorize C j.2\n";
  const auto blocked = [&](int size) {
    return seconds(product(size, size, size),
                   "split C i [4]\nsplit C j [8, 8]\nsplit C k [32]\n"
                   "reorder C [j.0, k.0, i.0, j.1, k.1, i.1, j.2]\n" +
                       rest);
  };
  const auto plain = [&](int size) {
    return seconds(product(size, size, size),
                   "split C i [4]\nsplit C j [8, 8]\nsplit C k [32]\n"
                   "reorder C [i.0, j.0, j.1, k.0, k.1, i.1, j.2]\n" +
                       rest);
  };
  EXPECT_LT(blocked(2048), plain(2048));
  EXPECT_GE(blocked(64), plain(64)) << "all fits anyway, and sums are stored more often";
}

TEST(Draft, ThreadsShareWhatTheyCan) {
  const std::string te = product(192, 192, 192), good = tile(6, 2);
  const double alone = seconds(te, good + "parallel C i.0", "x86-64-v3 cores=1");
  const double two = seconds(te, good + "parallel C i.0", "x86-64-v3 cores=2");
  EXPECT_LT(1.7 * two, alone);
  EXPECT_LT(two, seconds(te, good, "x86-64-v3 cores=2")) << "marked against unmarked";
  // Three pieces for two threads: one of them does two.
  const double uneven = seconds(te, "split C i [64]\nreorder C [i.0, j, k, i.1]\nparallel C i.0",
                                "x86-64-v3 cores=2");
  const double even = seconds(te, "split C i [48]\nreorder C [i.0, j, k, i.1]\nparallel C i.0",
                              "x86-64-v3 cores=2");
  EXPECT_LT(even, uneven);
}

TEST(Draft, TailsAreWorkToo) {
  // Seven tiles of 16 columns for both.
  const double filled = seconds(product(64, 112, 64), tile(4, 2));
  EXPECT_GT(seconds(product(64, 100, 64), tile(4, 2)), 0.97 * filled);
  EXPECT_LT(seconds(product(64, 96, 64), tile(4, 2)), 0.9 * filled);
}

TEST(Draft, AnInlinedStageIsNotComputedTwice) {
  const std::string chain =
      "input A: f32[512, 512]\nB[i: 512, j: 512] = A[i, j] * 2.0\n"
      "C[i: 512, j: 512] = B[i, j] + 1.0\noutput C\n";
  const std::string lanes = "split C j [8]\nvectorize C j.1\n";
  EXPECT_LT(seconds(chain, "compute_inline B\n" + lanes),
            seconds(chain, "split B j [8]\nvectorize B j.1\n" + lanes));
}

TEST(Reach, OfLoopsOnAnIndex) {
  const ir::Var f("f"), j("j"), x("x");
  ReachTable t;
  const std::vector<double> extents{12, 4};
  t.reset(extents);
  t.name_loop(f.node(), 0);
  t.name_loop(j.node(), 1);
  const auto expect = [&](const ir::Expr& e, Reach of_f, Reach of_j) {
    const auto row = t.row(t.of(e));
    EXPECT_EQ(row[0].step, of_f.step);
    EXPECT_EQ(row[0].span, of_f.span);
    EXPECT_EQ(row[1].step, of_j.step);
    EXPECT_EQ(row[1].span, of_j.span);
  };
  const ir::Expr of_f(f), of_j(j);
  expect(of_f * ir::Expr(4) + of_j, {4, 44}, {1, 3});
  expect(ir::floor_div(of_f, 3) * ir::Expr(4) + of_j, {0, 12}, {1, 3});
  expect(ir::floor_mod(of_f, 3), {1, 2}, {0, 0});
  expect(ir::floor_mod(of_f * ir::Expr(6) + of_j, 3), {0, 0}, {1, 2});
  expect(ir::Expr(7), {0, 0}, {0, 0});
  // An axis that stands for both of them, and a variable that is none of them.
  t.name_row(x.node(), t.of(of_f * ir::Expr(4) + of_j));
  expect(ir::Expr(x) * ir::Expr(2) - ir::Expr(ir::Var("y")), {8, 88}, {2, 6});
}

}  // namespace
}  // namespace tenon::cost
