// SPDX-License-Identifier: Apache-2.0
#include "compile/numbers.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::compile {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Var;

// y[i * stride] = x[i] + n for i in 0..n, through a copy in memory.
ir::Function strided(int64_t n, int64_t stride, double add = 1) {
  const Buffer x = Buffer::make("x", ir::kF32, {n});
  const Buffer y = Buffer::make("y", ir::kF32, {n * stride});
  const Buffer t = Buffer::make("t", ir::kF32, {n});
  const Var i("i"), j("j"), k("k");
  const Expr sum = ir::load(x, {j}) + ir::make_float(ir::kF32, add);
  const ir::Stmt body = ir::block(
      {ir::make_for(k, 0, n * stride, ir::ForKind::kSerial,
                    ir::store(y, {k}, ir::make_float(ir::kF32, 0))),
       ir::allocate(t,
                    ir::block({ir::make_for(j, 0, n, ir::ForKind::kSerial, ir::store(t, {j}, sum)),
                               ir::make_for(i, 0, n, ir::ForKind::kParallel,
                                            ir::store(y, {i * stride}, ir::load(t, {i})))}))});
  return {"strided", {x, y}, 1, body, -1};
}

// The program that a shared one is with these numbers.
ir::Function with_numbers(const ir::Function& shared, const std::vector<int64_t>& numbers) {
  ir::Function f = shared;
  f.params.erase(f.params.begin());
  --f.num_inputs;
  for (const int64_t n : numbers) {
    const auto* binder = f.body.as<ir::For>();
    f.body = ir::substitute(binder->body, {{binder->var.node(), Expr(n)}});
  }
  return f;
}

TEST(Numbers, ProgramsThatDifferInThemBecomeOne) {
  const std::vector<std::pair<int64_t, int64_t>> cases = {{3, 2}, {7, 5}, {4, 3}};
  std::vector<Numbered> programs;
  for (const auto& [n, stride] : cases) programs.push_back(take_numbers(strided(n, stride)));
  std::vector<const Numbered*> all;
  for (const Numbered& p : programs) {
    EXPECT_EQ(p.form, programs[0].form);
    all.push_back(&p);
  }
  const Shared shared = share(strided(7, 5), {all[0], all[2], all[1]});
  EXPECT_EQ(shared.function.params.size(), 3U);
  EXPECT_EQ(shared.function.num_inputs, 2U);
  EXPECT_EQ(shared.function.params[1]->elements(), 3) << "what every program has";
  const Numbered* order[] = {all[0], all[2], all[1]};
  for (size_t i = 0; i < 3; ++i) {
    const Numbered again = take_numbers(with_numbers(shared.function, shared.numbers[i]));
    EXPECT_EQ(again.form, order[i]->form);
    EXPECT_EQ(again.numbers, order[i]->numbers);
  }
  EXPECT_EQ(shared.numbers[0].size(), 3U) << "n, stride and their product";
}

TEST(Numbers, EqualProgramsReadNone) {
  const Numbered a = take_numbers(strided(3, 2));
  const Shared shared = share(strided(3, 2), {&a, &a});
  EXPECT_EQ(shared.function.params.size(), 2U);
  EXPECT_TRUE(shared.numbers[0].empty());
}

TEST(Numbers, OtherValuesStayApart) {
  EXPECT_NE(take_numbers(strided(3, 2, 1)).form, take_numbers(strided(3, 2, 2)).form);
}

}  // namespace
}  // namespace tenon::compile
