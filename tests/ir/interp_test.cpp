// SPDX-License-Identifier: Apache-2.0
#include "ir/interp.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace tenon::ir {
namespace {

// Runs `body` on one input A (0, 1, 2, ...) and one output B and returns B as doubles.
struct Program {
  Buffer a, b;
  std::vector<double> operator()(const Stmt& body) const {
    std::vector<Array> args{Array(a.dtype(), a.shape()), Array(b.dtype(), b.shape())};
    for (int64_t k = 0; k < args[0].elements(); ++k) {
      args[0].set_double(k, static_cast<double>(k));
    }
    interpret({"f", {a, b}, 1, body}, args);
    std::vector<double> out;
    for (int64_t k = 0; k < args[1].elements(); ++k) {
      out.push_back(args[1].get_double(k));
    }
    return out;
  }
  // The message of the error that the program must end in.
  std::string error(const Stmt& body) const {
    try {
      (*this)(body);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "no error";
  }
};

Program f32_run(std::vector<int64_t> a, std::vector<int64_t> b) {
  return {Buffer::make("A", kF32, std::move(a)), Buffer::make("B", kF32, std::move(b))};
}

Stmt serial(const Var& v, Expr extent, Stmt body) {
  return make_for(v, 0, std::move(extent), ForKind::kSerial, std::move(body));
}

#define EXPECT_ERROR(run, stmt, text) \
  EXPECT_NE((run).error(stmt).find(text), std::string::npos) << (run).error(stmt)

TEST(Interp, MatmulOfOddShape) {
  const int64_t m = 3;
  const int64_t n = 5;
  const int64_t k = 7;
  const Buffer a = Buffer::make("A", kF32, {m, k});
  const Buffer b = Buffer::make("B", kF32, {k, n});
  const Buffer c = Buffer::make("C", kF32, {m, n});
  const Var i("i"), j("j"), r("r");
  const Stmt init = store(c, {i, j}, make_float(kF32, 0));
  const Stmt step = store(c, {i, j}, load(c, {i, j}) + load(a, {i, r}) * load(b, {r, j}));
  const Stmt body = serial(i, m, serial(j, n, block({init, serial(r, k, step)})));
  std::vector<Array> args{Array(kF32, {m, k}), Array(kF32, {k, n}), Array(kF32, {m, n})};
  for (int64_t x = 0; x < m * k; ++x) {
    args[0].set_double(x, static_cast<double>(x % 5 - 2));
  }
  for (int64_t x = 0; x < k * n; ++x) {
    args[1].set_double(x, static_cast<double>(x % 7 - 3));
  }
  interpret({"matmul", {a, b, c}, 2, body}, args);
  for (int64_t x = 0; x < m; ++x) {
    for (int64_t y = 0; y < n; ++y) {
      double sum = 0;
      for (int64_t z = 0; z < k; ++z) {
        sum += args[0].get_double(x * k + z) * args[1].get_double(z * n + y);
      }
      EXPECT_EQ(args[2].get_double(x * n + y), sum);
    }
  }
}

TEST(Interp, LoopStartsAtItsMinimumAndMayBeEmpty) {
  const Program run = f32_run({8}, {8});
  const Var i("i"), j("j");
  // A triangle: the inner extent depends on the outer variable and is 0 at first.
  const Stmt inner = make_for(j, 2, i, ForKind::kSerial, store(run.b, {j}, load(run.a, {i})));
  EXPECT_EQ(run(serial(i, 4, inner)), (std::vector<double>{0, 0, 3, 3, 3, 0, 0, 0}));
}

TEST(Interp, RankZeroAndFlatIndices) {
  const Program run{Buffer::make("A", kI32, {}), Buffer::make("B", kI32, {2, 3})};
  EXPECT_EQ(run(store(run.b, {4}, load(run.a, {}))), (std::vector<double>(6, 0)));
  EXPECT_EQ(run(store(run.b, {1, 2}, make_int(kI32, 9))), (std::vector<double>{0, 0, 0, 0, 0, 9}));
  EXPECT_EQ(run(store(run.b, {2}, make_int(kI32, 9))), (std::vector<double>{0, 0, 9, 0, 0, 0}));
}

TEST(Interp, AccessesAreChecked) {
  const Program run = f32_run({4, 4}, {4});
  const Expr zero = make_float(kF32, 0);
  const Buffer t = Buffer::make("T", kF32, {4}, Scope::kLocal);
  EXPECT_ERROR(run, store(run.b, {4}, zero), "B[4] is outside of its extents [4]");
  EXPECT_ERROR(run, store(run.b, {-1}, zero), "B[-1]");
  // In range as an offset, but not in its dimension.
  EXPECT_ERROR(run, store(run.b, {0}, load(run.a, {0, 5})), "A[0, 5]");
  EXPECT_ERROR(run, store(run.b, {0}, load(run.a, {16})), "A[16]");
  EXPECT_ERROR(run, store(run.b, {0}, load(run.b, {0})), "read before it is written");
  EXPECT_ERROR(run, allocate(t, store(run.b, {0}, load(t, {0}))), "read before it is written");
  EXPECT_ERROR(run, store(run.a, {0, 0}, zero), "A is an input");
  EXPECT_ERROR(run, store(t, {0}, zero), "T does not exist");
  EXPECT_ERROR(run, store(run.b, {Var("i")}, zero), "variable i has no value");
}

TEST(Interp, AllocationForgetsBetweenEntries) {
  const Program run = f32_run({4}, {4});
  const Buffer t = Buffer::make("T", kF32, {1}, Scope::kLocal);
  const Var i("i");
  const Stmt set = make_if(eq(i, 0), store(t, {0}, make_float(kF32, 1)));
  const Stmt body = allocate(t, block({set, store(run.b, {i}, load(t, {0}))}));
  EXPECT_EQ(run(serial(i, 1, body))[0], 1);
  EXPECT_ERROR(run, serial(i, 2, body), "read before it is written");
}

TEST(Interp, SelectReadsOnlyTheChosenSide) {
  const Program run = f32_run({4}, {6});
  const Var i("i");
  const Expr inside = lt(i, 4);
  const Expr other = make_float(kF32, -1);
  EXPECT_EQ(run(serial(i, 6, store(run.b, {i}, select(inside, load(run.a, {i}), other)))),
            (std::vector<double>{0, 1, 2, 3, -1, -1}));
  const Expr lanes = ramp(0, 1, 6);
  const Expr v = select(lt(lanes, 4), load(run.a, {lanes}), other);
  EXPECT_EQ(run(store(run.b, {lanes}, v)), (std::vector<double>{0, 1, 2, 3, -1, -1}));
}

TEST(Interp, AndOrStopEarly) {
  const Program run = f32_run({4}, {6});
  const Var i("i");
  const Expr big = lt(make_float(kF32, 1), load(run.a, {i}));
  const Expr small = le(load(run.a, {i}), make_float(kF32, 1));
  const auto count = [&](const Expr& c) {
    return run(serial(i, 6, store(run.b, {i}, cast(kF32, c))));
  };
  EXPECT_EQ(count(logical_and(lt(i, 4), big)), (std::vector<double>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(count(logical_or(le(4, i), small)), (std::vector<double>{1, 1, 0, 0, 1, 1}));
}

TEST(Interp, PredicatesMaskLanes) {
  const Program run = f32_run({4}, {6});
  const Expr lanes = ramp(0, 1, 6);
  const Expr loaded = load(run.a, {lanes}, lt(lanes, 4));  // beyond the end: nothing read, value 0
  EXPECT_EQ(run(store(run.b, {lanes}, loaded + make_float(kF32, 1))),
            (std::vector<double>{1, 2, 3, 4, 1, 1}));
  const Expr wide = ramp(3, 1, 8);  // stores 3 .. 10, of which 3 .. 5 exist
  EXPECT_EQ(run(store(run.b, {wide}, make_float(kF32, 7), lt(wide, 6))),
            (std::vector<double>{0, 0, 0, 7, 7, 7}));
  EXPECT_EQ(run(store(run.b, {0}, make_float(kF32, 7), lt(load(run.a, {0}), make_float(kF32, 0)))),
            (std::vector<double>(6, 0)));
}

TEST(Interp, VectorsRampBroadcastReduce) {
  const Program run = f32_run({8}, {4});
  const Expr odd = load(run.a, {ramp(1, 2, 4)});  // 1 3 5 7
  const Expr lanes = ramp(0, 1, 4);
  EXPECT_EQ(run(store(run.b, {lanes}, odd * make_float(kF32, 2))),
            (std::vector<double>{2, 6, 10, 14}));
  EXPECT_EQ(run(store(run.b, {ramp(3, -1, 4)}, odd)), (std::vector<double>{7, 5, 3, 1}));
  const auto reduced = [&](BinaryOp op) {
    return run(store(run.b, {0}, vector_reduce(op, odd)))[0];
  };
  EXPECT_EQ(reduced(BinaryOp::kAdd), 16);
  EXPECT_EQ(reduced(BinaryOp::kMul), 105);
  EXPECT_EQ(reduced(BinaryOp::kMin), 1);
  EXPECT_EQ(reduced(BinaryOp::kMax), 7);
  EXPECT_EQ(run(store(run.b, {ramp(1, 1, 2)}, vector_reduce(BinaryOp::kAdd, odd, 2))),
            (std::vector<double>{0, 4, 12, 0}));
  const Expr some = vector_reduce(BinaryOp::kMax, load(run.a, {ramp(0, 1, 6)}), 2);
  EXPECT_EQ(run(store(run.b, {ramp(0, 1, 2)}, some)), (std::vector<double>{2, 5, 0, 0}));
  // One scalar for every lane.
  const Expr same = broadcast(vector_reduce(BinaryOp::kAdd, odd), 4);
  EXPECT_EQ(run(store(run.b, {lanes}, same)), (std::vector<double>(4, 16)));
  const Expr any = vector_reduce(BinaryOp::kOr, lt(odd, make_float(kF32, 2)));
  const Expr all = vector_reduce(BinaryOp::kAnd, lt(odd, make_float(kF32, 2)));
  EXPECT_EQ(run(store(run.b, {0}, cast(kF32, any)))[0], 1);
  EXPECT_EQ(run(store(run.b, {0}, cast(kF32, all)))[0], 0);
}

TEST(Interp, VectorStoreReadsAllLanesFirst) {
  const Program run = f32_run({4}, {4});
  const Var i("i");
  const Stmt copy = serial(i, 4, store(run.b, {i}, load(run.a, {i})));
  const Stmt reverse = store(run.b, {ramp(0, 1, 4)}, load(run.b, {ramp(3, -1, 4)}));
  EXPECT_EQ(run(block({copy, reverse})), (std::vector<double>{3, 2, 1, 0}));
}

TEST(Interp, TwoVectorIndicesWalkADiagonal) {
  const Program run = f32_run({3, 3}, {3});
  const Expr lanes = ramp(0, 1, 3);
  EXPECT_EQ(run(store(run.b, {lanes}, load(run.a, {lanes, lanes}))),
            (std::vector<double>{0, 4, 8}));
}

TEST(Interp, StridedBuffersPadTheirRows) {
  const Program run = f32_run({6}, {2, 3});
  const Buffer t = Buffer::make_strided("T", kF32, {2, 3}, {5, 1}, Scope::kLocal);
  EXPECT_EQ(t->elements(), 8);
  const Var i("i"), j("j");
  const Stmt in = serial(i, 2, serial(j, 3, store(t, {i, j}, load(run.a, {i * 3 + j}))));
  const Var x("x"), y("y");
  const Stmt out = serial(x, 2, serial(y, 3, store(run.b, {x, y}, load(t, {x * 5 + y}))));
  EXPECT_EQ(run(allocate(t, block({in, out}))), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(Interp, PrefetchMayPointOutside) {
  const Program run = f32_run({4}, {1});
  EXPECT_EQ(run(block({prefetch(run.a, {99}), store(run.b, {0}, load(run.a, {3}))}))[0], 3);
}

TEST(Interp, ParallelIterationsMayNotMeet) {
  const Program run = f32_run({4}, {8});
  const Var i("i");
  const auto parallel = [&](Stmt body) {
    return make_for(i, 0, 4, ForKind::kParallel, std::move(body));
  };
  const Expr v = load(run.a, {i});
  const Expr one = make_float(kF32, 1);
  // Each iteration owns two elements and may read what it wrote itself.
  const Stmt own =
      block({store(run.b, {i * 2}, v), store(run.b, {i * 2 + 1}, load(run.b, {i * 2}))});
  EXPECT_EQ(run(parallel(own)), (std::vector<double>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_ERROR(run, parallel(store(run.b, {floor_div(i, 2)}, v)), "written by two iterations");
  const Stmt init = serial(i, 8, store(run.b, {i}, one));
  const Stmt read_back = store(run.b, {i}, load(run.b, {max(i - 1, 0)}));
  EXPECT_ERROR(run, block({init, parallel(read_back)}), "read by one iteration and written");
  const Stmt read_ahead = store(run.b, {i}, load(run.b, {i + 1}));
  EXPECT_ERROR(run, block({init, parallel(read_ahead)}), "written by one iteration and read");
  const Stmt read_common = store(run.b, {i}, load(run.b, {7}));
  EXPECT_EQ(run(block({init, parallel(read_common)})), std::vector<double>(8, 1));
  // What one loop wrote the next may read from other iterations.
  const Stmt then = parallel(store(run.b, {i + 4}, load(run.b, {3 - i})));
  EXPECT_EQ(run(block({parallel(store(run.b, {i}, v)), then})),
            (std::vector<double>{0, 1, 2, 3, 3, 2, 1, 0}));
}

TEST(Interp, MemoryAllocatedInAParallelIterationIsPrivate) {
  const Program run = f32_run({4}, {4});
  const Buffer t = Buffer::make("T", kF32, {1});
  const Var i("i");
  const Stmt body = block({store(t, {0}, load(run.a, {i})), store(run.b, {i}, load(t, {0}))});
  EXPECT_EQ(run(make_for(i, 0, 4, ForKind::kParallel, allocate(t, body))),
            (std::vector<double>{0, 1, 2, 3}));
  const Stmt outside = allocate(t, make_for(i, 0, 4, ForKind::kParallel, body));
  EXPECT_ERROR(run, outside, "race");
}

TEST(Interp, NestedParallelLoopsAreRefused) {
  const Program run = f32_run({4}, {4});
  const Var i("i"), j("j");
  const Stmt inner = make_for(j, 0, 2, ForKind::kParallel, store(run.b, {i}, make_float(kF32, 0)));
  EXPECT_ERROR(run, make_for(i, 0, 2, ForKind::kParallel, inner), "inside another concurrent loop");
}

Stmt thread(const Var& v, int64_t n, ThreadTag tag, Stmt body) {
  return make_for(v, 0, n, ForKind::kThread, std::move(body), tag);
}

// Each block reverses four elements through shared memory.
Stmt reverse_blocks(const Program& run, bool with_barrier) {
  const Buffer s = Buffer::make("S", kF32, {4}, Scope::kShared);
  const Var bx("bx"), tx("tx");
  const Stmt fill = store(s, {tx}, load(run.a, {bx * 4 + tx}));
  const Stmt drain = store(run.b, {bx * 4 + tx}, load(s, {3 - tx}));
  const Stmt body = with_barrier ? block({fill, barrier(), drain}) : block({fill, drain});
  return thread(bx, 3, ThreadTag::kBlockX, allocate(s, thread(tx, 4, ThreadTag::kThreadX, body)));
}

TEST(Interp, BarrierOrdersSharedMemory) {
  const Program run = f32_run({12}, {12});
  EXPECT_EQ(run(reverse_blocks(run, true)),
            (std::vector<double>{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}));
  EXPECT_ERROR(run, reverse_blocks(run, false), "race: element");
}

TEST(Interp, BarrierBetweenSiblingThreadLoops) {
  const Program run = f32_run({4}, {4});
  const Buffer s = Buffer::make("S", kF32, {4}, Scope::kShared);
  const Var bx("bx"), tx("tx"), ty("ty");
  const Stmt fill = thread(tx, 4, ThreadTag::kThreadX, store(s, {tx}, load(run.a, {tx})));
  const Stmt drain = thread(ty, 4, ThreadTag::kThreadX, store(run.b, {ty}, load(s, {3 - ty})));
  const auto whole = [&](Stmt body) {
    return thread(bx, 1, ThreadTag::kBlockX, allocate(s, std::move(body)));
  };
  EXPECT_EQ(run(whole(block({fill, barrier(), drain}))), (std::vector<double>{3, 2, 1, 0}));
  EXPECT_ERROR(run, whole(block({fill, drain})), "race");
}

TEST(Interp, BarrierInALoopSeparatesItsIterations) {
  const Program run = f32_run({4}, {4});
  const Buffer s = Buffer::make("S", kF32, {4}, Scope::kShared);
  const Var bx("bx"), tx("tx"), k("k");
  // Every round passes all values one thread on.
  const Stmt take = store(run.b, {tx}, load(s, {floor_mod(tx + 1, 4)}));
  const Stmt give = store(s, {tx}, load(run.b, {tx}));
  const auto whole = [&](bool second_barrier) {
    const Stmt round =
        second_barrier ? block({take, barrier(), give, barrier()}) : block({take, give, barrier()});
    const Stmt body = block({store(s, {tx}, load(run.a, {tx})), barrier(), serial(k, 3, round)});
    return thread(bx, 1, ThreadTag::kBlockX, allocate(s, thread(tx, 4, ThreadTag::kThreadX, body)));
  };
  EXPECT_EQ(run(whole(true)), (std::vector<double>{3, 0, 1, 2}));
  EXPECT_ERROR(run, whole(false), "race");
}

TEST(Interp, BarrierNeedsEveryThread) {
  const Program run = f32_run({4}, {4});
  const Var bx("bx"), tx("tx"), k("k");
  const auto whole = [&](Stmt body) {
    return thread(bx, 1, ThreadTag::kBlockX, thread(tx, 4, ThreadTag::kThreadX, std::move(body)));
  };
  EXPECT_ERROR(run, whole(make_if(lt(tx, 2), barrier())), "only some threads");
  EXPECT_ERROR(run, whole(serial(k, tx, barrier())), "only some threads");
  EXPECT_EQ(run.error(whole(serial(k, 2, barrier()))), "no error");
}

TEST(Interp, ThreadsWithDifferentExtentsAndBranches) {
  const Program run = f32_run({4}, {4, 4});
  const Var bx("bx"), tx("tx"), k("k");
  const Stmt low = store(run.b, {tx, k}, make_float(kF32, 1));
  const Stmt high = store(run.b, {tx, k}, make_float(kF32, 2));
  const Stmt body = serial(k, tx, make_if(lt(tx, 2), low, high));
  EXPECT_EQ(run(thread(bx, 1, ThreadTag::kBlockX, thread(tx, 4, ThreadTag::kThreadX, body))),
            (std::vector<double>{0, 0, 0, 0, 1, 0, 0, 0, 2, 2, 0, 0, 2, 2, 2, 0}));
}

TEST(Interp, LocalMemoryIsPerThread) {
  const Program run = f32_run({6}, {6});
  const Buffer t = Buffer::make("T", kF32, {1}, Scope::kLocal);
  const Var bx("bx"), tx("tx"), ty("ty");
  const Expr id = ty * 3 + tx;
  const Stmt body = allocate(t, block({store(t, {0}, load(run.a, {id})), barrier(),
                                       store(run.b, {5 - id}, load(t, {0}))}));
  const Stmt threads = thread(ty, 2, ThreadTag::kThreadY, thread(tx, 3, ThreadTag::kThreadX, body));
  EXPECT_EQ(run(thread(bx, 1, ThreadTag::kBlockX, threads)),
            (std::vector<double>{5, 4, 3, 2, 1, 0}));
}

TEST(Interp, BlocksAndGlobalMemoryRace) {
  const Program run = f32_run({4}, {4});
  const Var bx("bx"), by("by"), tx("tx"), v("v");
  const Expr value = load(run.a, {tx});
  const auto grid = [&](Stmt body) {
    return thread(
        bx, 2, ThreadTag::kBlockX,
        thread(by, 2, ThreadTag::kBlockY, thread(tx, 2, ThreadTag::kThreadX, std::move(body))));
  };
  EXPECT_ERROR(run, grid(store(run.b, {bx * 2 + tx}, value)), "race");  // by is not in the index
  // A barrier does not order global memory.
  const Stmt global =
      block({store(run.b, {tx}, value), barrier(), store(run.b, {2 + tx}, load(run.b, {1 - tx}))});
  EXPECT_ERROR(run, thread(bx, 1, ThreadTag::kBlockX, thread(tx, 2, ThreadTag::kThreadX, global)),
               "race");
  const Stmt virtual_threads = thread(v, 2, ThreadTag::kVThread, store(run.b, {v * 2 + tx}, value));
  EXPECT_EQ(run(thread(tx, 2, ThreadTag::kThreadX, virtual_threads)),
            (std::vector<double>{0, 1, 0, 1}));
  const Stmt same = thread(v, 2, ThreadTag::kVThread, store(run.b, {tx}, value));
  EXPECT_ERROR(run, thread(tx, 2, ThreadTag::kThreadX, same), "race");
}

TEST(Interp, ArgumentsMustMatch) {
  const Buffer a = Buffer::make("A", kF32, {4});
  std::vector<Array> args{Array(kF32, {5})};
  EXPECT_THROW(interpret({"f", {a}, 1, no_op()}, args), InternalError);
  args = {Array(kF64, {4})};
  EXPECT_THROW(interpret({"f", {a}, 1, no_op()}, args), InternalError);
  args = {Array(kF32, {2, 2})};
  interpret({"f", {a}, 1, no_op()}, args);
}

// ---- thread loops inside thread loops of the same tag -------------------------------------------

Stmt thread_x(const Var& v, int64_t n, Stmt body) {
  return thread(v, n, ThreadTag::kThreadX, std::move(body));
}

TEST(Interp, ThreadLoopInsideTakesTheNumberOfItsThread) {
  const Program run = f32_run({4}, {4, 2});
  const Var x("x"), y("y");
  const Expr seven = make_float(kF32, 7);
  // Both loops give a thread the same number: two stores each, not sixteen.
  const Stmt both = block({store(run.b, {x, 0}, load(run.a, {y})), store(run.b, {y, 1}, seven)});
  EXPECT_EQ(run(thread_x(x, 4, thread_x(y, 4, both))),
            (std::vector<double>{0, 7, 1, 7, 2, 7, 3, 7}));
}

TEST(Interp, ThreadsBeyondASmallerExtentSitItOut) {
  const Program run = f32_run({4}, {4});
  const Var x("x"), y("y"), z("z");
  const Buffer t = Buffer::make("T", kF32, {1}, Scope::kLocal);
  const Stmt own = store(t, {0}, make_float(kF32, 9));
  const Stmt few = thread_x(y, 2, store(t, {0}, load(run.a, {y})));
  EXPECT_EQ(run(thread_x(x, 4, allocate(t, block({own, few, store(run.b, {x}, load(t, {0}))})))),
            (std::vector<double>{0, 1, 9, 9}));
  // Nobody is left in a loop of no iterations.
  const Stmt none = thread_x(y, 0, store(t, {0}, load(run.a, {0})));
  EXPECT_EQ(run(thread_x(x, 4, allocate(t, block({own, none, store(run.b, {x}, load(t, {0}))})))),
            (std::vector<double>{9, 9, 9, 9}));
}

TEST(Interp, ThreadLoopInsideMayNotBeLonger) {
  const Program run = f32_run({4}, {4});
  const Var x("x"), y("y"), z("z");
  const Stmt put = store(run.b, {y}, load(run.a, {y}));
  EXPECT_ERROR(run, thread_x(x, 2, thread_x(y, 4, put)),
               "loop y has more iterations than the loop of its threads");
  // Another tag has its own threads.
  EXPECT_EQ(run(thread(x, 2, ThreadTag::kThreadY,
                       thread_x(z, 2, store(run.b, {x * 2 + z}, load(run.a, {x * 2 + z}))))),
            (std::vector<double>{0, 1, 2, 3}));
}

// Four threads fill S in a loop of their own and read another's element.
Stmt fill_again(const Program& run, int64_t extent, const Stmt& between) {
  const Buffer s = Buffer::make("S", kF32, {4}, Scope::kShared);
  const Var bx("bx"), x("x"), y("y");
  const Stmt fill = thread_x(y, extent, store(s, {y}, load(run.a, {y})));
  const Stmt drain = store(run.b, {x}, load(s, {floor_mod(x + 1, extent)}));
  return thread(bx, 1, ThreadTag::kBlockX,
                allocate(s, thread_x(x, 4, block({fill, between, drain}))));
}

TEST(Interp, RacesBetweenNestedThreadLoopsAreFound) {
  const Program run = f32_run({4}, {4});
  EXPECT_EQ(run(fill_again(run, 4, barrier())), (std::vector<double>{1, 2, 3, 0}));
  EXPECT_EQ(run(fill_again(run, 2, barrier())), (std::vector<double>{1, 0, 1, 0}));
  EXPECT_ERROR(run, fill_again(run, 4, no_op()), "race: element");
  EXPECT_ERROR(run, fill_again(run, 2, no_op()), "race: element");
}

TEST(Interp, BarrierInALoopOfSomeThreads) {
  const Program run = f32_run({4}, {4});
  const Var bx("bx"), x("x"), y("y");
  const auto in_block = [&](Stmt body) {
    return thread(bx, 1, ThreadTag::kBlockX, std::move(body));
  };
  EXPECT_ERROR(run, in_block(thread_x(x, 4, thread_x(y, 2, barrier()))), "only some threads");
  EXPECT_EQ(run.error(in_block(thread_x(x, 4, thread_x(y, 4, barrier())))), "no error");
  // A sibling needs more threads, so that there are more in the block.
  const Stmt two = thread_x(x, 2, barrier());
  const Stmt four = thread_x(y, 4, store(run.b, {y}, load(run.a, {y})));
  EXPECT_ERROR(run, in_block(block({two, four})), "only some threads");
  EXPECT_EQ(run.error(in_block(two)), "no error");
}

TEST(Interp, StoreOutsideOfAThreadLoopIsDoneByAll) {
  const Program run = f32_run({4}, {4});
  const Var bx("bx"), x("x");
  const Stmt one = store(run.b, {0}, load(run.a, {3}));
  const Stmt many = thread_x(x, 4, store(run.b, {x}, load(run.a, {x})));
  const auto in_block = [&](Stmt body) {
    return thread(bx, 1, ThreadTag::kBlockX, std::move(body));
  };
  EXPECT_ERROR(run, in_block(block({many, one})), "race: a store outside of a thread loop");
  EXPECT_EQ(run.error(in_block(one)), "no error");
}

}  // namespace
}  // namespace tenon::ir
