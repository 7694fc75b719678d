// SPDX-License-Identifier: Apache-2.0
// Sums that threads of a GPU share, and swizzled shared memory, on odd sizes: after every pass the interpreter must give
// the answer of the definition, and what threads cannot combine is refused for the stated reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "lower/lower.h"
#include "schedule/trace.h"
#include "te/text.h"

namespace tenon::lower {
namespace {

struct Program {
  std::string name, te, trace;
  int64_t combined = 1;  // statements by which threads combine what they have
};

std::string rows(int64_t length, const char* reduce = "sum", const char* type = "f32") {
  return fmt::format(
      "input A: {2}[5, {0}]\nC[i: 5] = {1}(k: {0}) A[i, k]\n"
      "D[i: 5, j: {0}] = A[i, j] - C[i]\noutput D\n",
      length, reduce, type);
}
// A thread has every `threads`-th element of a row, and `y` rows are one block.
std::string threads_of_a_row(int64_t threads, int64_t y) {
  return fmt::format(R"(
split C k [{0}]
rfactor C k.1 1
split D i [{1}]
split D j [{0}]
reorder D [i.0, i.1, j.1, j.0]
bind D i.0 block_x
bind D i.1 thread_y
bind D j.1 thread_x
compute_at C D j.1
bind C k.1 thread_x
compute_at C.rf C k.1
)",
                     threads, y);
}

const Program kPrograms[] = {
    {"eight threads of a row", rows(50), threads_of_a_row(8, 1)},
    {"a warp and three rows", rows(70), threads_of_a_row(32, 3)},
    {"two threads", rows(7), threads_of_a_row(2, 2)},
    {"two warps of two rows", rows(150), threads_of_a_row(64, 2)},
    {"three warps", rows(100), threads_of_a_row(96, 1)},
    {"the largest of a row", rows(50, "max"), threads_of_a_row(16, 2)},
    {"the smallest, by four warps", rows(131, "min"), threads_of_a_row(128, 1)},
    {"whole numbers", rows(37, "sum", "i32"), threads_of_a_row(8, 2)},
    {"a product", rows(9, "prod"), threads_of_a_row(4, 1)},
    {"a result that one thread writes",
     "input A: f32[5, 40]\nC[i: 5] = sum(k: 40) A[i, k]\noutput C\n",
     R"(
split C k [16]
rfactor C k.1 1
split C i [2]
bind C i.0 block_x
bind C i.1 thread_y
bind C k.1 thread_x
compute_at C.rf C k.1
)"},
    {"a result of two warps, not of all rows",
     "input A: f32[5, 130]\nC[i: 5] = sum(k: 130) A[i, k] * A[i, k]\noutput C\n",
     R"(
split C k [64]
rfactor C k.1 1
split C i [3]
bind C i.0 block_x
bind C i.1 thread_y
bind C k.1 thread_x
compute_at C.rf C k.1
)"},
    {"a sum in shared memory for all threads",
     "input A: f32[3, 24]\nC[i: 3] = sum(k: 24) A[i, k]\nD[i: 3, j: 45] = C[i] * 2.0\noutput D\n",
     R"(
split C k [8]
rfactor C k.1 1
bind D i block_x
split D j [32]
reorder D [i, j.1, j.0]
bind D j.1 thread_x
compute_at C D i
set_scope C shared
bind C k.1 thread_x
compute_at C.rf C k.1
)"},
    {"rows one after the other, by two warps each",
     "input A: f32[6, 64]\nC[i: 6] = sum(k: 64) A[i, k]\noutput C\n",
     R"(
split C i [3]
bind C i.0 block_x
bind C k thread_x
)"},
};

std::shared_ptr<const target::Target> card() {
  return std::make_shared<target::Target>(target::gpu_targets().back());
}

schedule::State initial_of(const std::string& te) {
  return schedule::State(std::make_shared<const te::ComputeDag>(te::parse(te)), card());
}

void expect_answer(const schedule::State& s) {
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(s.dag(), rng);
  const auto outcome = fuzz::check_program(s, inputs, te::evaluate(s.dag(), inputs), nullptr,
                                           /*every_pass=*/true);
  EXPECT_EQ(outcome.problem, "");
}

class Combined : public testing::TestWithParam<Program> {};

TEST_P(Combined, GivesTheAnswerOfTheDefinition) {
  const Program& p = GetParam();
  const schedule::State initial = initial_of(p.te);
  const auto s = schedule::replay(initial, schedule::parse_trace(p.trace, initial));
  ASSERT_TRUE(bool(s)) << schedule::render_illegal(initial, s.illegal());
  expect_answer(*s);
  const auto f = lower(*s);
  ASSERT_TRUE(bool(f)) << schedule::render_illegal(*s, f.illegal());
  int64_t combined = 0;
  ir::visit(f->body, [&](const ir::Stmt& x) { combined += x.as<ir::Combine>() != nullptr; });
  EXPECT_EQ(combined, p.combined);
}

INSTANTIATE_TEST_SUITE_P(All, Combined, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::to_string(info.index); });

