// SPDX-License-Identifier: Apache-2.0
// Worked values: the conformance checks of Ansor's features, then nests small enough to count by hand.
#include "cost/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "schedule/scheduled.h"

namespace tenon::cost {
namespace {

using schedule::Mark;
using schedule::scheduled;
using schedule::State;

size_t column(const std::string& name) {
  const auto& names = feature_names();
  const auto it = std::find(names.begin(), names.end(), name);
  EXPECT_NE(it, names.end()) << name;
  return static_cast<size_t>(it - names.begin());
}

struct Table {
  Row f;
  explicit Table(const State& s) : f(*extract(s)) {}
  double raw(size_t row, const std::string& name) const {
    return f.values.at(row * kFeatures + column(name));
  }
  // The number before it was squashed.
  double operator()(size_t row, const std::string& name) const {
    return std::exp2(raw(row, name)) - 1;
  }
  // The block of a row whose buffer has this much traffic, as "buffer2".
  std::string buffer(size_t row, const std::string& kind, double bytes, int which = 0) const {
    for (int b = 0; b < 5; ++b) {
      const std::string name = "buffer" + std::to_string(b);
      if (raw(row, name + kind) == 1 &&
          std::abs((*this)(row, name + "_bytes") / bytes - 1) < 1e-4 && which-- == 0) {
        return name;
      }
    }
    ADD_FAILURE() << "no buffer " << kind << " of " << bytes << " bytes in row " << row;
    return "buffer0";
  }
};

void expect_near(double actual, double expected, const std::string& what) {
  EXPECT_NEAR(actual, expected, 2e-5 * std::abs(expected) + 1e-5) << what;
}

struct Expected {
  std::string column;
  double value;
};
void expect_values(const Table& t, size_t row, const std::string& prefix,
                   const std::vector<Expected>& expected) {
  for (const Expected& e : expected) {
    expect_near(t(row, prefix + e.column), e.value, prefix + e.column);
  }
}

void mark(State& s, const std::string& stage, const std::string& loop, Mark m,
          ir::ThreadTag tag = ir::ThreadTag::kNone) {
  schedule::Stage& st = s.edit(s.find(stage));
  schedule::Loop& l = st.loop(st.find_loop(loop));
  l.mark = m;
  l.tag = tag;
}

constexpr const char* kSquare = R"(
input A: f32[512, 512]
input B: f32[512, 512]
C[i: 512, j: 512] = sum(k: 512) A[i, k] * B[k, j]
output C
)";

TEST(FeatureNames, AreDistinctAndFillTheGroups) {
  const auto& names = feature_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), kFeatures);
  EXPECT_EQ(column("is_gpu"), 49U);
  EXPECT_EQ(column("buffer0_read"), 57U);
  EXPECT_EQ(column("intensity0"), 57U + 90U);
  EXPECT_EQ(column("alloc_bytes"), 57U + 90U + 10U);
  EXPECT_EQ(column("outer_product"), 57U + 90U + 10U + 4U);
  EXPECT_NE(feature_hash(), 0U);
}

