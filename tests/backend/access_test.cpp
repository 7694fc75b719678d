// SPDX-License-Identifier: Apache-2.0
// Loads and stores of every shape: strides, gathers, predicates, lazily evaluated sides, register
// tiles.
#include "backend/harness.h"
#include "ir/build.h"

namespace tenon::backend {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::ForKind;
using ir::Function;
using ir::Scope;
using ir::Stmt;
using ir::Var;

const DType kStored[] = {ir::kBool, ir::kI8,   ir::kU16, ir::kI32, ir::kI64,
                         ir::kF16,  ir::kBF16, ir::kF32, ir::kF64};

Expr all_lanes(const Expr& e, int lanes) { return lanes == 1 ? e : ir::broadcast(e, lanes); }
Expr dense(const Expr& base, int lanes) { return lanes == 1 ? base : ir::ramp(base, 1, lanes); }

TEST(AccessTest, StridedLoads) {
  for (const DType t : kStored) {
    Function f{"strided", {}, 1, {}};
    const Buffer in = Buffer::make("in", t, {200});
    f.params = {in};
    std::vector<Stmt> all;
    for (const int lanes : {2, 3, 5, 8, 16}) {
      for (const int stride : {1, 2, 3, 4, 5, 9, -1, -2, -3, 0}) {
        const Buffer out = Buffer::make("out", t, {int64_t{2} * lanes});
        const Var i("i");
        const Expr base = Expr(i) + (stride < 0 ? -stride * (lanes - 1) : 0);
        all.push_back(ir::make_for(i, 0, 2, ForKind::kSerial,
                                   ir::store(out, {dense(i * Expr(lanes), lanes)},
                                             ir::load(in, {ir::ramp(base, stride, lanes)}))));
        f.params.push_back(out);
      }
    }
    f.body = ir::block(all);
    Rng rng(1);
    expect_same(f, random_args(f, rng));
  }
}

// The first and the last lane are the ends of the buffer: nothing beyond may be read or written.
TEST(AccessTest, StridedRunsThatSpanTheBuffer) {
  for (const int lanes : {2, 3, 4, 7, 8, 16}) {
    for (const int stride : {1, 2, 3, 4, 5}) {
      const int64_t span = (lanes - 1) * stride + 1;
      const int64_t skip = (16 - span % 16) % 16;  // so that the end is aligned too
      const Buffer low = Buffer::make("low", ir::kF32, {span});
      const Buffer high = Buffer::make("high", ir::kF32, {skip + span});
      const Buffer packed = Buffer::make("packed", ir::kF32, {int64_t{3} * lanes});
      const Buffer spread = Buffer::make("spread", ir::kF32, {span});
      const auto part = [&](int k) { return dense(k * lanes, lanes); };
      const Expr up = ir::ramp(0, stride, lanes);
      const Expr down = ir::ramp(span - 1, -stride, lanes);
      const Expr last = ir::ramp(skip, stride, lanes);
      const Function f{"span",
                       {low, high, packed, spread},
                       2,
                       ir::block({ir::store(packed, {part(0)}, ir::load(low, {up})),
                                  ir::store(packed, {part(1)}, ir::load(low, {down})),
                                  ir::store(packed, {part(2)}, ir::load(high, {last})),
                                  ir::store(spread, {up}, ir::load(low, {up}))})};
      Rng rng(2);
      expect_same(f, random_args(f, rng));
    }
  }
}

TEST(AccessTest, SumsOfRampsAndBroadcastsAreRuns) {
  const Buffer in = Buffer::make("in", ir::kF32, {100});
  const Buffer out = Buffer::make("out", ir::kF32, {32});
  const Var i("i");
  const Expr index =
      ir::ramp(i, 1, 8) * all_lanes(Expr(2), 8) + all_lanes(i * 3, 8) - ir::ramp(0, 1, 8);
  const Function f{"runs",
                   {in, out},
                   1,
                   ir::make_for(i, 0, 4, ForKind::kSerial,
                                ir::store(out, {ir::ramp(i * 8, 1, 8)}, ir::load(in, {index})))};
  Rng rng(3);
  expect_same(f, random_args(f, rng));
}

// Each run that is not dense makes an index of its own while the statement is emitted.
TEST(AccessTest, SeveralStridedLoadsInOneStatement) {
  const Buffer in = Buffer::make("in", ir::kI32, {100});
  const Buffer out = Buffer::make("out", ir::kI32, {8});
  const Expr inside = ir::lt(ir::ramp(0, 1, 8), all_lanes(Expr(7), 8));
  const Expr same = ir::load(in, {all_lanes(Expr(3), 8)}, inside);
  const Expr up = ir::load(in, {ir::ramp(1, 5, 8)});
  const Expr steep = ir::load(in, {ir::ramp(2, 7, 8)});
  const Expr down = ir::load(in, {ir::ramp(90, -9, 8)});
  const Function f{"several",
                   {in, out},
                   1,
                   ir::store(out, {ir::ramp(0, 1, 8)}, same - up + steep - down, inside)};
  Rng rng(12);
  expect_same(f, random_args(f, rng));
}

TEST(AccessTest, GathersAndScatters) {
  for (const DType t : kStored) {
    const Buffer in = Buffer::make("in", t, {50});
    const Buffer at = Buffer::make("at", ir::kI64, {24});
    const Buffer mask = Buffer::make("mask", ir::kBool, {24});
    const Buffer gathered = Buffer::make("gathered", t, {24});
    const Buffer partly = Buffer::make("partly", t, {24});
    const Buffer scattered = Buffer::make("scattered", t, {50});
    const Buffer some = Buffer::make("some", t, {50});
    const Var i("i");
    const Expr run = ir::ramp(i * 8, 1, 8);
    const Expr index = ir::load(at, {run});
    const Expr wanted = ir::load(mask, {run});
    const Stmt body = ir::block({ir::store(gathered, {run}, ir::load(in, {index})),
                                 ir::store(partly, {run}, ir::load(in, {index}, wanted)),
                                 ir::store(scattered, {index}, ir::load(in, {run})),
                                 ir::store(some, {index}, ir::load(in, {run}), wanted)});
    const Function f{"gather",
                     {in, at, mask, gathered, partly, scattered, some},
                     3,
                     ir::make_for(i, 0, 3, ForKind::kSerial, body)};
    Rng rng(4);
    auto args = random_args(f, rng);
    for (int64_t k = 0; k < 24; ++k) {  // a permutation; where masked off, far outside
      args[1].set(k, {(k * 7) % 50, 0});
    }
    expect_same(f, args);
  }
}

TEST(AccessTest, MaskedTailsStayInside) {
  for (const DType t : kStored) {
    for (const int lanes : {4, 8, 16, 6}) {
      const int64_t n = 3 * lanes - 3;
      const Buffer in = Buffer::make("in", t, {n});
      const Buffer out = Buffer::make("out", t, {n});
      const Buffer padded = Buffer::make("padded", t, {int64_t{3} * lanes});
      const Var i("i");
      const Expr run = ir::ramp(i * Expr(lanes), 1, lanes);
      const Expr inside = ir::lt(run, all_lanes(Expr(n), lanes));
      const Expr v = ir::load(in, {run}, inside);
      const Function f{
          "tail",
          {in, out, padded},
          1,
          ir::make_for(i, 0, 3, ForKind::kSerial,
                       ir::block({ir::store(out, {run}, v, inside), ir::store(padded, {run}, v)}))};
      Rng rng(5);
      expect_same(f, random_args(f, rng));
    }
  }
}

TEST(AccessTest, ScalarAndUniformPredicates) {
  const Buffer in = Buffer::make("in", ir::kF32, {20});
  const Buffer a = Buffer::make("a", ir::kF32, {30});
  const Buffer b = Buffer::make("b", ir::kF32, {120});
  const Var i("i");
  const Expr inside = ir::lt(i, 20);
  const Expr far_inside = ir::lt(i, 17);
  const Expr run = ir::ramp(i * 4, 1, 4);
  const Function f{
      "uniform",
      {in, a, b},
      1,
      ir::make_for(
          i, 0, 30, ForKind::kSerial,
          ir::block(
              {ir::store(a, {Expr(i)}, ir::load(in, {Expr(i)}, inside)),
               ir::store(b, {run}, ir::load(in, {ir::ramp(i, 1, 4)}, all_lanes(far_inside, 4))),
               ir::store(a, {Expr(i)}, ir::load(in, {i - 1}),
                         ir::logical_and(inside, ir::lt(0, i))),
               ir::store(b, {run}, ir::broadcast(ir::load(in, {Expr(i)}), 4),
                         all_lanes(inside, 4))}))};
  Rng rng(6);
  expect_same(f, random_args(f, rng));
}

// Padding as lowering writes it: the load of the side not chosen lies outside of the buffer.
TEST(AccessTest, SidesNotChosenAreNotRead) {
  for (const int lanes : {1, 4, 8, 16}) {
    const Buffer in = Buffer::make("in", ir::kF32, {14});
    const Buffer out = Buffer::make("out", ir::kF32, {32});
    const Var i("i");
    const Expr at = dense(i * Expr(lanes), lanes);
    const Expr shifted = at - all_lanes(Expr(9), lanes);
    const Expr inside = ir::logical_and(ir::le(all_lanes(Expr(0), lanes), shifted),
                                        ir::lt(shifted, all_lanes(Expr(14), lanes)));
    const Expr far = all_lanes(Expr(int64_t{1} << 40), lanes);
    const Expr v =
        ir::select(inside, ir::load(in, {shifted}), ir::make_float(ir::kF32.with_lanes(lanes), -1));
    const Expr w = ir::select(ir::logical_not(inside), v, ir::load(in, {shifted}) + v);
    const Expr never =
        ir::select(ir::lt(at, all_lanes(Expr(100), lanes)), w, ir::load(in, {at + far}));
    const Function f{"padding",
                     {in, out},
                     1,
                     ir::make_for(i, 0, 32 / lanes, ForKind::kSerial, ir::store(out, {at}, never))};
    Rng rng(7);
    expect_same(f, random_args(f, rng));
  }
}

TEST(AccessTest, AndOrStopEarly) {
  for (const int lanes : {1, 8}) {
    const Buffer in = Buffer::make("in", ir::kI32, {14});
    const Buffer out = Buffer::make("out", ir::kBool, {32});
    const Var i("i");
    const Expr at = dense(i * Expr(lanes), lanes);
    const Expr past = ir::le(all_lanes(Expr(14), lanes), at);
    const Expr positive = ir::lt(ir::make_int(ir::kI32.with_lanes(lanes), 0), ir::load(in, {at}));
    const Expr both = ir::logical_and(ir::logical_not(past), positive);
    const Expr either = ir::logical_or(past, positive);
    const Function f{"early",
                     {in, out},
                     1,
                     ir::make_for(i, 0, 32 / lanes, ForKind::kSerial,
                                  ir::store(out, {at}, ir::select(either, both, either)))};
    Rng rng(8);
    expect_same(f, random_args(f, rng));
  }
}

TEST(AccessTest, DivisionThatIsNotWantedDoesNotTrap) {
  for (const int lanes : {1, 4}) {
    const Buffer a = Buffer::make("a", ir::kI32, {32});
    const Buffer d = Buffer::make("d", ir::kI32, {32});
    const Buffer out = Buffer::make("out", ir::kI32, {32});
    const Var i("i");
    const Expr at = dense(i * Expr(lanes), lanes);
    const Expr by = ir::load(d, {at});
    const Expr zero = ir::make_int(ir::kI32.with_lanes(lanes), 0);
    const Expr v = ir::select(ir::ne(by, zero),
                              ir::floor_mod(ir::load(a, {at}), by) + ir::load(a, {at}) / by, zero);
    const Function f{"divide",
                     {a, d, out},
                     2,
                     ir::make_for(i, 0, 32 / lanes, ForKind::kSerial, ir::store(out, {at}, v))};
    Rng rng(9);
    expect_same(f, small_args(f, rng));
  }
}

// Scalars, vectors and overlapping pieces of one register tile, with and without masks.
TEST(AccessTest, RegisterTiles) {
  for (const DType t : {ir::kF32, ir::kI32, ir::kBF16, ir::kF16, ir::kBool, ir::kU8}) {
    const Buffer in = Buffer::make("in", t, {64});
    const Buffer mask = Buffer::make("mask", ir::kBool, {8});
    const Buffer out = Buffer::make("out", t, {64});
    const Buffer tile = Buffer::make("tile", t, {32}, Scope::kRegister);
    const Var k("k");
    const auto get = [&](int begin, int lanes) { return ir::load(tile, {dense(begin, lanes)}); };
    const auto put = [&](int begin, int lanes, const Expr& v) {
      return ir::store(tile, {dense(begin, lanes)}, v);
    };
    const auto combine = [&](const Expr& x, const Expr& y) {
      return t.is_bool() ? ir::ne(x, y) : x + y;
    };
    const Stmt body = ir::block(
        {put(0, 8, combine(get(0, 8), ir::load(in, {ir::ramp(k * 8, 1, 8)}))),
         put(2, 4, combine(get(2, 4), get(4, 4))), put(3, 1, combine(get(3, 1), get(12, 1))),
         ir::store(tile, {dense(8, 8)}, get(0, 8), ir::load(mask, {dense(0, 8)})),
         ir::store(tile, {dense(20, 1)}, get(0, 1), ir::lt(k, 5))});
    const Function f{"tile",
                     {in, mask, out},
                     2,
                     ir::allocate(tile, ir::block({put(0, 16, ir::load(in, {dense(0, 16)})),
                                                   put(16, 8, ir::load(in, {dense(16, 8)})),
                                                   put(24, 8, ir::load(in, {dense(24, 8)})),
                                                   ir::make_for(k, 0, 8, ForKind::kSerial, body),
                                                   ir::store(out, {dense(0, 16)}, get(0, 16)),
                                                   ir::store(out, {dense(16, 8)}, get(16, 8)),
                                                   ir::store(out, {dense(24, 8)}, get(24, 8))}))};
    Rng rng(10);
    expect_same(f, small_args(f, rng, 0, 3));
  }
}

TEST(AccessTest, LocalArraysWithMovingIndices) {
  const Buffer in = Buffer::make("in", ir::kF32, {48});
  const Buffer out = Buffer::make("out", ir::kF32, {48});
  const Buffer local = Buffer::make("local", ir::kF32, {16}, Scope::kLocal);
  const Var i("i");
  const Var j("j");
  const Var k("k");
  const Stmt fill = ir::make_for(j, 0, 16, ForKind::kSerial,
                                 ir::store(local, {15 - j}, ir::load(in, {i * 16 + j})));
  const Stmt drain = ir::make_for(
      k, 0, 4, ForKind::kSerial,
      ir::store(out, {ir::ramp(i * 16 + k * 4, 1, 4)}, ir::load(local, {ir::ramp(k * 4, 1, 4)})));
  const Function f{
      "local",
      {in, out},
      1,
      ir::make_for(i, 0, 3, ForKind::kSerial, ir::allocate(local, ir::block({fill, drain})))};
  Rng rng(11);
  expect_same(f, random_args(f, rng));
}

}  // namespace
}  // namespace tenon::backend
