// SPDX-License-Identifier: Apache-2.0
// Programs for GPUs as one would write them by hand, on odd sizes: after every pass the interpreter,
// which finds races and threads that part before a barrier, must give the answer of the definition.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "lower/lower.h"
#include "schedule/trace.h"
#include "te/text.h"

namespace tenon::lower {
namespace {

std::shared_ptr<const target::Target> card() {
  return std::make_shared<target::Target>(target::gpu_targets().back());
}

struct Program {
  const char* name;
  const char* te;
  const char* trace;
};

const Program kPrograms[] = {
    {"element by element", "input A: f32[7, 45]\nC[i: 7, j: 45] = A[i, j] + 1.0\noutput C\n",
     R"(
fuse C [i, j]
split C i@j [32]
bind C i@j.0 block_x
bind C i@j.1 thread_x
)"},
    {"product, tiles in shared memory",
     "input A: f32[13, 10]\ninput B: f32[10, 21]\n"
     "C[i: 13, j: 21] = sum(k: 10) A[i, k] * B[k, j]\noutput C\n",
     R"(
cache_write C register
cache_read A [C.cache] shared
cache_read B [C.cache] shared
split C i [4, 2]
split C j [4, 3]
reorder C [i.0, j.0, i.1, j.1, i.2, j.2]
bind C i.0 block_y
bind C j.0 block_x
bind C i.1 thread_y
bind C j.1 thread_x
unroll C i.2
unroll C j.2
compute_at C.cache C j.1
split C.cache k [5]
reorder C.cache [k.0, k.1, i, j]
unroll C.cache i
unroll C.cache j
compute_at A.read C.cache k.0
fuse A.read [d0, d1]
split A.read d0@d1 [4, 4]
bind A.read d0@d1.1 thread_y
bind A.read d0@d1.2 thread_x
compute_at B.read C.cache k.0
fuse B.read [d0, d1]
split B.read d0@d1 [4, 4]
bind B.read d0@d1.1 thread_y
bind B.read d0@d1.2 thread_x
)"},
    {"sum over blocks in two kernels",
     "input A: f32[5, 24]\ninput B: f32[24, 6]\n"
     "C[i: 5, j: 6] = sum(k: 24) A[i, k] * B[k, j]\nD[i: 5, j: 6] = max(C[i, j], 0.0)\noutput D\n",
     R"(
split C k [8]
rfactor C k.0 0
fuse C.rf [i, j]
bind C.rf k.0 block_y
split C.rf i@j [4]
bind C.rf i@j.0 block_x
bind C.rf i@j.1 thread_x
fuse D [i, j]
split D i@j [16]
bind D i@j.0 block_x
bind D i@j.1 thread_x
compute_at C D i@j.1
)"},
    {"sum of a row by the threads of a block",
     "input A: f32[3, 50]\nC[i: 3] = sum(k: 50) A[i, k]\nD[i: 3] = C[i] * 2.0\noutput D\n",
     R"(
split C k [8]
rfactor C k.1 1
split D i [1]
bind D i.0 block_x
bind D i.1 thread_x
compute_at C D i.0
set_scope C shared
bind C i thread_x
compute_at C.rf D i.0
set_scope C.rf shared
bind C.rf k.1 thread_x
)"},
};

class GpuPrograms : public testing::TestWithParam<Program> {};

TEST_P(GpuPrograms, GiveTheAnswerOfTheDefinition) {
  const Program& p = GetParam();
  const schedule::State initial(std::make_shared<const te::ComputeDag>(te::parse(p.te)), card());
  const auto s = schedule::replay(initial, schedule::parse_trace(p.trace, initial));
  ASSERT_TRUE(bool(s)) << schedule::render_illegal(initial, s.illegal());
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(s->dag(), rng);
  const auto outcome = fuzz::check_program(*s, inputs, te::evaluate(s->dag(), inputs), nullptr,
                                           /*every_pass=*/true);
  EXPECT_EQ(outcome.problem, "");
  const auto lowered = lower(*s);
  EXPECT_TRUE(bool(lowered)) << schedule::render_illegal(*s, lowered.illegal());
}

INSTANTIATE_TEST_SUITE_P(All, GpuPrograms, testing::ValuesIn(kPrograms));

}  // namespace
}  // namespace tenon::lower
