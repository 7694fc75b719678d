// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "arith/random_expr.h"
#include "arith/simplify.h"
#include "ir/interp.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/visit.h"

namespace tenon::arith {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::ForKind;
using ir::Stmt;
using ir::Var;

class SimplifyStmtTest : public ::testing::Test {
 protected:
  static Stmt loop(const Var& v, const Expr& extent, const Stmt& body,
                   ForKind kind = ForKind::kSerial) {
    return ir::make_for(v, 0, extent, kind, body);
  }
  Stmt put(const Expr& at, const Expr& value) const { return ir::store(a, {at}, value); }
  static void gives(const Stmt& s, const std::string& text) {
    const Stmt r = simplify(s);
    EXPECT_EQ(ir::to_string(r), text);
    EXPECT_TRUE(simplify(r).same_as(r));
  }
  Var i{"i"}, j{"j"};
  Buffer a = Buffer::make("A", ir::kI64, {64});
};

TEST_F(SimplifyStmtTest, LoopsGiveRanges) {
  gives(loop(i, 4, loop(j, 16, put(i * 16 + j, ir::floor_div(i * 16 + j, 16)))),
        "for i in 0..4 {\n  for j in 0..16 {\n    A[i * 16 + j] = i\n  }\n}\n");
  const Stmt good = loop(i, 4, put(i, i));
  EXPECT_TRUE(simplify(good).same_as(good));
}

TEST_F(SimplifyStmtTest, LoopsOfOneIterationGo) {
  gives(loop(i, 1, loop(j, 4, put(i * 4 + j, i + j))), "for j in 0..4 {\n  A[j] = j\n}\n");
  gives(loop(j, 4, ir::make_for(i, j * 2, 1, ForKind::kParallel, put(i, i + 1))),
        "for j in 0..4 {\n  A[j * 2] = j * 2 + 1\n}\n");
  const Stmt thread = ir::make_for(i, 0, 1, ForKind::kThread, put(i, 3), ir::ThreadTag::kThreadX);
  EXPECT_EQ(simplify(thread).kind(), ir::StmtKind::kFor);
}

// However deep an expression is, the variable of a loop that goes is replaced everywhere in it.
TEST_F(SimplifyStmtTest, LoopsOfOneIterationGoFromDeepExpressions) {
  const Buffer x = Buffer::make("X", ir::kF32, {64});
  const Buffer y = Buffer::make("Y", ir::kF32, {64});
  Expr sum = ir::load(x, {i});
  for (int n = 0; n < 1000; ++n) sum = sum + ir::load(x, {i + j});
  const Stmt s = simplify(loop(i, 1, loop(j, 4, ir::store(y, {j}, sum))));
  EXPECT_FALSE(ir::uses_var(s, i.node()));
}

TEST_F(SimplifyStmtTest, DeadCodeGoes) {
  EXPECT_TRUE(ir::is_no_op(simplify(loop(i, 0, put(i, 1)))));
  EXPECT_TRUE(ir::is_no_op(simplify(loop(i, 4, ir::make_if(ir::lt(i, Expr(0)), put(i, 1))))));
  EXPECT_TRUE(ir::is_no_op(simplify(ir::allocate(a, loop(i, 4, ir::no_op())))));
  gives(loop(i, 4, ir::make_if(ir::lt(i, Expr(9)), put(i, 1), put(i, 2))),
        "for i in 0..4 {\n  A[i] = 1\n}\n");
  gives(loop(i, 4, ir::make_if(ir::lt(i, Expr(2)), ir::no_op(), put(i, 2))),
        "for i in 0..4 {\n  if 2 <= i {\n    A[i] = 2\n  }\n}\n");
}

TEST_F(SimplifyStmtTest, ConditionsHoldInTheirBranches) {
  gives(loop(i, 9, ir::make_if(ir::lt(i, Expr(4)), put(i, ir::min(i, 5)), put(i, ir::max(i, 3)))),
        "for i in 0..9 {\n  if i < 4 {\n    A[i] = i\n  } else {\n    A[i] = i\n  }\n}\n");
}

// The guard of a tail that the loop bound already expresses.
TEST_F(SimplifyStmtTest, VariableExtents) {
  const Expr at = i * 14 + j;
  gives(loop(i, 4,
             loop(j, ir::min(Expr(14), Expr(49) - i * 14),
                  ir::make_if(ir::lt(at, Expr(49)), put(at, ir::floor_div(at, 49))))),
        "for i in 0..4 {\n  for j in 0..min(14, 49 - i * 14) {\n    A[i * 14 + j] = 0\n  }\n}\n");
}

TEST_F(SimplifyStmtTest, PredicatesAreDecided) {
  const Expr lanes = ir::ramp(i * 8, 1, 8);
  gives(loop(i, 4,
             ir::store(a, {lanes}, ir::broadcast(i, 8), ir::lt(lanes, ir::broadcast(Expr(32), 8)))),
        "for i in 0..4 {\n  A[ramp(i * 8, 1, 8)] = broadcast(i, 8)\n}\n");
}

// ---- random programs -----------------------------------------------------------------------------

// Loops and guards around A[e mod n] = A[e mod n]*3 + e', and guarded loads from B.
class RandomProgram {
 public:
  explicit RandomProgram(Rng& rng) : rng_(rng), random_(rng, 0) {}

