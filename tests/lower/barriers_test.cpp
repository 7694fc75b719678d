// SPDX-License-Identifier: Apache-2.0
// Where barriers are put. Each nest that they make right is run by the interpreter, which finds races
// and barriers that not all threads reach.
#include "lower/barriers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/interp.h"
#include "ir/visit.h"

namespace tenon::lower {
namespace {

using namespace ir;  // NOLINT(google-build-using-namespace): every statement is built by hand

Stmt thread(const Var& v, int64_t n, Stmt body, ThreadTag tag = ThreadTag::kThreadX) {
  return make_for(v, 0, n, ForKind::kThread, std::move(body), tag);
}
Stmt serial(const Var& v, int64_t n, Stmt body) {
  return make_for(v, 0, n, ForKind::kSerial, std::move(body));
}

std::string loads(const Expr& e) {
  std::string out;
  visit_loads(e, [&](const Load& l) { out += l.buffer.name(); });
  return out;
}

// x(S=A | B=S): loops with their bodies, stores with what they read, and barriers.
std::string outline(const Stmt& s) {
  if (s.as<Barrier>() != nullptr) return "|";
  if (const auto* f = s.as<For>()) return f->var.name() + "(" + outline(f->body) + ")";
  if (const auto* a = s.as<Allocate>()) return outline(a->body);
  if (const auto* i = s.as<If>()) return "if " + loads(i->condition) + " " + outline(i->then_case);
  if (const auto* st = s.as<Store>()) return st->buffer.name() + "=" + loads(st->value);
  std::string out;
  for (const Stmt& x : s.as<Block>()->stmts) out += (out.empty() ? "" : " ") + outline(x);
  return out;
}

// What the interpreter says of a block with this body: no error, or which.
class BarriersTest : public ::testing::Test {
 protected:
  Buffer a_ = Buffer::make("A", kF32, {4});
  Buffer out_ = Buffer::make("B", kF32, {4});
  Buffer s_ = Buffer::make("S", kF32, {4}, Scope::kShared);
  Buffer t_ = Buffer::make("T", kF32, {4}, Scope::kShared);
  Var bx_{"bx"}, x_{"x"}, y_{"y"}, z_{"z"}, k_{"k"};

  // S[i] = A[i], T[i] = A[i], B[i] = S[3 - i]
  Stmt fill(const Buffer& to, const Expr& i) const { return store(to, {i}, load(a_, {i})); }
  Stmt drain(const Buffer& from, const Expr& i) const {
    return store(out_, {i}, load(from, {Expr(3) - i}));
  }

  Stmt in_block(const Stmt& body) const {
    return thread(bx_, 1, allocate(s_, allocate(t_, body)), ThreadTag::kBlockX);
  }

