// SPDX-License-Identifier: Apache-2.0
// Programs for GPUs as one would write them by hand, on odd sizes: after every pass the interpreter,
// which finds races and threads that part before a barrier, must give the answer of the definition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "lower/lower.h"
#include "lower/passes/partition_loops.h"
#include "schedule/trace.h"
#include "te/text.h"

namespace tenon::lower {
namespace {

std::shared_ptr<const target::Target> card() {
  return std::make_shared<target::Target>(target::gpu_targets().back());
}

struct Program {
  std::string name;
  std::string te;
  std::string trace;
};

std::string product(int64_t steps) {
  return fmt::format(
      "input A: f32[13, {0}]\ninput B: f32[{0}, 21]\n"
      "C[i: 13, j: 21] = sum(k: {0}) A[i, k] * B[k, j]\noutput C\n",
      steps);
}

// Tiles of rows and columns; a block has 4 x 4 threads.
const std::string kTiles = R"(
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
)";
// The same, and each block takes three tiles of two columns one after the other.
const std::string kTilesInTurns = R"(
cache_write C register
cache_read A [C.cache] shared
cache_read B [C.cache] shared
split C i [4, 2]
split C j [3, 4, 2]
reorder C [i.0, j.0, j.1, i.1, j.2, i.2, j.3]
bind C i.0 block_y
bind C j.0 block_x
bind C i.1 thread_y
bind C j.2 thread_x
unroll C i.2
unroll C j.3
compute_at C.cache C j.2
)";
// Two virtual threads along each side, so that a thread has four tiles which lie apart.
const std::string kVirtual = R"(
cache_write C register
cache_read A [C.cache] shared
cache_read B [C.cache] shared
split C i [2, 4, 1]
split C j [2, 4, 2]
reorder C [i.0, j.0, i.1, j.1, i.2, j.2, i.3, j.3]
bind C i.0 block_y
bind C j.0 block_x
bind C i.1 vthread
bind C j.1 vthread
bind C i.2 thread_y
bind C j.2 thread_x
unroll C i.3
unroll C j.3
compute_at C.cache C j.2
)";
// Steps of five, for which all threads fetch what they read.
const std::string kSteps = R"(
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
)";
const std::string kAhead = "pipeline C.cache k.0\n";

const Program kPrograms[] = {
    {"element by element", "input A: f32[7, 45]\nC[i: 7, j: 45] = A[i, j] + 1.0\noutput C\n",
     R"(
fuse C [i, j]
split C i@j [32]
bind C i@j.0 block_x
bind C i@j.1 thread_x
)"},
    {"product, tiles in shared memory", product(10), kTiles + kSteps},
    {"product of two steps, fetched ahead", product(10), kTiles + kSteps + kAhead},
    {"product of three steps, fetched ahead", product(13), kTiles + kSteps + kAhead},
    {"product of one step, fetched ahead", product(5), kTiles + kSteps + kAhead},
    {"products in turns, two steps ahead", product(10), kTilesInTurns + kSteps + kAhead},
    {"products in turns, three steps ahead", product(11), kTilesInTurns + kSteps + kAhead},
    {"product by virtual threads", product(10), kVirtual + kSteps},
    {"product by virtual threads, fetched ahead", product(13), kVirtual + kSteps + kAhead},
    {"virtual threads inside of threads",
     "input A: f32[6, 45]\nC[i: 6] = sum(j: 45) A[i, j]\nD[i: 6] = C[i] * 2.0\noutput D\n",
     R"(
split D i [2, 2]
reorder D [i.0, i.2, i.1]
bind D i.0 block_x
bind D i.2 thread_x
bind D i.1 vthread
compute_at C D i.1
)"},
    {"virtual threads that read what is computed once",
     "input A: f32[6, 9]\nB[i: 6] = sum(k: 9) A[i, k]\n"
     "C[i: 6, j: 8] = exp(B[i]) * 2.0\nD[i: 6, j: 8] = C[i, j] + B[i]\noutput D\n",
     R"(
split D j [2, 2]
bind D i block_x
bind D j.1 vthread
bind D j.2 thread_x
compute_at C D j.2
compute_at B D j.2
)"},
    {"fetched ahead from what is shared inside of the fetch",
     "input A: f32[3, 7]\ninput B: f32[7, 8]\nP[i: 3, k: 7] = A[i, k] + 1.0\n"
     "C[i: 3, j: 8] = sum(k: 7) P[i, k] * B[k, j]\noutput C\n",
     R"(
cache_write C register
cache_read P [C.cache] shared
bind C i block_x
bind C j thread_x
compute_at C.cache C j
split C.cache k [2]
pipeline C.cache k.0
compute_at P.read C.cache k.0
bind P.read k thread_x
compute_at P P.read i
set_scope P shared
bind P k thread_x
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

// Statements that virtual threads tell apart are there for each of them, others once.
TEST(GpuPrograms, DoTheWorkOfVirtualThreads) {
  const schedule::State initial(std::make_shared<const te::ComputeDag>(te::parse(product(10))),
                                card());
  const auto s =
      schedule::replay(initial, schedule::parse_trace(kVirtual + kSteps + kAhead, initial));
  ASSERT_TRUE(bool(s));
  RunOptions options;
  options.stop_after = "emit_loops";
  const auto f = lower(*s, options);
  ASSERT_TRUE(bool(f));
  int64_t barriers = 0;
  std::vector<int64_t> own;
  ir::visit(f->body, [&](const ir::Stmt& x) {
    const auto* loop = x.as<ir::For>();
    EXPECT_TRUE(loop == nullptr || loop->tag != ir::ThreadTag::kVThread);
    barriers += x.as<ir::Barrier>() != nullptr ? 1 : 0;
    const auto* a = x.as<ir::Allocate>();
    if (a != nullptr && a->buffer->scope == ir::Scope::kRegister) own = a->buffer.shape();
  });
  EXPECT_EQ(own, (std::vector<int64_t>{2, 2, 1, 2}));
  EXPECT_EQ(barriers, 2);
}

int64_t loops_in(const ir::Stmt& s) {
  int64_t n = 0;
  ir::visit(s, [&](const ir::Stmt& x) { n += x.as<ir::For>() != nullptr ? 1 : 0; });
  return n;
}

// A tail is a loop of its own on a CPU, and a test where threads run in lockstep.
TEST(GpuPasses, TailsStayInTheirLoops) {
  const auto a = ir::Buffer::make("A", ir::kF32, {11});
  const auto c = ir::Buffer::make("C", ir::kF32, {11});
  const ir::Var i("i"), j("j");
  const ir::Expr at = i * 4 + j;
  const ir::Stmt one = ir::make_if(ir::lt(at, 11), ir::store(c, {at}, ir::load(a, {at})));
  const ir::Stmt whole =
      ir::make_for(i, 0, 3, ir::ForKind::kSerial, ir::make_for(j, 0, 4, ir::ForKind::kSerial, one));
  const target::Target cpu = target::parse_target("x86-64-v3");
  const auto gpu = card();
  EXPECT_GT(loops_in(partition_loops(whole, {&cpu})), 2);
  EXPECT_TRUE(partition_loops(whole, {gpu.get()}).same_as(whole));
}

INSTANTIATE_TEST_SUITE_P(All, GpuPrograms, testing::ValuesIn(kPrograms));

}  // namespace
}  // namespace tenon::lower
