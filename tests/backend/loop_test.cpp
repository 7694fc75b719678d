// SPDX-License-Identifier: Apache-2.0
// Loops, conditions, parallel loops with what they capture, and the workspace.
#include <atomic>

#include "backend/harness.h"
#include "ir/build.h"

namespace tenon::backend {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::ForKind;
using ir::Function;
using ir::Scope;
using ir::Stmt;
using ir::Var;

Stmt fill(const Buffer& b, const Expr& v) {
  const Var i("i");
  return ir::make_for(i, 0, b->elements(), ForKind::kSerial, ir::store(b, {Expr(i)}, v));
}

TEST(LoopTest, EmptySingleAndShiftedRanges) {
  const Buffer in = Buffer::make("in", ir::kI64, {4});  // 0, 1, 3, 5
  const Buffer out = Buffer::make("out", ir::kI64, {64});
  std::vector<Stmt> all = {fill(out, -1)};
  int64_t place = 0;
  for (const int64_t extent : {0, 1, 3}) {
    for (const int64_t min : {0, 2}) {
      const Var i("i");
      all.push_back(
          ir::make_for(i, min, extent, ForKind::kSerial, ir::store(out, {i + place}, i * 3)));
      place += 5;
    }
  }
  for (int k = 0; k < 4; ++k) {  // extents that only the data knows
    const Var i("i");
    all.push_back(ir::make_for(i, ir::load(in, {Expr(0)}), ir::load(in, {Expr(k)}),
                               ForKind::kSerial, ir::store(out, {i + place}, i + 100 * k)));
    place += 6;
  }
  const Function f{"ranges", {in, out}, 1, ir::block(all)};
  Rng rng(1);
  auto args = small_args(f, rng);
  const int64_t extents[] = {0, 1, 3, 5};
  for (int64_t k = 0; k < 4; ++k) {
    args[0].set(k, {extents[k], 0});
  }
  expect_same(f, args);
}

TEST(LoopTest, TriangularNestWithConditions) {
  const Buffer in = Buffer::make("in", ir::kI32, {49});
  const Buffer out = Buffer::make("out", ir::kI32, {49});
  const Var i("i");
  const Var j("j");
  const Expr at = i * 7 + j;
  const Stmt body =
      ir::make_if(ir::eq(ir::floor_mod(i + j, 3), 0),
                  ir::store(out, {at}, ir::load(in, {at}) * ir::make_int(ir::kI32, 2)),
                  ir::make_if(ir::lt(j, 2), ir::store(out, {at}, ir::cast(ir::kI32, i - j))));
  const Function f{"triangle",
                   {in, out},
                   1,
                   ir::block({fill(out, ir::make_int(ir::kI32, 9)),
                              ir::make_for(i, 0, 7, ForKind::kSerial,
                                           ir::make_for(j, 0, i + 1, ForKind::kSerial, body))})};
  Rng rng(2);
  expect_same(f, random_args(f, rng));
}

TEST(LoopTest, ParallelLoopsCaptureVariablesAndBuffers) {
  const Buffer a = Buffer::make("a", ir::kF32, {35});
  const Buffer b = Buffer::make("b", ir::kF32, {7});
  const Buffer out = Buffer::make("out", ir::kF32, {105});
  const Buffer sums = Buffer::make("sums", ir::kF32, {15});
  const Buffer temp = Buffer::make("temp", ir::kF32, {35});
  const Buffer acc = Buffer::make("acc", ir::kF32, {1}, Scope::kRegister);
  const Var r("r");
  const Var i("i");
  const Var i2("i2");
  const Var j("j");
  const Var j2("j2");
  const Stmt first = ir::make_for(
      i, 0, 5, ForKind::kParallel,
      ir::make_for(
          j, 0, 7, ForKind::kSerial,
          ir::store(temp, {i * 7 + j},
                    ir::load(a, {i * 7 + j}) + ir::load(b, {Expr(j)}) * ir::cast(ir::kF32, r))));
  const Stmt second = ir::make_for(
      i2, 2, 5, ForKind::kParallel,
      ir::allocate(
          acc,
          ir::block({ir::store(acc, {Expr(0)}, ir::make_float(ir::kF32, 0)),
                     ir::make_for(j2, 0, 7, ForKind::kSerial,
                                  ir::block({ir::store(out, {(r * 5 + i2 - 2) * 7 + j2},
                                                       ir::load(temp, {(i2 - 2) * 7 + j2})),
                                             ir::store(acc, {Expr(0)},
                                                       ir::load(acc, {Expr(0)}) +
                                                           ir::load(temp, {(i2 - 2) * 7 + j2}))})),
                     ir::store(sums, {r * 5 + i2 - 2}, ir::load(acc, {Expr(0)}))})));
  const Function f{
      "capture",
      {a, b, out, sums},
      2,
      ir::make_for(r, 0, 3, ForKind::kSerial, ir::allocate(temp, ir::block({first, second})))};
  Rng rng(3);
  expect_same(f, small_args(f, rng));
}

TEST(LoopTest, LocalArraysOfACallerAndOfParallelIterations) {
  const Buffer in = Buffer::make("in", ir::kF32, {24});
  const Buffer out = Buffer::make("out", ir::kF32, {24});
  const Buffer table = Buffer::make("table", ir::kF32, {4}, Scope::kLocal);
  const Buffer row = Buffer::make("row", ir::kF32, {4}, Scope::kGlobal);  // private to an iteration
  const Var i("i");
  const Var j("j");
  const Var k("k");
  const Stmt write =
      ir::make_for(j, 0, 4, ForKind::kSerial,
                   ir::store(row, {3 - j}, ir::load(in, {i * 4 + j}) + ir::load(table, {Expr(j)})));
  const Stmt read = ir::make_for(k, 0, 4, ForKind::kSerial,
                                 ir::store(out, {i * 4 + k}, ir::load(row, {Expr(k)})));
  const Function f{
      "locals",
      {in, out},
      1,
      ir::allocate(table, ir::block({fill(table, ir::make_float(ir::kF32, 3)),
                                     ir::make_for(i, 0, 6, ForKind::kParallel,
                                                  ir::allocate(row, ir::block({write, read})))}))};
  Rng rng(4);
  expect_same(f, small_args(f, rng));
}

TEST(LoopTest, WorkspaceIsSharedBySiblings) {
  const auto copy = [](const Buffer& to, const Buffer& from) {
    const Var i("i");
    return ir::make_for(i, 0, 10, ForKind::kSerial,
                        ir::store(to, {Expr(i)}, ir::load(from, {Expr(i)})));
  };
  const Buffer in = Buffer::make("in", ir::kF32, {10});
  const Buffer x = Buffer::make("x", ir::kF32, {10});
  const Buffer y = Buffer::make("y", ir::kF32, {10});
  const Buffer outer = Buffer::make("outer", ir::kF32, {10});
  const Buffer one = Buffer::make("one", ir::kF32, {10});
  const Buffer two = Buffer::make("two", ir::kF32, {33});
  const Function f{
      "siblings",
      {in, x, y},
      1,
      ir::allocate(outer,
                   ir::block({copy(outer, in),
                              ir::allocate(one, ir::block({copy(one, outer), copy(x, one)})),
                              ir::allocate(two, ir::block({copy(two, outer), copy(y, two)}))}))};
  EXPECT_EQ(jit(f, target::host_target())->workspace_bytes(), 64 + 192);
  Rng rng(5);
  expect_same(f, random_args(f, rng));
}

// Too large for a stack: the caller's in the workspace, an iteration's in a place of its own there.
TEST(LoopTest, LargePrivateBuffersAreInTheWorkspace) {
  constexpr int64_t kLarge = 150000;
  const Buffer in = Buffer::make("in", ir::kF32, {5});
  const Buffer out = Buffer::make("out", ir::kF32, {5});
  const Buffer local = Buffer::make("local", ir::kF32, {kLarge}, Scope::kLocal);
  const Buffer own = Buffer::make("own", ir::kF32, {kLarge}, Scope::kLocal);
  const Var i("i");
  const Var j("j");
  const Expr far = i * 7 + (kLarge - 100);
  const Stmt body =
      ir::block({ir::store(own, {far}, ir::load(in, {i - 1}) + ir::load(local, {i - 1})),
                 ir::make_for(j, 0, 9, ForKind::kSerial, ir::store(own, {j}, ir::load(own, {far}))),
                 ir::store(out, {i - 1}, ir::load(own, {Expr(8)}))});
  const Stmt first = ir::store(local, {ir::ramp(0, 1, 5)}, ir::load(in, {ir::ramp(0, 1, 5)}));
  const Function f{"large",
                   {in, out},
                   1,
                   ir::allocate(local, ir::block({first, ir::make_for(i, 1, 5, ForKind::kParallel,
                                                                      ir::allocate(own, body))}))};
  EXPECT_EQ(jit(f, target::host_target())->workspace_bytes(), 600000 + 5 * 600000);
  Rng rng(8);
  expect_same(f, small_args(f, rng));
}

// Constant indices make registers of it, but not where another function looks at it.
TEST(LoopTest, ConstantPlacesOfACallerAreSeenByParallelLoops) {
  const Buffer in = Buffer::make("in", ir::kF32, {4});
  const Buffer out = Buffer::make("out", ir::kF32, {6});
  const Buffer table = Buffer::make("table", ir::kF32, {4}, Scope::kRegister);
  const Var i("i");
  const Expr all = ir::ramp(0, 1, 4);
  const Stmt loop =
      ir::make_for(i, 0, 6, ForKind::kParallel,
                   ir::store(out, {Expr(i)}, ir::load(table, {Expr(2)}) * ir::cast(ir::kF32, i)));
  const Function f{
      "table",
      {in, out},
      1,
      ir::allocate(table, ir::block({ir::store(table, {all}, ir::load(in, {all})), loop}))};
  Rng rng(9);
  expect_same(f, small_args(f, rng));
}

// Straight-line code over two buffers at the same place: no access may move past the other's.
TEST(LoopTest, SharedWorkspaceKeepsItsOrder) {
  const Buffer in = Buffer::make("in", ir::kF32, {64});
  const Buffer out = Buffer::make("out", ir::kF32, {64});
  std::vector<Stmt> all;
  for (int k = 0; k < 8; ++k) {
    const Buffer b = Buffer::make("b", ir::kF32, {8});
    const Expr low = ir::ramp(0, 1, 4);
    const Expr high = ir::ramp(4, 1, 4);
    all.push_back(ir::allocate(
        b, ir::block({ir::store(b, {low}, ir::load(in, {ir::ramp(k * 8, 1, 4)})),
                      ir::store(b, {high}, ir::load(in, {ir::ramp(k * 8 + 4, 1, 4)})),
                      ir::store(out, {ir::ramp(k * 8, 1, 4)}, ir::load(b, {high})),
                      ir::store(out, {ir::ramp(k * 8 + 4, 1, 4)}, ir::load(b, {low}))})));
  }
  const Function f{"order", {in, out}, 1, ir::block(all)};
  Rng rng(7);
  expect_same(f, random_args(f, rng));
}

struct Calls {
  std::atomic<int> count{0};
};

TEST(LoopTest, RuntimeIsAskedOnlyWhenThereAreThreads) {
  const Buffer out = Buffer::make("out", ir::kI64, {11});
  const Var i("i");
  const Function f{"ask",
                   {out},
                   0,
                   ir::make_for(i, 0, 11, ForKind::kParallel, ir::store(out, {Expr(i)}, i * i))};
  target::Target each = target::host_target();
  each.cpu().parallel_vectors = 0;  // every iteration is worth a thread
  const auto kernel = jit(f, each);
  Calls calls;
  const auto parallel = [](const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
    static_cast<Calls*>(rt->pool)->count++;
    for (int64_t k = n - 1; k >= 0; --k) {
      body(closure, k, k + 1);
    }
  };
  for (const int threads : {1, 2}) {
    const tenon_runtime rt{parallel, &calls, threads};
    alignas(64) int64_t values[11] = {};
    void* params[] = {values};
    kernel->entry()(params, nullptr, &rt);
    for (int64_t k = 0; k < 11; ++k) {
      EXPECT_EQ(values[k], k * k);
    }
    EXPECT_EQ(calls.count, threads - 1);
  }
}

// for i in 0..n parallel { out[i] = i * i }, cut by a runtime that says how many threads it has.
std::vector<int64_t> piece_sizes(int64_t n, int64_t parallel_vectors, int threads) {
  const Buffer out = Buffer::make("out", ir::kI64, {n});
  const Var i("i");
  const Function f{
      "cut", {out}, 0, ir::make_for(i, 0, n, ForKind::kParallel, ir::store(out, {Expr(i)}, i * i))};
  target::Target t = target::host_target();
  t.cpu().parallel_vectors = parallel_vectors;
  const auto kernel = jit(f, t);
  static std::vector<int64_t> ends;
  ends.clear();
  std::vector<int64_t> memory(static_cast<size_t>(n) + 8, -1);
  int64_t* values = memory.data();
  while (reinterpret_cast<uintptr_t>(values) % 64 != 0) ++values;
  const auto parallel = [](const tenon_runtime* rt, tenon_body body, void* closure,
                           int64_t pieces) {
    const auto* written = static_cast<const int64_t*>(rt->pool);
    int64_t before = 0;
    for (int64_t k = 0; k < pieces; ++k) {
      body(closure, k, k + 1);
      int64_t end = before;
      while (written[end] == end * end) ++end;
      ends.push_back(end - before);
      before = end;
    }
  };
  const tenon_runtime rt{parallel, values, threads};
  void* params[] = {values};
  kernel->entry()(params, nullptr, &rt);
  for (int64_t k = 0; k < n; ++k) EXPECT_EQ(values[k], k * k) << k;
  return ends;
}

TEST(LoopTest, SmallIterationsArePutTogetherIntoPiecesThatAreWorthAThread) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(piece_sizes(5, 0, 2), Sizes(5, 1));
  // Two operations for each iteration, four for each vector: 20 iterations make a piece of 10 vectors.
  EXPECT_EQ(piece_sizes(39, 10, 2), Sizes{});  // one piece: the runtime is not asked
  EXPECT_EQ(piece_sizes(40, 10, 2), (Sizes{20, 20}));
  EXPECT_EQ(piece_sizes(67, 10, 2), (Sizes{33, 34}));
  EXPECT_EQ(piece_sizes(67, 10, 16), (Sizes{22, 22, 23}));
  EXPECT_EQ(piece_sizes(100, 10, 2), (Sizes{25, 25, 25, 25}));
  EXPECT_EQ(piece_sizes(1000, 10, 2).size(), 16U);
}

TEST(LoopTest, PrefetchHasNoEffect) {
  const Buffer in = Buffer::make("in", ir::kF32, {16});
  const Buffer out = Buffer::make("out", ir::kF32, {16});
  const Var i("i");
  const Function f{"prefetch",
                   {in, out},
                   1,
                   ir::make_for(i, 0, 16, ForKind::kSerial,
                                ir::block({ir::prefetch(in, {i + 1000}),
                                           ir::store(out, {Expr(i)}, ir::load(in, {Expr(i)}))}))};
  Rng rng(6);
  expect_same(f, random_args(f, rng));
}

}  // namespace
}  // namespace tenon::backend
