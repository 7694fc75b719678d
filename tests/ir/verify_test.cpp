// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace tenon::ir {
namespace {

class Verify : public ::testing::Test {
 protected:
  // The offence, or "" if the program is fine.
  std::string offence(const Stmt& body, Dialect d = Dialect::kLoops) const {
    return offence(Function{"f", {a, b}, 1, body}, d);
  }
  static std::string offence(const Function& f, Dialect d = Dialect::kLoops) {
    try {
      verify(f, d);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "";
  }
  Stmt loop(Stmt body, ForKind kind = ForKind::kSerial) const {
    return make_for(i, 0, 4, kind, std::move(body));
  }

  const Buffer a = Buffer::make("A", kF32, {4, 4});
  const Buffer b = Buffer::make("B", kF32, {4});
  const Var i = Var("i"), j = Var("j");
  const Expr one = make_float(kF32, 1);
  const Stmt set = store(b, {i}, one);
};

#define EXPECT_OFFENCE(what, text)                                  \
  do {                                                              \
    const std::string got = (what);                                 \
    EXPECT_NE(got.find(text), std::string::npos) << "got: " << got; \
  } while (false)

TEST_F(Verify, AcceptsGoodPrograms) {
  const Stmt copy = store(b, {i}, load(a, {i, 3 - i}));
  EXPECT_EQ(offence(loop(copy)), "");
  EXPECT_EQ(offence(loop(copy, ForKind::kParallel)), "");
  EXPECT_EQ(offence(loop(copy, ForKind::kVectorized)), "");
  const Expr lanes = ramp(0, 1, 4);
  EXPECT_EQ(offence(store(b, {lanes}, one, lt(lanes, 3)), Dialect::kVectors), "");
  EXPECT_EQ(offence(store(b, {lanes}, load(a, {ramp(0, 5, 4)})), Dialect::kFlat), "");
  EXPECT_EQ(offence(loop(set, ForKind::kUnrolled), Dialect::kVectors), "");
  EXPECT_EQ(offence(loop(set, ForKind::kVectorized), Dialect::kFlatLoops), "");
}

TEST_F(Verify, Names) {
  EXPECT_OFFENCE(offence(set), "variable i is used outside of its loop");
  EXPECT_OFFENCE(offence(block({loop(set), set})), "variable i is used outside of its loop");
  EXPECT_OFFENCE(offence(make_for(i, 0, i, ForKind::kSerial, no_op())), "outside of its loop");
  EXPECT_OFFENCE(offence(loop(loop(set))), "variable i is bound twice");
  EXPECT_OFFENCE(offence(block({loop(set), loop(set)})), "variable i is bound twice");
  const Buffer t = Buffer::make("T", kF32, {4});
  EXPECT_OFFENCE(offence(store(t, {0}, one)), "buffer T is neither a parameter nor allocated");
  EXPECT_OFFENCE(offence(store(b, {0}, load(t, {0}))), "buffer T is neither");
  EXPECT_OFFENCE(offence(prefetch(t, {0})), "buffer T is neither");
  EXPECT_OFFENCE(offence(allocate(t, allocate(t, no_op()))), "buffer T already exists");
  EXPECT_OFFENCE(offence(allocate(b, no_op())), "buffer B already exists");
  EXPECT_OFFENCE(offence(block({allocate(t, no_op()), prefetch(t, {0})})), "buffer T is neither");
  EXPECT_OFFENCE(offence(store(a, {0, 0}, one)), "input A is stored to");
}

TEST_F(Verify, Functions) {
  EXPECT_OFFENCE(offence(Function{"f", {a, b}, 1, Stmt()}), "has no body");
  EXPECT_OFFENCE(offence(Function{"f", {a, b}, 3, no_op()}), "3 inputs and 2 parameters");
  EXPECT_OFFENCE(offence(Function{"f", {a, a}, 1, no_op()}), "parameter A appears twice");
  EXPECT_OFFENCE(offence(Function{"f", {Buffer()}, 1, no_op()}), "parameter 0 is undefined");
  const Buffer local = Buffer::make("L", kF32, {4}, Scope::kLocal);
  EXPECT_OFFENCE(offence(Function{"f", {local}, 1, no_op()}), "parameter L is not global");
}

// Nodes made by hand, because the builders refuse them.
TEST_F(Verify, Types) {
  const auto value = [&](const ExprNode* n) {
    return offence(Stmt(new Store(b, {Expr(0)}, Expr(n))), Dialect::kVectors);
  };
  const Expr f = load(b, {0});
  const Expr x2 = broadcast(one, 2);
  const Expr c = make_bool(true);
  EXPECT_OFFENCE(value(new Binary(BinaryOp::kAdd, f, Expr(1))), "operand types differ");
  EXPECT_OFFENCE(value(new Binary(BinaryOp::kFloorDiv, f, f)), "// does not take f32");
  EXPECT_OFFENCE(value(new Binary(BinaryOp::kAnd, f, f)), "and does not take f32");
  EXPECT_OFFENCE(value(new Binary(BinaryOp::kBitXor, f, f)), "^ does not take f32");
  EXPECT_OFFENCE(value(new Binary(BinaryOp::kAdd, c, c)), "+ does not take bool");
  EXPECT_OFFENCE(value(new Unary(UnaryOp::kNot, f)), "operand of type f32");
  EXPECT_OFFENCE(value(new Unary(UnaryOp::kBitNot, f)), "operand of type f32");
  EXPECT_OFFENCE(value(new Unary(UnaryOp::kNeg, c)), "operand of type bool");
  EXPECT_OFFENCE(value(new Select(f, f, f)), "condition of type f32");
  EXPECT_OFFENCE(value(new Select(c, f, Expr(1))), "operand types differ");
  EXPECT_OFFENCE(value(new Select(c, x2, x2)), "condition of type bool");
  EXPECT_OFFENCE(value(new Cast(kF32.with_lanes(4), x2)), "lanes differ");
  EXPECT_OFFENCE(value(new Call(Intrinsic::kPow, {f})), "wrong number of arguments");
  EXPECT_OFFENCE(value(new Call(Intrinsic::kExp, {Expr(1)})), "exp does not take i64");
  EXPECT_OFFENCE(value(new Call(Intrinsic::kPow, {f, x2})), "operand types differ");
  EXPECT_OFFENCE(value(new Broadcast(x2, 4)), "operand types differ");
  EXPECT_OFFENCE(value(new Broadcast(one, 1)), "fewer than two lanes");
  EXPECT_OFFENCE(value(new Ramp(one, one, 4)), "operand types differ");
  EXPECT_OFFENCE(value(new VectorReduce(BinaryOp::kAdd, one)), "wrong lanes");
  EXPECT_OFFENCE(value(new VectorReduce(BinaryOp::kAdd, x2, 2)), "wrong lanes");
  EXPECT_OFFENCE(value(new VectorReduce(BinaryOp::kAdd, broadcast(f, 6), 4)), "wrong lanes");
  EXPECT_OFFENCE(value(new VectorReduce(BinaryOp::kSub, x2)), "cannot reduce f32x2 by -");
  EXPECT_OFFENCE(value(new IntImm(kI8, 128)), "constant 128 does not fit i8");
  EXPECT_OFFENCE(value(new IntImm(kF32, 1)), "an integer constant of type f32");
  EXPECT_OFFENCE(value(new FloatImm(kF32, 0.1)), "is not rounded to f32");
  EXPECT_OFFENCE(value(new Load(b, {one}, Expr())), "an index of B is not i64");
  EXPECT_OFFENCE(value(new Load(a, {Expr(0), Expr(0), Expr(0)}, Expr())), "given 3 indices");
  EXPECT_OFFENCE(value(new Load(a, {ramp(0, 1, 2), ramp(0, 1, 4)}, Expr())), "differ in lanes");
  EXPECT_OFFENCE(value(new Load(b, {ramp(0, 1, 2)}, c)), "predicate of an access to B");
  EXPECT_OFFENCE(value(new IntImm(kI32, 1)), "a value of type i32 is stored to f32");
  EXPECT_OFFENCE(offence(Stmt(new Store(b, {Expr(0)}, x2)), Dialect::kVectors),
                 "stored to f32 in B");
  EXPECT_OFFENCE(offence(Stmt(new If(one, no_op()))), "condition of type f32");
  EXPECT_OFFENCE(offence(Stmt(new Store(b, {Expr(0)}, Expr()))), "undefined expression");
  EXPECT_OFFENCE(offence(Stmt(new Block({Stmt()}))), "undefined statement");
}

TEST_F(Verify, Loops) {
  const auto by_hand = [&](Expr min, Expr extent, ForKind kind, ThreadTag tag) {
    return offence(Stmt(new For(i, std::move(min), std::move(extent), kind, no_op(), tag)));
  };
  const Expr i32 = make_int(kI32, 4);
  EXPECT_OFFENCE(by_hand(0, i32, ForKind::kSerial, ThreadTag::kNone), "loop i is not over i64");
  EXPECT_OFFENCE(by_hand(0, 4, ForKind::kSerial, ThreadTag::kThreadX), "thread tags belong");
  EXPECT_OFFENCE(by_hand(0, 4, ForKind::kThread, ThreadTag::kNone), "thread tags belong");
  const Stmt open = make_for(i, 0, j, ForKind::kUnrolled, no_op());
  EXPECT_OFFENCE(offence(make_for(j, 0, 4, ForKind::kSerial, open)), "needs a constant extent");
  const auto inside = [&](ForKind outer, ThreadTag outer_tag, ForKind inner, ThreadTag inner_tag) {
    return offence(
        make_for(j, 0, 2, outer, make_for(i, 0, 2, inner, no_op(), inner_tag), outer_tag));
  };
  const ThreadTag none = ThreadTag::kNone;
  const ThreadTag tx = ThreadTag::kThreadX;
  EXPECT_OFFENCE(inside(ForKind::kParallel, none, ForKind::kParallel, none),
                 "inside a parallel loop");
  EXPECT_OFFENCE(inside(ForKind::kParallel, none, ForKind::kThread, tx), "inside a parallel loop");
  EXPECT_OFFENCE(inside(ForKind::kThread, tx, ForKind::kParallel, none), "inside a thread loop");
  EXPECT_EQ(inside(ForKind::kThread, ThreadTag::kBlockX, ForKind::kThread, tx), "");
  EXPECT_OFFENCE(offence(barrier()), "barrier outside of thread loops");
  const Buffer t = Buffer::make("T", kF32, {4});
  const Stmt in_thread = make_for(i, 0, 2, ForKind::kThread, allocate(t, no_op()), tx);
  EXPECT_OFFENCE(offence(in_thread), "global buffer T is allocated inside a thread loop");
}

TEST_F(Verify, Dialects) {
  const Expr lanes = ramp(0, 1, 4);
  EXPECT_OFFENCE(offence(store(b, {lanes}, one)), "vector value before vectorisation");
  EXPECT_OFFENCE(offence(loop(store(b, {i}, one, lt(i, 3)))),
                 "predicate on B before vectorisation");
  EXPECT_OFFENCE(offence(loop(set, ForKind::kVectorized), Dialect::kVectors), "still vectorised");
  EXPECT_OFFENCE(offence(loop(set, ForKind::kVectorized), Dialect::kFlat), "still vectorised");
  EXPECT_OFFENCE(offence(loop(set, ForKind::kUnrolled), Dialect::kFlat), "still unrolled");
  const Stmt deep = store(b, {0}, load(a, {0, 1}));
  const Stmt flat = store(b, {0}, load(a, {1}));
  EXPECT_OFFENCE(offence(deep, Dialect::kFlat), "access to A is not flat");
  EXPECT_OFFENCE(offence(flat, Dialect::kLoops), "A has rank 2 and is given 1 indices");
  for (const Dialect d : {Dialect::kFlatLoops, Dialect::kVectors, Dialect::kFlat}) {
    EXPECT_OFFENCE(offence(deep, d), "access to A is not flat");
    EXPECT_EQ(offence(flat, d), "");
  }
  EXPECT_OFFENCE(offence(store(b, {lanes}, one), Dialect::kFlatLoops),
                 "vector value before vectorisation");
  EXPECT_EQ(offence(deep, Dialect::kLoops), "");
  EXPECT_EQ(offence(flat, Dialect::kFlat), "");
  const Buffer strided = Buffer::make_strided("S", kF32, {4}, {2}, Scope::kLocal);
  EXPECT_OFFENCE(offence(allocate(strided, prefetch(strided, {0})), Dialect::kFlat), "ambiguous");
  const Buffer r = Buffer::make("R", kF32, {4}, Scope::kRegister);
  EXPECT_OFFENCE(offence(allocate(r, loop(store(r, {i}, one))), Dialect::kFlat),
                 "R is in registers");
  EXPECT_EQ(offence(allocate(r, loop(store(r, {i}, one)))), "");
  EXPECT_EQ(offence(allocate(r, store(r, {lanes}, one)), Dialect::kFlat), "");
}

}  // namespace
}  // namespace tenon::ir