TEST(Features, OfTheTiledMatmulOfTheConformanceChecks) {
  State s = scheduled(kSquare, R"(
split C i [16]
split C j [8]
reorder C [i.0, j.0, k, j.1, i.1]
unroll C k
)");
  mark(s, "C", "i.0", Mark::kParallel);
  mark(s, "C", "j.0", Mark::kParallel);
  mark(s, "C", "j.1", Mark::kVectorize);
  const Table t(s);
  ASSERT_EQ(t.f.rows(), 1U);
  const double n3 = 512.0 * 512 * 512;
  expect_values(t, 0, "",
                {{"vectorized_loops", 1},
                 {"vectorized_product", 8},
                 {"vectorized_innermost", 8},
                 {"unrolled_loops", 1},
                 {"unrolled_product", 512},
                 {"parallel_loops", 2},
                 {"parallel_product", 32 * 64},
                 {"parallel_innermost", 64},
                 {"float_mul", n3},
                 {"float_addsub", n3},
                 {"float_mad", 0},
                 {"int_addsub", 0},
                 {"outer_product", n3},
                 {"loops", 5},
                 {"unroll_limit", 0},
                 {"alloc_bytes", 0},
                 {"block_x", 1}});
  EXPECT_EQ(t.raw(0, "is_gpu"), 0);
  EXPECT_EQ(t.raw(0, "parallel_at_outer_spatial"), 1);
  EXPECT_EQ(t.raw(0, "vectorized_at_middle_spatial"), 1);
  EXPECT_EQ(t.raw(0, "unrolled_at_inner_reduce"), 1);

  const std::string c = t.buffer(0, "_read_write", n3 * 4);
  EXPECT_EQ(t.raw(0, c + "_reuse_loop"), 1);
  expect_values(t, 0, c,
                {{"_unique_bytes", 512 * 512 * 4},
                 {"_reuse_iterations", 8 * 16},
                 {"_reuse_bytes", (8 * 16 + 8 + 16) * 4},
                 {"_reuse_count", 512},
                 {"_bytes_per_reuse", n3 * 4 / 512},
                 {"_stride", 512},
                 {"_lines", n3},  // i.1 jumps a row each time
                 {"_unique_lines", 512 * 512 * 4 / 64}});
  // A: i.1 moves it by a row, j.1 uses it again. B: i.1 uses it again right away.
  const std::string a = t.buffer(0, "_read", n3 * 4, 0);
  const std::string b = t.buffer(0, "_read", n3 * 4, 1);
  EXPECT_LT(a, b);
  expect_values(t, 0, a,
                {{"_unique_bytes", 512 * 512 * 4},
                 {"_reuse_iterations", 16},
                 {"_reuse_bytes", (16 + 16 + 1) * 4},
                 {"_reuse_count", 8},
                 {"_stride", 512},
                 {"_lines", n3}});
  expect_values(t, 0, b,
                {{"_unique_bytes", 512 * 512 * 4},
                 {"_reuse_iterations", 1},
                 {"_reuse_bytes", 12},
                 {"_reuse_count", 16},
                 {"_stride", 0},
                 {"_lines", n3 / 16 * 4 / 64}});
  for (const std::string pad : {"buffer3", "buffer4"}) {
    for (size_t i = 0; i < 18; ++i) {
      EXPECT_EQ(t.f.values[column(pad + "_read") + i], 0) << pad << " " << i;
    }
  }
}

TEST(Features, IntensityCurveOfTheTiledMatmul) {
  const Table t(scheduled(kSquare, R"(
split C i [16]
split C j [8]
reorder C [i.0, j.0, k, j.1, i.1]
)"));
  // Per level, innermost first: operations 2 per iteration, elements of A, B and C below the loop.
  const double tile = 16 * 8;
  const std::vector<std::pair<double, double>> levels = {
      {2 * 16, 4 * (16 + 1 + 16)},
      {2 * tile, 4 * (16 + 8 + tile)},
      {2 * tile * 512, 4 * (16 * 512 + 8 * 512 + tile)},
      {2 * tile * 512 * 64, 4 * (16 * 512 + 512 * 512 + 16 * 512)},
      {2 * 512. * 512 * 512, 4 * 3 * 512. * 512}};
  for (int i = 0; i < 10; ++i) {
    const double at = 28.0 * (i + 1) / 10;
    double expected = std::log2(1 + levels[0].first / levels[0].second);
    for (size_t p = 1; p < levels.size(); ++p) {
      const double x0 = std::log2(levels[p - 1].first), x1 = std::log2(levels[p].first);
      const double y0 = std::log2(1 + levels[p - 1].first / levels[p - 1].second);
      const double y1 = std::log2(1 + levels[p].first / levels[p].second);
      if (at > x0 && at <= x1 + 1e-9) expected = y0 + (at - x0) / (x1 - x0) * (y1 - y0);
    }
    expect_near(t.raw(0, "intensity" + std::to_string(i)), expected, "sample " + std::to_string(i));
  }
}

TEST(Features, SerialReuseOfACopyInsideALoop) {
  const Table t(scheduled(R"(
input A: f32[64, 32]
B[i: 64, j: 32] = A[i, j]
C[i: 64, j: 32] = B[i, j]
output C
)",
                          "compute_at B C j"));
  ASSERT_EQ(t.f.rows(), 2U);
  const double bytes = 64 * 32 * 4;
  const std::string b = t.buffer(1, "_read", bytes);
  EXPECT_EQ(t.raw(1, b + "_reuse_serial"), 1);
  expect_values(t, 1, b,
                {{"_reuse_iterations", 1},
                 {"_reuse_bytes", 16},
                 {"_reuse_count", 1},
                 {"_unique_bytes", bytes}});
  // One element, allocated in each of the iterations.
  expect_values(t, 0, "",
                {{"alloc_bytes", 4},
                 {"alloc_elements_total", 2048},
                 {"alloc_outer", 2048},
                 {"alloc_inner", 1}});
  EXPECT_EQ(t.raw(0, t.buffer(0, "_write", bytes) + "_reuse_none"), 1);
  expect_values(t, 1, "",
                {{"alloc_bytes", 0}, {"alloc_outer", 0}, {"outer_product", 2048}, {"loops", 2}});
}

