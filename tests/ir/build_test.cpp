// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/equal.h"
#include "ir/interp.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "support/rng.h"

namespace tenon::ir {
namespace {

TEST(Build, OperatorsTakeVariablesAndIntegers) {
  const Var i("i"), j("j");
  const int64_t n = 16;
  const size_t m = 3;
  const unsigned long long u = 5;
  EXPECT_EQ(to_string(i * n + j), "i * 16 + j");
  EXPECT_EQ(to_string(1 + i * (j - 2)), "1 + i * (j - 2)");
  EXPECT_EQ(to_string(floor_mod(i, m)), "i % 3");
  EXPECT_EQ(to_string(min(i, 4) / u), "min(i, 4) / 5");
  EXPECT_EQ(to_string(-i), "-i");
  EXPECT_EQ(to_string(gt(i, 2)), "2 < i");
  EXPECT_EQ(Expr(7).dtype(), kI64);
  static_assert(!std::is_constructible_v<Expr, bool>);
  static_assert(!std::is_constructible_v<Expr, double>);
}

TEST(Build, IntegerIdentitiesGiveTheOperandItself) {
  const Var i("i");
  const Expr p = lt(i, 3);
  const std::vector<std::pair<Expr, Expr>> rows{
      {i + 0, i},
      {0 + i, i},
      {i - 0, i},
      {i * 1, i},
      {1 * i, i},
      {i / 1, i},
      {floor_div(i, 1), i},
      {min(i, i), i},
      {max(i, i), i},
      {make_binary(BinaryOp::kBitOr, i, 0), i},
      {make_binary(BinaryOp::kBitXor, 0, i), i},
      {make_binary(BinaryOp::kShl, i, 0), i},
      {make_binary(BinaryOp::kShr, i, 0), i},
      {logical_and(p, make_bool(true)), p},
      {logical_and(make_bool(true), p), p},
      {logical_or(p, make_bool(false)), p},
      {logical_and(p, p), p},
      {logical_not(logical_not(p)), p},
      {select(make_bool(true), i, i + 1), i},
      {select(make_bool(false), i + 1, i), i},
      {select(p, i, i), i},
      {cast(kI64, i), i},
      {broadcast(i, 1), i},
      {ramp(i, 3, 1), i},
      {vector_reduce(BinaryOp::kAdd, i), i},
  };
  for (size_t r = 0; r < rows.size(); ++r) {
    EXPECT_TRUE(rows[r].first.same_as(rows[r].second)) << r << ": " << to_string(rows[r].first);
  }
}

TEST(Build, ConstantsFold) {
  const Var i("i");
  const Expr p = lt(i, 3);
  const auto i8 = [](int64_t v) { return make_int(kI8, v); };
  const auto u8 = [](int64_t v) { return make_int(kU8, v); };
  const std::vector<std::pair<Expr, Expr>> rows{
      {Expr(3) + 4, 7},
      {Expr(3) - 4, -1},
      {Expr(-3) * 4, -12},
      {Expr(-7) / 2, -3},
      {floor_div(-7, 2), -4},
      {floor_mod(-7, 2), 1},
      {floor_div(7, -2), -4},
      {floor_mod(7, -2), -1},
      {min(3, -4), -4},
      {max(3, -4), 3},
      {i * 0, 0},
      {0 * i, 0},
      {i - i, 0},
      {floor_mod(i, 1), 0},
      {eq(i, i), make_bool(true)},
      {ne(i, i), make_bool(false)},
      {lt(i, i), make_bool(false)},
      {le(i, i), make_bool(true)},
      {lt(3, 4), make_bool(true)},
      {le(5, 4), make_bool(false)},
      {eq(4, 4), make_bool(true)},
      {ge(5, 4), make_bool(true)},
      {gt(4, 4), make_bool(false)},
      {logical_and(p, make_bool(false)), make_bool(false)},
      {logical_or(make_bool(true), p), make_bool(true)},
      {logical_not(make_bool(true)), make_bool(false)},
      {i8(127) + i8(1), i8(-128)},
      {i8(-128) / i8(-1), i8(-128)},
      {u8(3) - u8(5), u8(254)},
      {lt(u8(200), u8(100)), make_bool(false)},
      {lt(make_int(kU64, -1), make_int(kU64, 1)), make_bool(false)},
      {max(make_int(kU64, -1), make_int(kU64, 1)), make_int(kU64, -1)},
      {make_int(kU64, -1) / make_int(kU64, 2), make_int(kU64, std::numeric_limits<int64_t>::max())},
      {-i8(-128), i8(-128)},
      {bit_not(u8(1)), u8(254)},
      {-make_float(kF32, 2), make_float(kF32, -2)},
      {make_binary(BinaryOp::kShr, i8(-8), i8(1)), i8(-4)},
      {make_binary(BinaryOp::kShr, u8(248), u8(1)), u8(124)},
      {make_binary(BinaryOp::kShl, u8(200), u8(1)), u8(144)},
      {cast(kI8, 200), i8(-56)},
      {cast(kF32, 3), make_float(kF32, 3)},
      {cast(kBool, 2), make_bool(true)},
      {cast(kI32, make_float(kF32, -1.9)), make_int(kI32, -1)},
      {cast(kF32, make_int(kU64, -1)), make_float(kF32, 0x1.0p64)},
      {cast(kF32, make_int(kI64, (int64_t{1} << 60) + (int64_t{1} << 36) + 1)),
       make_float(kF32, 0x1.000002p60)},  // by way of double it would round down
      {broadcast(3, 4) + broadcast(4, 4), broadcast(7, 4)},
      {ramp(i, 1, 4) * 0, broadcast(0, 4)},
      {cast(kI8, broadcast(200, 4)), broadcast(i8(-56), 4)},
  };
  for (size_t r = 0; r < rows.size(); ++r) {
    EXPECT_TRUE(equal(rows[r].first, rows[r].second))
        << r << ": " << to_string(rows[r].first) << " instead of " << to_string(rows[r].second);
  }
}

// A random integer expression over i and j; every intermediate type occurs.
Expr random_expr(Rng& rng, const Var& i, const Var& j, DType t, int depth) {
  const auto sub = [&](DType of) { return random_expr(rng, i, j, of, depth - 1); };
  if (depth == 0 || rng.chance(0.1)) {
    return rng.chance(0.5) ? make_int(t, rng.between(-3, 3)) : cast(t, rng.chance(0.5) ? i : j);
  }
  const DType other = rng.pick<DType>({kI8, kU8, kI16, kU32, kI64, kU64});
  switch (rng.between(0, 9)) {
    case 0:
      return cast(t, sub(other));
    case 1:
      return -sub(t);
    case 2:
      return select(lt(sub(other), sub(other)), sub(t), sub(t));
    case 3:
      return select(logical_and(eq(sub(t), sub(t)), le(sub(other), sub(other))), sub(t), sub(t));
    case 4:
      return floor_div(sub(t), make_int(t, rng.between(1, 5)));
    case 5:
      return floor_mod(sub(t), make_int(t, rng.between(1, 5)));
    default:
      return make_binary(rng.pick<BinaryOp>({BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,
                                             BinaryOp::kMin, BinaryOp::kMax, BinaryOp::kBitAnd,
                                             BinaryOp::kBitOr, BinaryOp::kBitXor}),
                         sub(t), sub(t));
  }
}

TEST(Build, FoldingAgreesWithTheInterpreter) {
  const Var i("i"), j("j");
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    const Expr e = random_expr(rng, i, j, kI32, 5);
    const int64_t x = rng.between(-300, 300);
    const int64_t y = rng.between(-3, 3);
    const Expr folded = substitute(e, {{i.node(), x}, {j.node(), y}});
    ASSERT_TRUE(const_int(folded).has_value()) << "seed " << seed << ": " << to_string(e);
    ASSERT_EQ(*const_int(folded), eval(e, {{i.node(), x}, {j.node(), y}}).i)
        << "seed " << seed << ": " << to_string(e) << " with i = " << x << ", j = " << y;
  }
}

TEST(Build, WhatIsUndefinedOrAFloatDoesNotFold) {
  const Var i("i");
  const Buffer a = Buffer::make("A", kF32, {4});
  const Expr x = load(a, {i});
  const Expr zero = make_float(kF32, 0);
  for (const Expr& e : {Expr(1) / 0, floor_div(1, 0), floor_mod(1, 0), x + zero, x * zero, x - x,
                        eq(x, x), zero + zero, make_binary(BinaryOp::kShl, 1, 64)}) {
    EXPECT_NE(e.as<Binary>(), nullptr) << to_string(e);
  }
}

TEST(Build, ScalarsAreBroadcastToTheOtherOperand) {
  const Var i("i");
  const Buffer a = Buffer::make("A", kF32, {16});
  const Expr lanes = ramp(0, 1, 4);
  const Expr v = load(a, {lanes});
  EXPECT_EQ(to_string(v * load(a, {i})), "A[ramp(0, 1, 4)] * broadcast(A[i], 4)");
  EXPECT_EQ(lt(lanes, i).dtype(), kBool.with_lanes(4));
  EXPECT_EQ(select(lt(i, 3), v, make_float(kF32, 0)).as<Select>()->condition.dtype(),
            kBool.with_lanes(4));
  EXPECT_EQ(select(lt(lanes, 3), load(a, {i}), make_float(kF32, 0)).dtype(), kF32.with_lanes(4));
  EXPECT_EQ(select(lt(i, 3), load(a, {i}), v).dtype(), kF32.with_lanes(4));
  EXPECT_EQ(call(Intrinsic::kPow, {load(a, {i}), v}).dtype(), kF32.with_lanes(4));
  EXPECT_EQ(call(Intrinsic::kIsNan, {v}).dtype(), kBool.with_lanes(4));
  EXPECT_EQ(cast(kI32, v).dtype(), kI32.with_lanes(4));
  EXPECT_EQ(to_string(store(a, {lanes}, make_float(kF32, 1), lt(i, 3))),
            "A[ramp(0, 1, 4)] = broadcast(1.0, 4) if broadcast(i < 3, 4)\n");
}

TEST(Build, ConstantPredicatesAndConditionsVanish) {
  const Var i("i");
  const Buffer a = Buffer::make("A", kF32, {16});
  const Stmt s = store(a, {i}, make_float(kF32, 1));
  const Stmt t = store(a, {i}, make_float(kF32, 2));
  EXPECT_FALSE(load(a, {i}, make_bool(true)).as<Load>()->predicate.defined());
  EXPECT_EQ(to_string(load(a, {ramp(0, 1, 4)}, make_bool(false))), "broadcast(0.0, 4)");
  EXPECT_TRUE(is_no_op(store(a, {i}, make_float(kF32, 1), make_bool(false))));
  EXPECT_TRUE(make_if(make_bool(true), s, t).same_as(s));
  EXPECT_TRUE(make_if(make_bool(false), s, t).same_as(t));
  EXPECT_TRUE(is_no_op(make_if(make_bool(false), s)));
}

TEST(Build, BlocksFlatten) {
  const Stmt s = barrier();
  EXPECT_TRUE(block({s}).same_as(s));
  EXPECT_TRUE(block({no_op(), s, no_op()}).same_as(s));
  EXPECT_TRUE(is_no_op(block({})));
  EXPECT_TRUE(is_no_op(block({no_op(), block({})})));
  EXPECT_EQ(block({s, block({s, block({s, s})}), s}).as<Block>()->stmts.size(), 5u);
}

TEST(Build, RefusesWhatDoesNotFit) {
  const Var i("i");
  const Buffer a = Buffer::make("A", kF32, {4, 4});
  const Expr x = load(a, {0, 0});
  const Expr v2 = broadcast(x, 2);
  const Expr v4 = broadcast(x, 4);
  const Expr p = lt(i, 3);
  EXPECT_THROW(x + i, InternalError);
  EXPECT_THROW(v2 + v4, InternalError);
  EXPECT_THROW(floor_div(x, x), InternalError);
  EXPECT_THROW(logical_and(i, i), InternalError);
  EXPECT_THROW(logical_not(i), InternalError);
  EXPECT_THROW(p + p, InternalError);
  EXPECT_THROW(-p, InternalError);
  EXPECT_THROW(bit_not(x), InternalError);
  EXPECT_THROW(select(i, x, x), InternalError);
  EXPECT_THROW(select(p, x, i), InternalError);
  EXPECT_THROW(call(Intrinsic::kExp, {i}), InternalError);
  EXPECT_THROW(call(Intrinsic::kPow, {x}), InternalError);
  EXPECT_THROW(load(a, {0, 0, 0}), InternalError);
  EXPECT_THROW(load(a, {x, 0}), InternalError);
  EXPECT_THROW(load(a, {ramp(0, 1, 2), ramp(0, 1, 4)}), InternalError);
  EXPECT_THROW(load(a, {0, 0}, i), InternalError);
  EXPECT_THROW(store(a, {0, 0}, i), InternalError);
  EXPECT_THROW(store(a, {0, 0}, v2), InternalError);
  EXPECT_THROW(broadcast(v2, 2), InternalError);
  EXPECT_THROW(ramp(x, x, 4), InternalError);
  EXPECT_THROW(vector_reduce(BinaryOp::kSub, v2), InternalError);
  EXPECT_THROW(vector_reduce(BinaryOp::kAdd, v2, 3), InternalError);
  EXPECT_TRUE(vector_reduce(BinaryOp::kAdd, v2, 2).same_as(v2));
  EXPECT_THROW(make_if(x, no_op()), InternalError);
  EXPECT_THROW(make_for(i, 0, make_int(kI32, 4), ForKind::kSerial, no_op()), InternalError);
  EXPECT_THROW(make_for(i, 0, 4, ForKind::kThread, no_op()), InternalError);
  EXPECT_THROW(make_for(i, 0, 4, ForKind::kSerial, no_op(), ThreadTag::kThreadX), InternalError);
  EXPECT_THROW(identity_of(BinaryOp::kSub, kF32), InternalError);
  EXPECT_THROW(make_binary(BinaryOp::kMaximum, i, i), InternalError);
  EXPECT_THROW(Buffer::make("B", kF32, {4, 0}), InternalError);
  EXPECT_THROW(Buffer::make("B", kF32.with_lanes(4), {4}), InternalError);
}

TEST(Build, Identities) {
  const std::vector<std::pair<Expr, std::string>> rows{
      {identity_of(BinaryOp::kAdd, kF32), "0.0"},
      {identity_of(BinaryOp::kMul, kI8), "i8(1)"},
      {identity_of(BinaryOp::kMul, kBF16), "bf16(1.0)"},
      {identity_of(BinaryOp::kMax, kF32), "-inf"},
      {identity_of(BinaryOp::kMin, kF32), "inf"},
      {identity_of(BinaryOp::kMaximum, kF32), "-inf"},
      {identity_of(BinaryOp::kMinimum, kF16), "f16(inf)"},
      {identity_of(BinaryOp::kMax, kI8), "i8(-128)"},
      {identity_of(BinaryOp::kMin, kU8), "u8(255)"},
      {identity_of(BinaryOp::kMax, kU64), "u64(0)"},
      {identity_of(BinaryOp::kMin, kU64), "u64(18446744073709551615)"},
      {identity_of(BinaryOp::kAnd, kBool), "true"},
      {identity_of(BinaryOp::kOr, kBool), "false"},
  };
  for (const auto& [e, text] : rows) {
    EXPECT_EQ(to_string(e), text);
  }
}

TEST(Build, ConstantsOfEveryClass) {
  EXPECT_EQ(to_string(make_const(kI32, 3)), "i32(3)");
  EXPECT_EQ(to_string(make_const(kF32, 0.5)), "0.5");
  EXPECT_EQ(to_string(make_const(kBool, 1)), "true");
  EXPECT_EQ(to_string(zero_of(kF16.with_lanes(8))), "broadcast(f16(0.0), 8)");
  EXPECT_EQ(const_int(broadcast(5, 4)), 5);
  EXPECT_EQ(const_int(make_float(kF32, 5)), std::nullopt);
  EXPECT_EQ(const_int(Expr()), std::nullopt);
  EXPECT_FALSE(is_const_true(Expr(1)));  // not a bool
}

TEST(Build, Intrinsics) {
  EXPECT_EQ(parse_intrinsic("tanh"), Intrinsic::kTanh);
  EXPECT_EQ(parse_intrinsic("fma"), Intrinsic::kFma);
  EXPECT_EQ(parse_intrinsic("gamma"), std::nullopt);
  EXPECT_EQ(arity(Intrinsic::kPow), 2);
  for (int k = 0; k <= static_cast<int>(Intrinsic::kFma); ++k) {
    const auto fn = static_cast<Intrinsic>(k);
    EXPECT_EQ(parse_intrinsic(to_string(fn)), fn);
  }
}

}  // namespace
}  // namespace tenon::ir
