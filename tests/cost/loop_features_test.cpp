// SPDX-License-Identifier: Apache-2.0
// AutoTVM's features of nests small enough to count by hand.
#include "cost/loop_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cost/columns.h"
#include "cost/knob_features.h"
#include "schedule/scheduled.h"

namespace tenon::cost {
namespace {

using schedule::scheduled;
using schedule::State;

constexpr const char* kMatmul = R"(
input A: f32[4, 16]
input B: f32[16, 8]
C[i: 4, j: 8] = sum(k: 16) A[i, k] * B[k, j]
output C
)";
enum { kC, kA, kB };  // accesses
enum { kI, kJ, kK };  // loops

schedule::Bounds bounds_of(const State& s) { return *schedule::infer_bounds(s); }
LoopContext context_of(const State& s) { return loop_context(s, bounds_of(s)); }

struct Touch {
  size_t loop, access;
  double stride, count, reuse;
};

TEST(LoopContext, OfAMatmulByHand) {
  const LoopContext c = context_of(scheduled(kMatmul, ""));
  ASSERT_EQ(c.loops.size(), 3U);
  ASSERT_EQ(c.accesses, 3U);
  EXPECT_EQ(c.last, (std::vector<size_t>{kC, kA, kB}));
  const double lengths[] = {4, 8, 16}, topdown[] = {4, 32, 512}, bottomup[] = {512, 128, 16};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(c.loops[i].length, lengths[i]);
    EXPECT_EQ(c.loops[i].topdown, topdown[i]);
    EXPECT_EQ(c.loops[i].bottomup, bottomup[i]);
    EXPECT_EQ(c.loops[i].annotation, 9U);
  }
  for (const Touch& t : {Touch{kK, kC, 0, 1, 16},
                         {kK, kA, 1, 16, 1},
                         {kK, kB, 8, 16, 1},
                         Touch{kJ, kC, 1, 8, 16},
                         {kJ, kA, 0, 16, 8},
                         {kJ, kB, 1, 128, 1},
                         Touch{kI, kC, 8, 32, 16},
                         {kI, kA, 16, 64, 8},
                         {kI, kB, 0, 128, 4}}) {
    const AccessFacts& f = c.at(t.loop, t.access);
    EXPECT_EQ(f.stride, t.stride) << t.loop << " " << t.access;
    EXPECT_EQ(f.count, t.count) << t.loop << " " << t.access;
    EXPECT_EQ(f.reuse, t.reuse) << t.loop << " " << t.access;
  }
}

TEST(LoopContext, CountTimesReuseIsTheIterationsBelow) {
  for (const char* trace : {"", "split C i [2]\nsplit C k [4]\nreorder C [i.0, k.0, j, i.1, k.1]\n",
                            "fuse C [i, j]\n"}) {
    const LoopContext c = context_of(scheduled(kMatmul, trace));
    for (size_t i = 0; i < c.loops.size(); ++i) {
      for (size_t a = 0; a < c.accesses; ++a) {
        const AccessFacts& f = c.at(i, a);
        EXPECT_EQ(f.count * f.reuse, c.loops[i].bottomup) << trace << i << " " << a;
        EXPECT_EQ(f.thread_count, 0);  // no loop is parallel
        EXPECT_EQ(f.thread_reuse, 0);
      }
    }
  }
}

TEST(LoopContext, OfAParallelLoopIsRelativeToWhatOneThreadDoes) {
  const LoopContext c = context_of(scheduled(kMatmul, "parallel C i\n"));
  EXPECT_EQ(c.loops[kI].annotation, 8U);
  const double counts[] = {4, 4, 1}, reuses[] = {1, 1, 4};  // of C, A, B
  for (size_t a = 0; a < 3; ++a) {
    EXPECT_EQ(c.at(kI, a).thread_count, counts[a]);
    EXPECT_EQ(c.at(kI, a).thread_reuse, reuses[a]);
    EXPECT_EQ(c.at(kJ, a).thread_count, 0);
  }
}

TEST(LoopContext, KeepsLoopsOfOneIteration) {
  EXPECT_EQ(context_of(scheduled(kMatmul, "split C i [1]\nsplit C j [8]\n")).loops.size(), 5U);
}

TEST(LoopContext, IsOfTheStatementWithTheMostArithmetic) {
  const LoopContext c = context_of(scheduled(R"(
input A: f32[4, 16]
input B: f32[16, 8]
C[i: 4, j: 8] = sum(k: 16) A[i, k] * B[k, j]
D[i: 4, j: 8] = max(C[i, j], 0.0)
output D
)",
                                             "compute_at C D i\nvectorize D j\n"));
  ASSERT_EQ(c.loops.size(), 4U);  // i of D, then those of C, of which i has one iteration
  EXPECT_EQ(c.loops[0].length, 4);
  EXPECT_EQ(c.loops[1].length, 1);
  EXPECT_EQ(c.loops[3].length, 16);
  EXPECT_EQ(c.tail[0], 1);                       // a sum
  EXPECT_EQ(c.tail[1], 1);                       // and a product
  EXPECT_EQ(c.tail[8], slog(8));                 // the row of C that is kept
  EXPECT_EQ(c.tail[kTail - 2], slog(512 + 32));  // iterations of both statements
  EXPECT_EQ(c.tail[kTail - 1], slog(2));
}