struct Refused {
  std::string te, trace, reason;
};

const Refused kRefused[] = {
    {rows(50), "bind C k thread_y\n", "loop k of C is a reduction loop; use rfactor first"},
    {"input A: f32[5, 3, 4]\nC[i: 5] = sum(k: 3, l: 4) A[i, k, l]\noutput C\n",
     "bind C l thread_x\n", "loop l of C is a reduction loop; use rfactor first"},
    {rows(50), "bind C k thread_x\n",
     "loop k of C is combined by 50 threads; that is a power of two up to 32, or a multiple of 32"},
    {rows(16, "sum", "i64"), "bind C k thread_x\n",
     "threads exchange four bytes at once; an element of C has 8"},
    {rows(16),
     "bind D i block_x\nbind D j thread_x\ncompute_at C D i\nset_scope C shared\n"
     "bind C k thread_x\nreorder C [k, i]\n",
     "threads combine loop k of C, so it is the innermost, outside of vectors and virtual threads"},
    {rows(16),
     "fuse D [i, j]\nsplit D i@j [16]\nbind D i@j.0 block_x\nbind D i@j.1 thread_x\n"
     "compute_at C D i@j.1\nbind C k thread_x\n",
     ""},
    {rows(8),
     "fuse D [i, j]\nsplit D i@j [16]\nbind D i@j.0 block_x\nbind D i@j.1 thread_x\n"
     "compute_at C D i@j.1\nbind C k thread_x\n",
     "threads combine C together, but loop i@j.1 of D gives each of them another part of it"},
    {rows(8),
     "fuse D [i, j]\nsplit D i@j [20]\nbind D i@j.0 block_x\nbind D i@j.1 thread_x\n"
     "compute_at C D i@j.1\nbind C k thread_x\n",
     "C is combined by 8 threads, but 20 have it as their own"},
    {rows(64),
     "split C k [8]\nrfactor C k.1 1\nbind D i block_x\nbind D j thread_x\n"
     "compute_at C D j\nbind C k.1 thread_x\ncompute_at C.rf C k.1\n",
     "C is combined by 8 threads, but 64 have it as their own"},
};

TEST(Combined, IsRefusedForAReason) {
  for (const Refused& r : kRefused) {
    SCOPED_TRACE(r.trace);
    std::string why;
    try {
      const schedule::State initial = initial_of(r.te);
      const auto s = schedule::replay(initial, schedule::parse_trace(r.trace, initial));
      ASSERT_TRUE(bool(s)) << schedule::render_illegal(initial, s.illegal());
      if (const auto f = lower(*s); !f) why = schedule::render_illegal(*s, f.illegal());
      if (why.empty()) expect_answer(*s);
    } catch (const UserError& e) {  // a step is refused where it is read
      why = e.what();
    }
    EXPECT_NE(why.find(r.reason), std::string::npos) << why;
    EXPECT_EQ(why.empty(), r.reason.empty());
  }
}

// Four lanes of a row, which threads write along k and read along p; tiles of p do not fill the last block.
const std::string kSwizzled = R"(
cache_write C register
cache_read A [C.cache] shared
layout_split A.read 1 [4, 4]
layout_reorder A.read [1, 0, 2]
layout_swizzle A.read 1 0 2
split C p [8]
bind C p.0 block_x
bind C p.1 thread_x
compute_at C.cache C p.1
split C.cache k [8]
compute_at A.read C.cache k.0
fuse A.read [d1_0, d0]
split A.read d1_0@d0 [8]
bind A.read d1_0@d0.1 thread_x
vectorize A.read d1_1
)";

TEST(Swizzled, SharedMemoryHoldsTheSame) {
  for (const char* more : {"", "pipeline C.cache k.0\n"}) {
    const schedule::State initial =
        initial_of("input A: f32[24, 16]\nC[p: 24] = sum(k: 16) A[p, k]\noutput C\n");
    const auto s = schedule::replay(initial, schedule::parse_trace(kSwizzled + more, initial));
    ASSERT_TRUE(bool(s)) << schedule::render_illegal(initial, s.illegal());
    expect_answer(*s);
    EXPECT_TRUE(bool(lower(*s)));
  }
}

}  // namespace
}  // namespace tenon::lower