  std::string error_of(const Stmt& whole) const {
    Function f;
    f.name = "kernel";
    f.params = {a_, out_};
    f.num_inputs = 1;
    f.body = whole;
    std::vector<Array> args = {Array(kF32, {4}), Array(kF32, {4})};
    try {
      interpret(f, args);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "";
  }

  // With barriers it runs, and without them it does only if none are needed.
  void expect_barriers(const Stmt& body, const std::string& text) const {
    const Stmt whole = in_block(body);
    const Stmt done = insert_barriers(whole);
    EXPECT_EQ(outline(done), "bx(" + text + ")");
    EXPECT_EQ(error_of(done), "");
    const bool needed = text.find('|') != std::string::npos;
    EXPECT_EQ(error_of(whole).find("race") != std::string::npos, needed) << error_of(whole);
  }
};

TEST_F(BarriersTest, ReadAfterWriteInTheSameThreads) {
  expect_barriers(thread(x_, 4, block({fill(s_, x_), drain(s_, x_)})), "x(S=A | B=S)");
}

TEST_F(BarriersTest, ReadAfterWriteInSiblingNests) {
  expect_barriers(block({thread(x_, 4, fill(s_, x_)), thread(y_, 4, drain(s_, y_))}),
                  "x(S=A) | y(B=S)");
}

TEST_F(BarriersTest, SiblingNestsOfFewerThreads) {
  const Stmt few = thread(x_, 2, serial(k_, 2, fill(s_, x_ * 2 + k_)));
  expect_barriers(block({few, thread(y_, 4, drain(s_, y_))}), "x(k(S=A)) | y(B=S)");
}

TEST_F(BarriersTest, NestsInsideOfTheirThreads) {
  const Stmt again = thread(y_, 4, fill(s_, y_));
  expect_barriers(thread(x_, 4, block({again, drain(s_, x_)})), "x(y(S=A) | B=S)");
}

TEST_F(BarriersTest, WriteAfterReadInTheNextIteration) {
  expect_barriers(thread(x_, 4, serial(k_, 3, block({fill(s_, x_), drain(s_, x_)}))),
                  "x(k(S=A | B=S |))");
}

TEST_F(BarriersTest, LoopOfOneIterationHasNoNext) {
  expect_barriers(thread(x_, 4, serial(k_, 1, block({fill(s_, x_), drain(s_, x_)}))),
                  "x(k(S=A | B=S))");
}

// As a pipelined loop has one.
TEST_F(BarriersTest, ALoopWithABarrierOfItsOwnWaitsThere) {
  const Stmt loop = serial(k_, 3, block({barrier(), drain(s_, x_)}));
  const Stmt done = insert_barriers(in_block(thread(x_, 4, block({fill(s_, x_), loop}))));
  EXPECT_EQ(outline(done), "bx(x(S=A k(| B=S)))");
  EXPECT_EQ(error_of(done), "");
  const Stmt late = serial(k_, 3, block({drain(s_, x_), barrier()}));
  const Stmt before = insert_barriers(in_block(thread(x_, 4, block({fill(s_, x_), late}))));
  EXPECT_EQ(outline(before), "bx(x(S=A | k(B=S |)))");
}

TEST_F(BarriersTest, OneBarrierForTwoBuffers) {
  const Stmt sum = store(out_, {x_}, load(s_, {3 - x_}) + load(t_, {3 - x_}));
  expect_barriers(thread(x_, 4, block({fill(s_, x_), fill(t_, x_), sum})), "x(S=A T=A | B=ST)");
}

TEST_F(BarriersTest, BuffersThatTakeTurnsNeedTwo) {
  const Stmt pass_on = store(t_, {x_}, load(s_, {3 - x_}));
  expect_barriers(thread(x_, 4, block({fill(s_, x_), pass_on, drain(t_, x_)})),
                  "x(S=A | T=S | B=T)");
}

TEST_F(BarriersTest, NoneBetweenAThreadsOwnStores) {
  const Stmt add = serial(k_, 4, store(s_, {x_}, load(s_, {x_}) + load(a_, {k_})));
  const Stmt sum = thread(x_, 4, block({store(s_, {x_}, make_float(kF32, 0)), add}));
  expect_barriers(sum, "x(S= k(S=SA))");
}

TEST_F(BarriersTest, NoneForFewThreadsThatAddUp) {
  const Stmt add = serial(k_, 4, store(s_, {x_}, load(s_, {x_}) + load(t_, {k_})));
  const Stmt sum = thread(x_, 1, block({store(s_, {x_}, make_float(kF32, 0)), add}));
  const Stmt spread = thread(z_, 4, store(out_, {z_}, load(s_, {Expr(0)})));
  expect_barriers(block({thread(y_, 4, fill(t_, y_)), sum, spread}),
                  "y(T=A) | x(S= k(S=ST)) | z(B=S)");
}

TEST_F(BarriersTest, NoneForReadersAmongThemselves) {
  const Stmt read = store(out_, {x_}, load(s_, {3 - x_}) + load(s_, {x_}));
  expect_barriers(thread(x_, 4, block({fill(s_, x_), serial(k_, 2, read), drain(s_, x_)})),
                  "x(S=A | k(B=SS) B=S)");
}

TEST_F(BarriersTest, NoneWithoutSharedMemory) {
  const Stmt plain = thread(x_, 4, store(out_, {x_}, load(a_, {x_})));
  EXPECT_TRUE(insert_barriers(plain).same_as(plain));
}

TEST_F(BarriersTest, ConditionsReadToo) {
  const Stmt test = make_if(lt(make_float(kF32, 0), load(s_, {3 - x_})), fill(out_, x_));
  expect_barriers(thread(x_, 4, block({fill(s_, x_), test})), "x(S=A | if S B=A)");
}

}  // namespace
}  // namespace tenon::lower