TEST(Itervar, HasTheInnermostLoopFirstAndZerosAfterTheOutermost) {
  const State s = scheduled(kMatmul, "unroll C k\n");
  const Row row = itervar_features(s, bounds_of(s));
  ASSERT_EQ(row.values.size(), kItervarColumns);
  const size_t width = 4 + kAnnotations + 5 * kAccesses;
  EXPECT_EQ(row.values[0], slog(16));
  EXPECT_EQ(row.values[1], 3);
  EXPECT_EQ(row.values[2], slog(512));
  EXPECT_EQ(row.values[3], slog(16));
  for (size_t a = 0; a < kAnnotations; ++a) EXPECT_EQ(row.values[4 + a], a == 6 ? 1 : 0);
  const float c_at_k[] = {0, slog(1), slog(16), 0, 0};
  for (size_t f = 0; f < 5; ++f) EXPECT_EQ(row.values[4 + kAnnotations + f], c_at_k[f]);
  EXPECT_EQ(row.values[2 * width], slog(4));
  const auto first = row.values.begin() + static_cast<std::ptrdiff_t>(3 * width);
  EXPECT_TRUE(std::all_of(first, row.values.end() - kTail, [](float v) { return v == 0; }));
  EXPECT_EQ(row.values[kItervarColumns - kTail + 4], slog(16));  // unrolled
}

// count 0 4 4 6, reuse 0 0 3 3, top-down 0 2 5 9, all as logarithms.
TEST(Curve, OfOneBufferByHand) {
  const std::vector<float> curve = curve_of(context_of(scheduled(kMatmul, "")), kA);
  ASSERT_EQ(curve.size(), 160U);
  const auto expect = [&](size_t relation, size_t i, float y, float below) {
    const size_t at = 2 * (relation * kThresholds + i);
    EXPECT_EQ(curve[at], y) << relation << " " << i;
    EXPECT_EQ(curve[at + 1], below) << relation << " " << i;
  };
  for (size_t i = 0; i < kThresholds; ++i) {
    const auto t = static_cast<float>(i);
    expect(0, i, i < 4 ? 0.0F : 3.0F, i < 4 ? t : i < 6 ? t - 4 : t - 6);
    expect(1, i, i < 3 ? 4.0F : 6.0F, i < 3 ? t : t - 3);
    expect(2, i, i < 4 ? 0.0F : i < 6 ? 5.0F : 9.0F, i < 4 ? t : i < 6 ? t - 4 : t - 6);
    expect(3, i,
           i < 2   ? 0.0F
           : i < 9 ? 4.0F
                   : 6.0F,
           i < 2   ? t
           : i < 5 ? t - 2
           : i < 9 ? t - 5
                   : t - 9);
  }
}

TEST(Curve, HasThreeBuffersForAMatmul) {
  const State s = scheduled(kMatmul, "");
  const Row row = curve_features(s, bounds_of(s));
  ASSERT_EQ(row.values.size(), kCurveColumns);
  const auto some = [&](size_t buffer) {
    const float* v = row.values.data() + buffer * kCurveOfBuffer;
    return std::any_of(v, v + kCurveOfBuffer, [](float x) { return x != 0; });
  };
  EXPECT_TRUE(some(0) && some(1) && some(2));
  EXPECT_FALSE(some(3));
}

// The last of several accesses to one buffer stands for it.
TEST(Curve, TakesABufferOnce) {
  const LoopContext c = context_of(scheduled(R"(
input A: f32[10]
B[i: 8] = A[i] + A[i + 1] + A[i + 2]
output B
)",
                                             ""));
  EXPECT_EQ(c.accesses, 4U);
  EXPECT_EQ(c.last, (std::vector<size_t>{0, 3}));
}

TEST(Knobs, OfTheSameHoleHaveTheSameColumn) {
  using space::HoleKind;
  const space::Choice factor{{HoleKind::kFactor, 2, 1}, 15}, place{{HoleKind::kLocation, 2, 0}, 3};
  const Row row = knob_features(space::Choices{factor, place});
  ASSERT_EQ(row.values.size(), kKnobColumns);
  EXPECT_EQ(row.values, knob_features(space::Choices{place, factor}).values);
  EXPECT_EQ(std::count(row.values.begin(), row.values.end(), 4.0F), 1);  // log2(15 + 1)
  EXPECT_EQ(std::count(row.values.begin(), row.values.end(), 3.0F), 1);
  EXPECT_EQ(std::count(row.values.begin(), row.values.end(), 0.0F), kKnobColumns - 2);
}

TEST(Knobs, OfAProgramWithoutChoicesAreTheNumbersOfItsSteps) {
  const State s = scheduled(kMatmul, "");
  const auto of = [&](const char* text) {
    return knob_features(schedule::parse_trace(text, s)).values;
  };
  EXPECT_EQ(of("split C i [2]\n"), of("split C i [2]\n"));
  EXPECT_NE(of("split C i [2]\n"), of("split C i [4]\n"));
  EXPECT_NE(of("split C i [2]\n"), of("split C i [2]\nparallel C i.0\n"));
}

}  // namespace
}  // namespace tenon::cost