TEST(Features, ThreadsOfAGpuShowOnEveryRow) {
  State s = scheduled(R"(
input A: f32[512, 4]
B[i: 512, j: 4] = A[i, j] * 2.0
C[i: 512, j: 4] = B[i, j] + 1.0
output C
)",
                      "split C i [4, 16]\ncompute_at B C i.2");
  mark(s, "C", "i.0", Mark::kThread, ir::ThreadTag::kBlockX);
  mark(s, "C", "i.1", Mark::kThread, ir::ThreadTag::kVThread);
  mark(s, "C", "i.2", Mark::kThread, ir::ThreadTag::kThreadX);
  const Table t(s);
  ASSERT_EQ(t.f.rows(), 2U);
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(t.raw(row, "is_gpu"), 1);
    expect_values(t, row, "", {{"block_x", 8}, {"vthread", 4}, {"thread_x", 16}, {"thread_y", 1}});
  }
}

// A convolution in tiles of two channels and 3 by 4 pixels, its epilogue around it, its padding inlined.
TEST(Features, ConvolutionWithEpilogue) {
  const Table t(scheduled(R"(
input X: f32[5, 12, 12]
const W: f32[6, 5, 3, 3]
P[c: 5, y: 14, x: 14] = select(1 <= y and y < 13 and 1 <= x and x < 13, X[c, y - 1, x - 1], 0.0)
Y[k: 6, y: 12, x: 12] = sum(c: 5, r: 3, s: 3) P[c, y + r, x + s] * W[k, c, r, s]
Z[k: 6, y: 12, x: 12] = max(Y[k, y, x], 0.0)
output Z
)",
                          R"(
compute_inline P
split Z k [2]
split Z y [3]
split Z x [4]
reorder Z [k.0, y.0, x.0, k.1, y.1, x.1]
fuse Z [k.0, y.0]
parallel Z k.0@y.0
vectorize Z x.1
compute_at Y Z x.0
reorder Y [c, r, s, k, y, x]
vectorize Y x
pragma_unroll Y 8
)"));
  ASSERT_EQ(t.f.rows(), 2U);
  const double tiles = 12 * 3, all = 6 * 12 * 12 * 45;
  expect_values(t, 0, "",
                {{"outer_product", all},
                 {"loops", 8},
                 {"float_mul", all},
                 {"float_addsub", all},
                 {"selects", all},
                 {"int_compare", 4 * all},
                 {"bool_ops", 3 * all},
                 {"parallel_product", 12},
                 {"vectorized_product", 4},
                 {"unroll_limit", 8},
                 {"unrolled_loops", 2},
                 {"unrolled_product", 6},
                 {"alloc_bytes", 24 * 4},
                 {"alloc_outer", tiles},
                 {"alloc_elements_total", 24 * tiles},
                 {"alloc_inner", 24 * 45}});
  // All of Y is written once per channel and tap; one element of the tile comes back after a whole tile.
  const std::string y = t.buffer(0, "_read_write", all * 4);
  expect_values(t, 0, y,
                {{"_unique_bytes", 864 * 4},
                 {"_reuse_iterations", 24},
                 {"_reuse_bytes", (24 + 12 + 2) * 4},
                 {"_reuse_count", 3},
                 {"_stride", 1},
                 {"_lines", all / 16}});
  // Inside X by the select: 12 of 14 rows and columns of the window are its own.
  // W comes first: its first moving loop jumps 45 elements, each time to another line.
  const std::string w = t.buffer(0, "_read", all * 4, 0);
  const std::string x = t.buffer(0, "_read", all * 4, 1);
  expect_values(t, 0, x,
                {{"_unique_bytes", 5 * 12 * 12 * 4},
                 {"_reuse_iterations", 12},
                 {"_reuse_bytes", (12 + 12 + 1) * 4},
                 {"_reuse_count", 2},
                 {"_stride", 1}});
  expect_values(t, 0, w,
                {{"_unique_bytes", 6 * 45 * 4},
                 {"_reuse_iterations", 1},
                 {"_reuse_bytes", 12},
                 {"_reuse_count", 4},
                 {"_stride", 0}});
  // The epilogue finds the tile where the reduction left it, under the loop over tiles.
  expect_values(t, 1, "",
                {{"outer_product", 864},
                 {"loops", 5},
                 {"float_compare", 864},
                 {"alloc_bytes", 0},
                 {"unroll_limit", 0}});
  const std::string tile = t.buffer(1, "_read", 864 * 4);
  EXPECT_EQ(t.raw(1, tile + "_reuse_serial"), 1);
  // Under x.0, with k.0@y.0 at 0: Y 2x3x12 twice, X 5 channels of 5 by 14 clipped to 12, W of two channels, Z.
  const double under = 72 + 5 * 5 * 12 + 90 + 72 + 72;
  expect_values(
      t, 1, tile,
      {{"_reuse_iterations", 72.0 / 3}, {"_reuse_bytes", under * 4 / 3}, {"_reuse_count", 1}});
}

