// SPDX-License-Identifier: Apache-2.0
#include "ir/visit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"

namespace tenon::ir {
namespace {

// One program with every kind of node; `i` is bound, `n` is free.
class Visit : public ::testing::Test {
 protected:
  Stmt program(const Expr& x) const {
    const Expr lanes = ramp(x, 1, 4);
    const Expr v = load(a, {lanes}, lt(lanes, 60));
    const Expr wide = select(lt(lanes, 5), v, call(Intrinsic::kPow, {v, -v}));
    const Expr scalar = vector_reduce(BinaryOp::kAdd, wide * cast(kF32, broadcast(x, 4)));
    const Stmt stores = block({store(b, {lanes}, wide, lt(lanes, 7)), barrier(),
                               store(b, {x}, scalar), prefetch(a, {x + i})});
    const Stmt branch = make_if(lt(i, x), stores, store(b, {i}, cast(kF32, x)));
    const Stmt both = make_if(logical_not(lt(x, i)), branch);
    const Stmt inner = make_for(i, x, x + 1, ForKind::kThread, both, ThreadTag::kThreadY);
    return allocate(t, block({inner, store(t, {0}, make_float(kF32, 2))}));
  }
  const Buffer a = Buffer::make("A", kF32, {64});
  const Buffer b = Buffer::make("B", kF32, {64});
  const Buffer t = Buffer::make("T", kF32, {1}, Scope::kLocal);
  const Var i = Var("i"), n = Var("n"), m = Var("m");
};

// More buffers than a mask has bits, each read inside of every kind of node.
TEST(Reads, FindsExactlyTheBuffersThatAreRead) {
  std::vector<Buffer> buffers;
  std::vector<Expr> reading;
  for (int k = 0; k < 20; ++k) {
    buffers.push_back(Buffer::make(fmt::format("b{}", k), kI64, {64}));
    reading.push_back(load(buffers.back(), {Expr(k)}));
  }
  const Buffer table = Buffer::make("table", kI64, {64});
  const Expr none = Expr(3);
  const Var i("i");
  const std::vector<std::function<Expr(Expr)>> wrappers = {
      [](const Expr& e) { return e; },
      [](const Expr& e) { return cast(kF32, e); },
      [](const Expr& e) { return bit_not(e); },
      [&](const Expr& e) { return none + e; },
      [&](const Expr& e) { return e * none; },
      [&](const Expr& e) { return select(lt(e, 5), none, i); },
      [&](const Expr& e) { return select(lt(i, 5), none, e); },
      [&](const Expr& e) { return load(table, {e}); },
      [&](const Expr& e) { return load(table, {none}, lt(e, 5)); },
      [](const Expr& e) { return call(Intrinsic::kAbs, {cast(kF32, e)}); },
      [](const Expr& e) { return ramp(e, 1, 4); },
      [&](const Expr& e) { return ramp(none, e, 4); },
      [](const Expr& e) { return vector_reduce(BinaryOp::kAdd, broadcast(e, 4)); },
  };
  for (size_t w = 0; w < wrappers.size(); ++w) {
    for (size_t r = 0; r < buffers.size(); ++r) {
      const Expr e = wrappers[w](reading[r]);
      EXPECT_TRUE(e.loads());
      for (size_t k = 0; k < buffers.size(); ++k) {
        EXPECT_EQ(reads(e, buffers[k]), k == r) << "wrapper " << w << " of " << r;
      }
    }
  }
  EXPECT_FALSE(reads(none + 1, table));
}

TEST_F(Visit, SubstituteReachesEveryPlaceAndKeepsTheRest) {
  const Stmt s = program(n);
  EXPECT_TRUE(uses_var(s, n.node()));
  const Stmt renamed = substitute(s, {{n.node(), m}});
  EXPECT_TRUE(equal(renamed, program(m)));  // predicates, tags, buffers and all
  EXPECT_FALSE(uses_var(renamed, n.node()));
  EXPECT_TRUE(uses_var(renamed, m.node()));
  EXPECT_TRUE(substitute(renamed, {{n.node(), m}}).same_as(renamed));
  // The untouched last statement is the same handle.
  const auto last = [](const Stmt& x) { return x.as<Allocate>()->body.as<Block>()->stmts.back(); };
  EXPECT_TRUE(last(s).same_as(last(renamed)));
  EXPECT_TRUE(equal(substitute(s, {{n.node(), 3}}), program(3)));  // folds on the way
}

TEST_F(Visit, MutatorThatChangesNothingReturnsItsArgument) {
  Mutator identity;
  const Stmt s = program(n);
  EXPECT_TRUE(identity.mutate(s).same_as(s));
  EXPECT_TRUE(rewrite(s, [](const Expr& e) { return e; }).same_as(s));
  EXPECT_TRUE(rewrite(
                  s, [](const Expr& e) { return e; }, [](const Stmt& x) { return x; })
                  .same_as(s));
}

TEST_F(Visit, MutatorOverridesBothKinds) {
  struct Serialise : Mutator {
    Expr mutate(const Expr& e) override {
      return e.as<FloatImm>() != nullptr ? make_float(kF32, 3) : descend(e);
    }
    Stmt mutate(const Stmt& s) override {
      if (const auto* f = s.as<For>()) {
        return make_for(f->var, f->min, f->extent, ForKind::kSerial, mutate(f->body));
      }
      return s.as<Barrier>() != nullptr ? no_op() : descend(s);
    }
  };
  const Stmt s = Serialise().mutate(program(n));
  EXPECT_EQ(to_string(s).find("thread"), std::string::npos);
  EXPECT_EQ(to_string(s).find("barrier"), std::string::npos);
  EXPECT_NE(to_string(s).find("T[0] = 3.0"), std::string::npos);
}

TEST_F(Visit, RewriteIsPostOrder) {
  // Each addition of a constant grows by one, inner ones first, so the outer sees the rebuilt inner.
  std::vector<std::string> seen;
  const Expr e = rewrite((i + 1) * 2, [&](const Expr& x) {
    seen.push_back(to_string(x));
    const auto c = const_int(x);
    return c ? Expr(*c + 1) : x;
  });
  EXPECT_EQ(to_string(e), "(i + 2) * 3");
  EXPECT_EQ(seen, (std::vector<std::string>{"i", "1", "i + 2", "2", "(i + 2) * 3"}));
}

TEST_F(Visit, RewriteOfStatements) {
  const Stmt s = rewrite(
      program(n), [](const Expr& e) { return e; },
      [](const Stmt& x) {
        const auto* f = x.as<If>();
        return f != nullptr ? f->then_case : x;
      });
  int ifs = 0;
  visit(s, [&](const Stmt& x) { ifs += x.as<If>() != nullptr ? 1 : 0; });
  EXPECT_EQ(ifs, 0);
}

TEST_F(Visit, PreOrderCountsEveryNode) {
  std::vector<std::string> order;
  visit(i * 2 + load(a, {n}, lt(n, 3)).dtype().lanes,
        [&](const Expr& e) { order.push_back(to_string(e)); });
  EXPECT_EQ(order, (std::vector<std::string>{"i * 2 + 1", "i * 2", "i", "2", "1"}));
  int loads = 0;
  int predicates = 0;
  visit(program(n), [&](const Expr& e) {
    if (const auto* l = e.as<Load>()) {
      ++loads;
      predicates += l->predicate.defined() ? 1 : 0;
    }
  });
  EXPECT_EQ(loads, 6);  // a tree walk: shared nodes count as often as they are used
  EXPECT_EQ(predicates, 6);
  int stmts = 0;
  visit(program(n), [&](const Stmt&) { ++stmts; });
  EXPECT_EQ(stmts, 12);
  visit(Expr(), [](const Expr&) { FAIL(); });
  visit(Stmt(), [](const Stmt&) { FAIL(); });
}

TEST_F(Visit, ChildrenInOrder) {
  const auto children = [](const Expr& e) {
    std::string out;
    for_each_child(e, [&](const Expr& c) { out += to_string(c) + ";"; });
    return out;
  };
  EXPECT_EQ(children(i), "");
  EXPECT_EQ(children(load(a, {i}, lt(i, 3))), "i;i < 3;");
  EXPECT_EQ(children(load(a, {i})), "i;");
  EXPECT_EQ(children(select(lt(i, n), i, n)), "i < n;i;n;");
  EXPECT_EQ(children(ramp(i, 2, 4)), "i;2;");
}

TEST_F(Visit, FunctionRefBorrowsAnyCallable) {
  int calls = 0;
  const std::function<void(const Expr&)> count = [&](const Expr&) { ++calls; };
  visit(i + n, count);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace tenon::ir
