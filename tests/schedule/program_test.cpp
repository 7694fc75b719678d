// SPDX-License-Identifier: Apache-2.0
// The limits of a finished program, on both sides of each.
#include "schedule/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/lower.h"
#include "schedule/programs.h"
#include "schedule/scheduled.h"

namespace tenon::schedule {
namespace {

// Empty if the target takes the program, otherwise the name of the code.
std::string refusal_of(const State& s) {
  const auto bounds = infer_bounds(s);
  if (!bounds) return std::string(illegal_name(bounds.illegal().code));
  const auto ok = check_program(s, *bounds);
  return ok ? "" : std::string(illegal_name(ok.illegal().code));
}

// C.cache holds rows x vectors registers of `lanes` lanes while it sums.
State register_tile(int64_t rows, int64_t vectors, int64_t lanes, const std::string& target) {
  const std::string te = fmt::format(
      "input A: f32[{0}, 3]\ninput B: f32[3, {1}]\n"
      "C[i: {0}, j: {1}] = sum(k: 3) A[i, k] * B[k, j]\n"
      "D[i: {0}, j: {1}] = max(C[i, j], 0.0)\noutput D\n",
      rows * 2, vectors * lanes * 2);
  return scheduled(te,
                   fmt::format(R"(
cache_write C register
compute_inline C
split D i [{0}]
split D j [{1}, {2}]
reorder D [i.0, j.0, i.1, j.1, j.2]
compute_at C.cache D j.0
split C.cache j [{2}]
reorder C.cache [k, i, j.0, j.1]
unroll C.cache i
unroll C.cache j.0
vectorize C.cache j.1
unroll D i.1
unroll D j.1
vectorize D j.2
)",
                               rows, vectors, lanes),
                   target);
}

// Copies are counted over loops that run one after the other; those of threads stay as they are.
TEST(Program, LoopsOfThreadsAreNotUnrolled) {
  for (const auto& [limit, unrolled] : {std::pair(6, true), std::pair(2, false)}) {
    const State s = scheduled(kMatmul,
                              fmt::format("split D i [2]\nbind D i.0 block_x\nsplit D j [4]\n"
                                          "bind D j.1 thread_x\npragma_unroll D {}",
                                          limit),
                              kGpu);
    const Stage& d = s.stage(s.find("D"));
    const auto bounds = infer_bounds(s);
    ASSERT_TRUE(bounds);
    const auto marks = final_marks(s, d, bounds->stages[static_cast<size_t>(d.id)]);
    const auto mark = [&](const char* loop) {
      return marks[static_cast<size_t>(d.find_loop(loop))];
    };
    EXPECT_EQ(mark("j.0") == Mark::kUnroll, unrolled);
    EXPECT_EQ(mark("i.1") == Mark::kUnroll, unrolled);
    EXPECT_EQ(mark("j.1"), Mark::kThread);
    EXPECT_EQ(mark("i.0"), Mark::kThread);
  }
}

TEST(Program, RegisterTilesFitTheRegisters) {
  struct Machine {
    std::string target;
    int64_t lanes, registers;
  };
  for (const Machine& m : {Machine{"x86-64-v3", 8, 16}, Machine{"x86-64-v4", 16, 32},
                           Machine{"aarch64", 4, 32}, Machine{"x86-64-v2", 4, 16}}) {
    for (int64_t vectors = 1; vectors <= 4; ++vectors) {
      for (int64_t rows = 1; rows <= m.registers; ++rows) {
        // The tile, the vectors of B that are held, and one for an element of A.
        const bool fits = vectors * rows + vectors + 1 <= m.registers;
        const State s = register_tile(rows, vectors, m.lanes, m.target);
        ASSERT_EQ(refusal_of(s), fits ? "" : "kRegisterPressure")
            << m.target << ": " << rows << " x " << vectors;
      }
    }
  }
}

TEST(Program, ALongVectorTakesSeveralRegisters) {
  EXPECT_EQ(refusal_of(register_tile(6, 2, 8, "x86-64-v3")), "");                    // 12 + 2 + 1
  EXPECT_EQ(refusal_of(register_tile(6, 2, 16, "x86-64-v3")), "kRegisterPressure");  // 24 + ..
  EXPECT_EQ(refusal_of(register_tile(3, 2, 16, "x86-64-v3")), "kRegisterPressure");  // 12 + 4 + 1
  EXPECT_EQ(refusal_of(register_tile(2, 2, 16, "x86-64-v3")), "");                   // 8 + 4 + 1
}

TEST(Program, ARegisterTileKeepsTheAnswer) {
  EXPECT_EQ(problem_of(register_tile(3, 2, 4, "x86-64-v3")), "");
  EXPECT_EQ(problem_of(register_tile(1, 1, 8, "x86-64-v3")), "");
}

// One row of B, C elements long, inside the loop of D.
State row(int64_t elements, const std::string& more = "") {
  return scheduled(fmt::format("input A: f32[2, {0}]\nB[i: 2, j: {0}] = A[i, j] + 1.0\n"
                               "D[i: 2, j: {0}] = B[i, j] * 2.0\noutput D\n",
                               elements),
                   "compute_at B D i\n" + more);
}

TEST(Program, LocalBuffersAreLimited) {
  EXPECT_EQ(refusal_of(row(1 << 18)), "");  // 1 MiB
  EXPECT_EQ(refusal_of(row((1 << 18) + 1)), "kLocalTooLarge");
}

TEST(Program, LanesAreLimited) {
  EXPECT_EQ(refusal_of(row(64, "vectorize B j")), "");
  EXPECT_EQ(refusal_of(row(65, "vectorize B j")), "kBadLanes");
  EXPECT_EQ(refusal_of(row(65, "split B j [64]\nvectorize B j.1")), "");
}

TEST(Program, CopiesAreLimitedOverAllHosts) {
  EXPECT_EQ(refusal_of(row(4096, "unroll B j")), "");
  EXPECT_EQ(refusal_of(row(4097, "unroll B j")), "kUnrollTooLarge");
  EXPECT_EQ(refusal_of(row(2048, "unroll B j\nunroll D i")), "");
  EXPECT_EQ(refusal_of(row(2049, "unroll B j\nunroll D i")), "kUnrollTooLarge");
}

// A stage of rank 0 has no loop of its own to blame.
TEST(Program, CopiesOfAScalar) {
  const State s = scheduled(
      "input A: f32[2, 5000]\nS[] = A[0, 7] + 1.0\nB[i: 2, j: 5000] = A[i, j] * S[]\n"
      "D[i: 2, j: 5000] = B[i, j] + 1.0\noutput D\n",
      "compute_at B D i\ncompute_at S B j\nunroll B j");
  const auto ok = check_program(s, *infer_bounds(s));
  ASSERT_FALSE(ok);
  EXPECT_EQ(render_illegal(s, ok.illegal()),
            "unrolling loop j of B makes 5000 copies; the limit is 4096");
}

TEST(Program, PragmaUnrollStopsAtItsLimit) {
  const State s = scheduled(kMatmul, "reorder C [k, i, j]\npragma_unroll C 77");
  const auto marks = final_marks(s, s.stage(2), infer_bounds(s)->stages[2]);
  EXPECT_EQ(marks, (std::vector<Mark>{Mark::kUnroll, Mark::kUnroll, Mark::kNone}));
  const State less = scheduled(kMatmul, "reorder C [k, i, j]\npragma_unroll C 76");
  EXPECT_EQ(final_marks(less, less.stage(2), infer_bounds(less)->stages[2]),
            (std::vector<Mark>{Mark::kNone, Mark::kUnroll, Mark::kNone}));
  // Not over a vectorised loop, a parallel one, or one with something attached.
  const State marked = scheduled(
      kMatmul, "compute_at C D j\nparallel D i\nreorder C [k, i, j]\npragma_unroll D 512");
  EXPECT_EQ(final_marks(marked, marked.stage(3), infer_bounds(marked)->stages[3]),
            (std::vector<Mark>{Mark::kParallel, Mark::kNone}));
}

}  // namespace
}  // namespace tenon::schedule
