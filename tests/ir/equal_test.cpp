// SPDX-License-Identifier: Apache-2.0
#include "ir/equal.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/build.h"

namespace tenon::ir {
namespace {

Stmt serial(const Var& v, Expr extent, Stmt body) {
  return make_for(v, 0, std::move(extent), ForKind::kSerial, std::move(body));
}

void expect_equal(const Stmt& a, const Stmt& b, bool free_by_order = false) {
  EXPECT_TRUE(equal(a, b, free_by_order));
  EXPECT_TRUE(equal(b, a, free_by_order));
  EXPECT_EQ(structural_hash(a), structural_hash(b));
}

// `hash_too`: a difference that the hash must see, because it does not lie in free handles only.
void expect_different(const Stmt& a, const Stmt& b, bool free_by_order = false,
                      bool hash_too = true) {
  EXPECT_FALSE(equal(a, b, free_by_order));
  EXPECT_FALSE(equal(b, a, free_by_order));
  if (hash_too) {
    EXPECT_NE(structural_hash(a), structural_hash(b));
  }
}

TEST(Equal, BoundVariablesMatchByPosition) {
  const Buffer a = Buffer::make("A", kF32, {4, 4});
  const auto nest = [&](const Var& x, const Var& y, const Var& r, const Var& c) {
    return serial(x, 4, serial(y, 4, store(a, {r, c}, make_float(kF32, 1))));
  };
  const Var i("i"), j("j"), k("k"), l("l");
  expect_equal(nest(i, j, i, j), nest(k, l, k, l));
  expect_equal(nest(i, j, i, j), nest(j, i, j, i));
  expect_different(nest(i, j, i, j), nest(i, j, j, i));
  expect_different(nest(i, j, i, j), nest(j, i, i, j));
  expect_different(nest(i, j, i, i), nest(i, j, i, j));
}

TEST(Equal, SharedSubtreesUnderOtherBinders) {
  // The same handle below different binders does not mean the same thing.
  const Buffer a = Buffer::make("A", kF32, {4});
  const Var i("i"), j("j");
  const Stmt body = store(a, {i}, make_float(kF32, 1));
  expect_different(serial(i, 4, body), serial(j, 4, body), false, true);
  expect_different(serial(i, 4, body), serial(j, 4, body), true, true);
}

TEST(Equal, FreeOnesAreTheSameHandleUnlessByOrder) {
  const Buffer a = Buffer::make("A", kF32, {4});
  const Buffer b = Buffer::make("B", kF32, {4});
  const Buffer wide = Buffer::make("C", kF32, {5});
  const Var i("i"), j("j");
  const auto copy = [](const Buffer& to, const Buffer& from, const Var& x, const Var& y) {
    return store(to, {x}, load(from, {y}));
  };
  expect_different(copy(a, b, i, j), copy(b, a, i, j), false, false);
  expect_equal(copy(a, b, i, j), copy(b, a, i, j), true);
  expect_equal(copy(a, b, i, j), copy(b, a, j, i), true);
  expect_different(copy(a, b, i, i), copy(a, b, i, j), true);
  expect_different(copy(a, a, i, i), copy(a, b, i, i), true);
  expect_different(copy(a, b, i, i), copy(a, wide, i, i), true);
  // A pair met inside a loop still holds after it.
  const auto twice = [&](const Var& x, const Var& y, const Buffer& p, const Buffer& q) {
    return block(
        {serial(x, 2, store(p, {y}, make_float(kF32, 1))), store(q, {y}, make_float(kF32, 1))});
  };
  expect_equal(twice(i, j, a, b), twice(j, i, b, a), true);
  expect_different(twice(i, j, a, b), twice(j, i, b, b), true);
}

TEST(Equal, SiblingLoopsMayShareAVariable) {
  const Buffer a = Buffer::make("A", kF32, {4});
  const Var i("i"), j("j");
  const auto fill = [&](const Var& v) { return serial(v, 4, store(a, {v}, make_float(kF32, 1))); };
  expect_equal(block({fill(i), fill(i)}), block({fill(i), fill(j)}));
  expect_equal(block({fill(i), fill(i)}), block({fill(i), fill(j)}), true);
}

TEST(Equal, AllocationsMatchByTypeShapeAndScope) {
  const auto with = [](const Buffer& t) { return allocate(t, store(t, {0}, zero_of(t.dtype()))); };
  const Stmt base = with(Buffer::make("T", kF32, {4}));
  expect_equal(base, with(Buffer::make("U", kF32, {4})));
  expect_different(base, with(Buffer::make("T", kF32, {5})));
  expect_different(base, with(Buffer::make("T", kF64, {4})));
  expect_different(base, with(Buffer::make("T", kF32, {4}, Scope::kLocal)));
  expect_different(base, with(Buffer::make_strided("T", kF32, {4}, {2}, Scope::kGlobal)));
}

TEST(Equal, EveryFieldCounts) {
  const Buffer a = Buffer::make("A", kF32, {64});
  const Var i("i"), j("j");
  const Expr x = load(a, {i});
  const Expr y = load(a, {j});
  const Expr p = lt(i, 3);
  const Expr v = load(a, {ramp(i, 1, 4)});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // Each row differs from every other one.
  const std::vector<Expr> exprs{
      x,
      y,
      x + y,
      y + x,
      x - y,
      x * y,
      min(x, y),
      max(x, y),
      lt(x, y),
      le(x, y),
      eq(x, y),
      -x,
      cast(kI32, x),
      cast(kI64, x),
      cast(kF64, x),
      select(p, x, y),
      select(p, y, x),
      select(lt(j, 3), x, y),
      load(a, {i}, p),
      load(a, {i}, lt(i, 4)),
      call(Intrinsic::kExp, {x}),
      call(Intrinsic::kLog, {x}),
      call(Intrinsic::kPow, {x, y}),
      call(Intrinsic::kPow, {y, x}),
      ramp(i, 1, 4),
      ramp(i, 1, 8),
      ramp(i, 2, 4),
      ramp(j, 1, 4),
      broadcast(x, 4),
      broadcast(x, 8),
      vector_reduce(BinaryOp::kAdd, v),
      vector_reduce(BinaryOp::kMax, v),
      vector_reduce(BinaryOp::kAdd, v, 2),
      make_float(kF32, 0.0),
      make_float(kF32, -0.0),
      make_float(kF64, 0),
      make_float(kF32, nan),
      make_int(kI32, 0),
      make_int(kI64, 0),
      make_int(kI64, 1),
      make_bool(false),
      logical_not(p),
  };
  for (size_t r = 0; r < exprs.size(); ++r) {
    for (size_t c = 0; c < exprs.size(); ++c) {
      EXPECT_EQ(equal(exprs[r], exprs[c]), r == c) << r << ' ' << c;
    }
  }
  EXPECT_TRUE(equal(make_float(kF32, nan), make_float(kF32, nan)));
  EXPECT_TRUE(equal(i * 4 + j, i * 4 + j));
  EXPECT_EQ(structural_hash(i * 4 + j), structural_hash(j * 4 + i));  // by order of appearance
  EXPECT_NE(structural_hash(i * 4 + j), structural_hash(i * 4 + i));
}

TEST(Equal, EveryStatementFieldCounts) {
  const Buffer a = Buffer::make("A", kF32, {64});
  const Buffer b = Buffer::make("B", kF32, {64});
  const Var i("i"), j("j");
  const Expr one = make_float(kF32, 1);
  const Expr p = lt(j, 3);
  const Stmt s = store(a, {j}, one);
  const Stmt t = store(a, {j + 1}, one);
  const std::vector<Stmt> stmts{
      s,
      t,
      store(b, {j}, one),
      store(a, {j}, -load(a, {j})),
      store(a, {j}, one, p),
      make_for(i, 0, 4, ForKind::kSerial, s),
      make_for(i, 1, 4, ForKind::kSerial, s),
      make_for(i, 0, 5, ForKind::kSerial, s),
      make_for(i, 0, 4, ForKind::kParallel, s),
      make_for(i, 0, 4, ForKind::kThread, s, ThreadTag::kBlockX),
      make_for(i, 0, 4, ForKind::kThread, s, ThreadTag::kThreadX),
      make_for(i, 0, 4, ForKind::kSerial, t),
      make_if(p, s),
      make_if(p, t),
      make_if(p, s, t),
      make_if(p, t, s),
      block({s, t}),
      block({t, s}),
      block({s, t, s}),
      no_op(),
      barrier(),
      prefetch(a, {j}),
      prefetch(b, {j}),
      prefetch(a, {j + 1}),
  };
  for (size_t r = 0; r < stmts.size(); ++r) {
    for (size_t c = 0; c < stmts.size(); ++c) {
      EXPECT_EQ(equal(stmts[r], stmts[c]), r == c) << r << ' ' << c;
    }
  }
}

TEST(Equal, HashIsStable) {
  // Stored in databases: a change of this value makes old records unreachable.
  const Buffer a = Buffer::make("A", kF32, {4});
  const Var i("i");
  const Stmt s = serial(i, 4, store(a, {i}, load(a, {i}) + make_float(kF32, 0.5)));
  EXPECT_EQ(structural_hash(s), 18197973563822281962u);
}

}  // namespace
}  // namespace tenon::ir