TEST(Features, SoftmaxAtTheRoot) {
  const Table t(scheduled(R"(
input A: f32[8, 100]
M[i: 8] = max(k: 100) A[i, k]
E[i: 8, j: 100] = exp(A[i, j] - M[i])
S[i: 8] = sum(k: 100) E[i, k]
O[i: 8, j: 100] = E[i, j] / S[i]
output O
)",
                          "parallel O i"));
  ASSERT_EQ(t.f.rows(), 4U);
  const double n = 800;
  expect_values(t, 0, "",
                {{"float_compare", n},
                 {"float_addsub", 0},
                 {"alloc_bytes", 32},
                 {"alloc_outer", 1},
                 {"alloc_inner", n}});
  expect_values(t, 0, t.buffer(0, "_read_write", n * 4),
                {{"_unique_bytes", 32},
                 {"_reuse_iterations", 1},
                 {"_reuse_bytes", 8},
                 {"_reuse_count", 100},
                 {"_lines", 1},
                 {"_unique_lines", 1},
                 {"_stride", 0}});
  const std::string a = t.buffer(0, "_read", n * 4);
  EXPECT_EQ(t.raw(0, a + "_reuse_none"), 1);
  expect_values(t, 0, a,
                {{"_lines", 50},
                 {"_unique_lines", 50},
                 {"_stride", 1},
                 {"_reuse_count", 0},
                 {"_bytes_per_reuse", 6400}});
  expect_values(t, 1, "", {{"float_math", n}, {"float_addsub", n}, {"alloc_bytes", 3200}});
  expect_values(t, 2, "", {{"float_addsub", n}, {"float_mul", 0}});
  expect_values(t, 3, "", {{"float_divmod", n}, {"parallel_product", 8}, {"alloc_bytes", 0}});
  EXPECT_EQ(t.raw(3, "parallel_at_outer_spatial"), 1);
  EXPECT_EQ(t.raw(2, "parallel_at_none"), 1);
}

