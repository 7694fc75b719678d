// SPDX-License-Identifier: Apache-2.0
#include "arith/simplify.h"

#include <gtest/gtest.h>

#include "arith/linear.h"
#include "ir/build.h"
#include "ir/print.h"

namespace tenon::arith {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;

// i, j, k in 0..15, 0..15, 0..3; n in 0..; u is free.
class SimplifyTest : public ::testing::Test {
 protected:
  SimplifyTest() {
    ranges.bind(i, {0, 15});
    ranges.bind(j, {0, 15});
    ranges.bind(k, {0, 3});
    ranges.bind(n, {0, Interval::kPlusInf});
  }
  void gives(const Expr& e, const std::string& text) const {
    const Expr r = simplify(e, ranges);
    EXPECT_EQ(ir::to_string(r), text) << "from " << ir::to_string(e);
    EXPECT_TRUE(simplify(r, ranges).same_as(r)) << "not the same handle: " << text;
  }
  void keeps(const Expr& e) const {
    EXPECT_TRUE(simplify(e, ranges).same_as(e))
        << ir::to_string(e) << " became " << ir::to_string(simplify(e, ranges));
  }
  Var i{"i"}, j{"j"}, k{"k"}, n{"n"}, u{"u"}, v{"v"};
  Ranges ranges;
};

TEST_F(SimplifyTest, LinearForms) {
  gives(i * 4 + j - i * 4, "j");
  gives(i + 3 + j, "i + j + 3");
  gives((i + j) * 4 - j * 4, "i * 4");
  gives(Expr(5) - (i - 2), "7 - i");
  gives(-(i - j), "j - i");
  gives((i * 56 + (j + k)) * 56 + u, "i * 3136 + (j + k) * 56 + u");
  gives(i * u * 2 - u * i, "i * u");
  keeps(i * 16 + j);
  keeps(u - i * 3 + 2);
}

TEST_F(SimplifyTest, DivisionAndRemainder) {
  gives(floor_div(u * 16 + j, 16), "u");
  gives(floor_mod(u * 16 + j, 16), "j");
  gives(floor_div(u * 16 + v, 16), "u + v // 16");
  gives(floor_mod(u * 16 + v, 16), "v % 16");
  gives(floor_div(u * 32 + v * 16 + j, 16), "u * 2 + v");
  gives(floor_div(u * 4 + k, 16), "u // 4");
  gives(floor_mod(u * 4 + k, 16), "u % 4 * 4 + k");
  gives(floor_div(floor_div(u, 4), 8), "u // 32");
  gives(floor_mod(floor_mod(u, 32), 8), "u % 8");
  gives(floor_div(floor_mod(u, 32), 8), "u // 8 % 4");
  gives(floor_div(u, 8) * 8 + floor_mod(u, 8), "u");
  gives(u - floor_div(u, 8) * 8, "u % 8");
  gives(u - floor_mod(u, 8), "u // 8 * 8");
  gives(floor_mod(floor_div(u, 4), 8) * 4 + floor_mod(u, 4), "u % 32");
  gives(floor_div(u * 16 + j, 13) * 13 + floor_mod(u * 16 + j, 13), "u * 16 + j");
  gives(v * 169 + floor_div(u * 16 + j, 13) * 13 + floor_mod(u * 3 + j + 26, 13),
        "v * 169 + u * 16 + j");
  gives(floor_div(u, 32) * 8 + floor_mod(floor_div(u, 4), 8), "u // 4");
  gives(floor_div(i, 16), "0");
  gives(floor_div(i - 16, 16), "-1");
  gives(floor_mod(i - 16, 16), "i");
  gives(floor_div(i * 17, 16), "i");
  gives(floor_mod(u + 33, 16), "(u + 1) % 16");
  keeps(floor_div(u + 3, 16));
}

TEST_F(SimplifyTest, Comparisons) {
  gives(ir::lt(u * 4 + k, u * 4 + 4), "true");
  gives(ir::lt(u * 4 + k, u * 4), "false");
  gives(ir::lt(u * 4 + k, Expr(40)), "u < 10");
  gives(ir::lt(u * 4 + k, Expr(41)), "u * 4 + k < 41");
  gives(ir::le(u * 6, Expr(16)), "u <= 2");
  gives(ir::eq(u * 6, v * 4 + 1), "false");
  gives(ir::lt(u + 3, v + 3), "u < v");
  gives(ir::lt(Expr(0), Expr(4) - u), "u < 4");
  gives(ir::lt(floor_div(u, 4), Expr(3)), "u < 12");
  gives(ir::logical_not(ir::lt(u, v)), "v <= u");
  keeps(ir::lt(u, v + 3));
}

TEST_F(SimplifyTest, MinMaxSelect) {
  gives(ir::min(i, Expr(20)), "i");
  gives(ir::max(i * 4, Expr(-1)), "i * 4");
  gives(ir::min(ir::min(u, 9), 4), "min(u, 4)");
  gives(ir::min(u + 4, u + 5), "u + 4");
  gives(ir::select(ir::lt(i, 16), u, v), "u");
  gives(ir::select(ir::lt(u, 5), ir::min(u, 9), v), "select(u < 5, u, v)");
  gives(ir::select(ir::lt(u, 5), v, ir::max(u, 4)), "select(u < 5, v, u)");
  gives(ir::select(ir::lt(u, v), u, v), "min(u, v)");
  gives(ir::logical_and(ir::lt(u, 8), ir::lt(u, 4)), "u < 4");
  gives(ir::logical_and(ir::lt(u, 4), ir::lt(u, 8)), "u < 4");
  gives(ir::logical_or(ir::lt(u, 4), ir::lt(u, 8)), "u < 8");
  gives(ir::logical_and(ir::lt(u, 4), ir::lt(Expr(5), u)), "false");
}

TEST_F(SimplifyTest, Facts) {
  Ranges r = ranges;
  assume(ir::lt(u * 14 + v, Expr(49)), r);
  EXPECT_EQ(prove(ir::lt(u * 14 + v, Expr(50)), r), true);
  EXPECT_EQ(prove(ir::le(Expr(49), u * 14 + v), r), false);
  EXPECT_EQ(prove(ir::lt(u * 14 + v, Expr(48)), r), std::nullopt);
  assume(ir::eq(u, Expr(3)), r);
  EXPECT_EQ(r.of(u.node()), (Interval{3, 3}));
  EXPECT_EQ(r.of(v.node()).hi, Interval::kPlusInf);
  EXPECT_EQ(prove(ir::lt(v, 7), r), true);
}

TEST_F(SimplifyTest, Vectors) {
  const Expr lanes = ir::ramp(u, 1, 8);
  gives(lanes + ir::broadcast(v, 8), "ramp(u + v, 1, 8)");
  gives(ir::broadcast(v, 8) * ir::broadcast(Expr(3), 8), "broadcast(v * 3, 8)");
  gives(ir::lt(ir::ramp(0, 1, 8), ir::broadcast(Expr(8), 8)), "broadcast(true, 8)");
  gives(ir::lt(ir::ramp(k * 8, 1, 8), ir::broadcast(Expr(32), 8)), "broadcast(true, 8)");
  gives(ir::floor_mod(ir::ramp(u * 16 + k, 1, 8), Expr(16)), "ramp(k, 1, 8)");
  gives(ir::floor_div(ir::ramp(u * 16 + k, 1, 8), Expr(16)), "broadcast(u, 8)");
  gives(ir::floor_div(ir::ramp(u * 16, 16, 8), Expr(16)), "ramp(u, 1, 8)");
  gives(lanes * Expr(4) - ir::ramp(v, 4, 8), "broadcast(u * 4 - v, 8)");
  keeps(ir::lt(lanes, ir::broadcast(v, 8)));
}

}  // namespace
}  // namespace tenon::arith