  ir::Function make() {
    const Var z("z");
    const Stmt clear = ir::make_for(z, 0, kSize, ForKind::kSerial, ir::store(a_, {z}, z));
    return {"f", {b_, a_}, 1, ir::block({clear, stmt(4)})};
  }

 private:
  static constexpr int64_t kSize = 13;

  Stmt stmt(int depth) {
    if (depth == 0) {
      return update();
    }
    switch (rng_.between(0, 6)) {
      case 0:
      case 1:
      case 2:
        return loop(depth);
      case 3:
        return ir::make_if(random_.condition(3), stmt(depth - 1));
      case 4:
        return ir::make_if(random_.condition(3), stmt(depth - 1), stmt(depth - 1));
      case 5:
        return ir::block({stmt(depth - 1), stmt(depth - 1)});
      default:
        return update();
    }
  }

  Stmt loop(int depth) {
    const Var v(std::string(1, static_cast<char>('i' + names_++ % 8)));
    const Expr min = rng_.chance(0.6) ? Expr(0) : random_.index(1);
    Expr extent = Expr(rng_.between(0, 5));
    if (rng_.chance(0.4)) {
      extent = ir::min(extent, random_.index(2));
    }
    random_.push(v);
    Stmt body = stmt(depth - 1);
    random_.pop();
    return ir::make_for(v, min, extent, ForKind::kSerial, body);
  }

  Stmt update() {
    const Expr at = ir::floor_mod(random_.index(3), Expr(kSize));
    Expr value = random_.index(4);
    if (rng_.chance(0.5)) {
      const Expr from = random_.index(3);
      const Expr inside = ir::logical_and(ir::le(Expr(0), from), ir::lt(from, Expr(kSize)));
      value = value + ir::select(inside, ir::load(b_, {from}), Expr(0));
    }
    return ir::store(a_, {at}, ir::floor_mod(ir::load(a_, {at}) * 3 + value, Expr(1000003)));
  }

  Rng& rng_;
  RandomExpr random_;
  int names_ = 0;
  Buffer a_ = Buffer::make("A", ir::kI64, {kSize});
  Buffer b_ = Buffer::make("B", ir::kI64, {kSize});
};

std::vector<int64_t> run(const ir::Function& f) {
  std::vector<ir::Array> args;
  for (const Buffer& b : f.params) {
    args.emplace_back(b.dtype(), b.shape());
  }
  for (int64_t i = 0; i < args[0].elements(); ++i) {
    args[0].set(i, {i * 7 + 1, 0});
  }
  ir::interpret(f, args);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < args[1].elements(); ++i) {
    out.push_back(args[1].get(i).i);
  }
  return out;
}

TEST(SimplifyStmtFuzz, InterpreterAgrees) {
  constexpr uint64_t kSeed = 99;
  for (uint64_t seed = kSeed; seed < kSeed + 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const ir::Function before = RandomProgram(rng).make();
    ir::Function after = before;
    after.body = simplify(before.body);
    ASSERT_NO_THROW(ir::verify(after, ir::Dialect::kLoops)) << ir::to_string(after);
    ASSERT_EQ(run(before), run(after)) << ir::to_string(before) << ir::to_string(after);
    const Stmt again = simplify(after.body);
    ASSERT_TRUE(again.same_as(after.body)) << ir::to_string(after) << ir::to_string(again);
  }
}

}  // namespace
}  // namespace tenon::arith