TEST(Features, StridesOfDiagonalFusedAndGatheredAccesses) {
  const Table diagonal(scheduled("input A: f32[9, 9]\nB[i: 9] = A[i, i]\noutput B", ""));
  expect_values(diagonal, 0, diagonal.buffer(0, "_read", 36),
                {{"_stride", 10}, {"_unique_bytes", 81 * 4}});
  // A step of the fused loop is a step of its inner part.
  const Table fused(
      scheduled("input A: f32[4, 6]\nB[i: 6, j: 4] = A[j, i]\noutput B", "fuse B [i, j]"));
  expect_values(fused, 0, fused.buffer(0, "_read", 96), {{"_stride", 6}, {"_unique_bytes", 96}});
  const Table gather(scheduled(
      "input A: f32[7, 5]\ninput I: i64[6]\nC[n: 6, j: 5] = A[max(0, min(I[n], 6)), j]\noutput C",
      ""));
  expect_values(gather, 0, gather.buffer(0, "_read", 120),
                {{"_stride", 1}, {"_unique_bytes", 140}});
  expect_values(gather, 0, gather.buffer(0, "_read", 240),
                {{"_reuse_count", 5}, {"_unique_bytes", 48}});
}

TEST(Features, LoopsOfOneIterationAndScalarsHaveNone) {
  const Table t(
      scheduled("input A: f32[1, 1]\nB[i: 1, j: 1] = A[i, j] + 1.0\noutput B", "unroll B j"));
  expect_values(t, 0, "",
                {{"loops", 0}, {"outer_product", 1}, {"unrolled_loops", 0}, {"float_addsub", 1}});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(t.raw(0, "intensity" + std::to_string(i)), 0);
  expect_values(t, 0, "buffer0", {{"_bytes", 4}, {"_unique_bytes", 4}, {"_lines", 1}});
}

TEST(Features, OrderOfStepsDoesNotMatter) {
  const State a =
      scheduled(kSquare, "split C i [16]\nsplit C j [8]\nreorder C [i.0, j.0, k, i.1, j.1]");
  const State b = scheduled(kSquare,
                            "split C j [8]\nreorder C [j.0, i, k, j.1]\nsplit C i [16]\nreorder C "
                            "[i.0, j.0, k, i.1, j.1]");
  const State c =
      scheduled(kSquare, "split C i [16]\nsplit C j [8]\nreorder C [i.0, j.0, k, j.1, i.1]");
  EXPECT_EQ(extract(a)->values, extract(b)->values);
  EXPECT_NE(extract(a)->values, extract(c)->values);
}

TEST(Features, TensorisedLoopsCountLikeTheLoopsTheyStandFor) {
  constexpr const char* kBytes = R"(
input A: u8[6, 32]
input B: i8[16, 32]
C[i: 6, j: 16] = sum(k: 32) i32(A[i, k]) * i32(B[j, k])
output C
)";
  const std::string packed =
      "layout_split B 1 [8, 4]\nlayout_reorder B [1, 0, 2]\nsplit C k [4]\n"
      "reorder C [i, k.0, j, k.1]\n";
  const Table plain(scheduled(kBytes, packed));
  const Table t(scheduled(kBytes, packed + "tensorize C j k.1 dot_u8i8"));
  expect_values(t, 0, "",
                {{"int_mul", 6 * 16 * 32},
                 {"int_addsub", 6 * 16 * 32},
                 {"outer_product", 6 * 16 * 32},
                 {"loops", 4},
                 {"vectorized_loops", 2},
                 {"vectorized_product", 64},
                 {"vectorized_innermost", 4},
                 {"unrolled_loops", 0}});
  EXPECT_EQ(t.raw(0, "vectorized_at_mixed"), 1);
  for (size_t c = 0; c < kFeatures; ++c) {
    if (feature_names()[c].starts_with("vectorized")) continue;
    EXPECT_EQ(t.f.values[c], plain.f.values[c]) << feature_names()[c];
  }
}

TEST(Features, ArithmeticOfIntegersCounts) {
  const Table t(
      scheduled("input A: i32[8, 8]\ninput B: i32[8, 8]\nC[i: 8, j: 8] = sum(k: 8) A[i, k] * B[k, "
                "j]\noutput C",
                ""));
  expect_values(t, 0, "", {{"int_mul", 512}, {"int_addsub", 512}, {"float_mul", 0}});
  EXPECT_GT(t.raw(0, "intensity9"), 0);
}

}  // namespace
}  // namespace tenon::cost
