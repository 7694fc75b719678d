// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/build.h"

namespace tenon::ir {
namespace {

TEST(Print, Expressions) {
  const Var i("i"), j("j");
  const Buffer a = Buffer::make("A", kF32, {8, 8});
  const Buffer n = Buffer::make("N", kI32, {8});
  const Expr x = load(a, {i, j + 1});
  const Expr one = make_float(kF32, 1);
  const Expr lanes = ramp(i * 4, 1, 4);
  const Expr p = lt(i, j);
  const std::vector<std::pair<Expr, std::string>> rows{
      {i + j * 2 - 3, "i + j * 2 - 3"},
      {(i + j) * 2, "(i + j) * 2"},
      {i - (j - 3), "i - (j - 3)"},
      {i - j - 3, "i - j - 3"},
      {floor_div(i * 2, j), "i * 2 // j"},
      {i * floor_div(j, 2), "i * (j // 2)"},
      {floor_mod(i + 1, 7), "(i + 1) % 7"},
      {x / one, "A[i, j + 1] / 1.0"},
      {min(i, max(j, 0)), "min(i, max(j, 0))"},
      {-(i + j), "-(i + j)"},
      {-x * one, "-A[i, j + 1] * 1.0"},
      {logical_and(p, logical_or(eq(i, 0), ne(j, 1))), "i < j and (i == 0 or j != 1)"},
      {logical_not(p), "not (i < j)"},
      {eq(p, le(i, 2)), "(i < j) == (i <= 2)"},
      {ge(i, j), "j <= i"},
      {select(p, x, one), "select(i < j, A[i, j + 1], 1.0)"},
      {cast(kF16, x), "f16(A[i, j + 1])"},
      {cast(kI32, i) + make_int(kI32, -7), "i32(i) + i32(-7)"},
      {bit_not(load(n, {i})), "~N[i]"},
      {make_binary(BinaryOp::kShl, load(n, {i}), make_int(kI32, 2)), "N[i] << i32(2)"},
      {make_binary(BinaryOp::kBitAnd, i + 1, make_binary(BinaryOp::kBitOr, j, 2)),
       "i + 1 & (j | 2)"},
      {call(Intrinsic::kPow, {x, one}), "pow(A[i, j + 1], 1.0)"},
      {call(Intrinsic::kIsNan, {x}), "isnan(A[i, j + 1])"},
      {load(a, {i, lanes}), "A[i, ramp(i * 4, 1, 4)]"},
      {load(a, {i, lanes}, lt(lanes, 7)),
       "(A[i, ramp(i * 4, 1, 4)] if ramp(i * 4, 1, 4) < broadcast(7, 4))"},
      {broadcast(one, 4), "broadcast(1.0, 4)"},
      {vector_reduce(BinaryOp::kAdd, load(a, {0, lanes})), "reduce_sum(A[0, ramp(i * 4, 1, 4)])"},
      {vector_reduce(BinaryOp::kMax, lanes), "reduce_max(ramp(i * 4, 1, 4))"},
      {vector_reduce(BinaryOp::kAdd, lanes, 2), "reduce_sum(ramp(i * 4, 1, 4), 2)"},
      {make_bool(true), "true"},
      {make_int(kU64, -1), "u64(18446744073709551615)"},
      {make_float(kF32, 0.1), "0.1"},
      {make_float(kF64, 0.1), "f64(0.1)"},
      {make_float(kF16, 0.1), "f16(0.099975586)"},
      {make_float(kF32, 1e30), "1e+30"},
      {make_float(kF32, -std::numeric_limits<double>::infinity()), "-inf"},
      {make_float(kF32, std::numeric_limits<double>::quiet_NaN()), "nan"},
      {Expr(), "undefined"},
  };
  for (const auto& [e, text] : rows) {
    EXPECT_EQ(to_string(e), text);
  }
}

TEST(Print, Function) {
  const Buffer a = Buffer::make("A", kF32, {4, 8});
  const Buffer b = Buffer::make("B", kF32, {4});
  const Buffer t = Buffer::make_strided("T", kF32, {4, 8}, {12, 1}, Scope::kShared);
  const Var i("i"), j("j"), bx("bx"), tx("tx"), v("v"), m("m");
  const Stmt fill =
      make_for(j, 0, 8, ForKind::kVectorized, store(t, {i, j}, load(a, {i, j}), lt(j, 7)));
  const Stmt sum = make_if(lt(i, 3), store(b, {i}, load(t, {i, 0})),
                           block({store(b, {i}, make_float(kF32, 0)), no_op()}));
  const Stmt low = make_for(m, i, 4 - i, ForKind::kUnrolled, prefetch(a, {m, 0}));
  const Stmt nest = make_for(i, 1, 3, ForKind::kSerial, block({fill, barrier(), sum, low}));
  const Stmt threads = make_for(tx, 0, 2, ForKind::kThread, nest, ThreadTag::kThreadX);
  const Stmt virtuals = make_for(v, 0, 2, ForKind::kThread, threads, ThreadTag::kVThread);
  const Stmt body = make_for(bx, 0, 2, ForKind::kThread, allocate(t, virtuals), ThreadTag::kBlockY);
  EXPECT_EQ(to_string(Function{"kernel", {a, b}, 1, body}),
            R"(func kernel(A: f32[4, 8]) -> (B: f32[4]) {
  for bx in 0..2 block.y {
    allocate T: f32[4, 8] strides [12, 1] shared {
      for v in 0..2 vthread {
        for tx in 0..2 thread.x {
          for i in 1..4 {
            for j in 0..8 vectorized {
              T[i, j] = A[i, j] if j < 7
            }
            barrier
            if i < 3 {
              B[i] = T[i, 0]
            } else {
              B[i] = 0.0
            }
            for m in i..i + (4 - i) unrolled {
              prefetch A[m, 0]
            }
          }
        }
      }
    }
  }
}
)");
}

TEST(Print, EqualNamesGetSuffixesInOrderOfAppearance) {
  const Buffer a = Buffer::make("A", kF32, {4});
  const Buffer b = Buffer::make("A", kF32, {4});
  const Buffer c = Buffer::make("A_1", kF32, {4});
  const Var i("i"), k("i");
  const Stmt body = store(b, {k}, load(a, {i}) + load(c, {i}));
  const Stmt s = make_for(i, 0, 4, ForKind::kParallel, make_for(k, 0, 4, ForKind::kSerial, body));
  EXPECT_EQ(to_string(s),
            "for i in 0..4 parallel {\n"
            "  for i_1 in 0..4 {\n"
            "    A[i_1] = A_1[i] + A_1_1[i]\n"
            "  }\n"
            "}\n");
}

TEST(Print, FunctionWithoutInputs) {
  const Buffer a = Buffer::make("A", kI8, {});
  EXPECT_EQ(to_string(Function{"f", {a}, 0, store(a, {}, make_int(kI8, 3))}),
            "func f() -> (A: i8[]) {\n  A[] = i8(3)\n}\n");
  EXPECT_EQ(to_string(no_op()), "");
}

}  // namespace
}  // namespace tenon::ir
