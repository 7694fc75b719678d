// SPDX-License-Identifier: Apache-2.0
#include "compile/cases.h"

#include <gtest/gtest.h>

#include <memory>

#include "arith/simplify.h"
#include "ir/build.h"

namespace tenon::compile {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Var;

// y[i, j] = x[i, j] + add for 3 rows of n of every 4, all of them one parallel loop. Loops of one turn are not written down.
ir::Function rows(int64_t batch, int64_t n, double add = 1) {
  const Buffer x = Buffer::make("x", ir::kF32, {batch * 4 * n});
  const Buffer y = Buffer::make("y", ir::kF32, {batch * 4 * n});
  const Var i("i"), j("j");
  const Expr at = j + ir::floor_div(i, 3) * (4 * n) + ir::floor_mod(i, 3) * n;
  const ir::Stmt store = ir::store(y, {at}, ir::load(x, {at}) + ir::make_float(ir::kF32, add));
  const ir::Stmt row = ir::make_for(j, 0, n, ir::ForKind::kSerial, store);
  const ir::Stmt all = ir::make_for(i, 0, batch * 3, ir::ForKind::kParallel, row);
  return {"rows", {x, y}, 1, arith::simplify(all), -1};
}

struct Programs {
  void add(std::vector<int64_t> sizes, double plus = 1) {
    functions.push_back(std::make_unique<ir::Function>(rows(sizes[0], sizes[1], plus)));
    numbers.push_back(std::make_unique<Numbered>(take_numbers(*functions.back())));
    const AtSize one{std::move(sizes), functions.back().get(), numbers.back().get(),
                     functions.size() - 1};
    for (std::vector<AtSize>& group : groups) {
      if (group.back().numbered->form == one.numbered->form) return group.push_back(one);
    }
    groups.push_back({one});
  }
  std::vector<std::unique_ptr<ir::Function>> functions;
  std::vector<std::unique_ptr<Numbered>> numbers;
  std::vector<std::vector<AtSize>> groups;
};

// With the numbers that a member got the program of its group is the program of its size.
void expect_same(const std::vector<AtSize>& group) {
  for (const AtSize& s : group) {
    ir::Function f = with_numbers(*group.back().function, s.numbered->numbers);
    f.body = arith::simplify(f.body);
    const Numbered got = take_numbers(f), want = take_numbers(*s.function);
    EXPECT_EQ(got.form, want.form);
    EXPECT_EQ(got.numbers, want.numbers);
  }
}

TEST(Cases, ProgramsOfOneTurnAreCasesOfOthers) {
  Programs p;
  for (const int64_t batch : {1, 2, 4}) {
    for (const int64_t n : {1, 5, 9}) p.add({batch, n});
  }
  EXPECT_GT(p.groups.size(), 1U);
  join_cases(p.groups);
  ASSERT_EQ(p.groups.size(), 1U);
  EXPECT_EQ(p.groups[0].size(), 9U);
  EXPECT_EQ(p.groups[0].back().sizes, (std::vector<int64_t>{4, 9})) << "the longest program";
  expect_same(p.groups[0]);
}

TEST(Cases, WhatDoesSomethingElseStaysApart) {
  Programs p;
  p.add({1, 5}, 2);
  p.add({2, 5});
  p.add({4, 5});
  join_cases(p.groups);
  EXPECT_EQ(p.groups.size(), 2U);
}

TEST(Cases, OneOtherSizeTellsNoNumbers) {
  Programs p;
  p.add({1, 5});
  p.add({4, 9});
  join_cases(p.groups);
  EXPECT_EQ(p.groups.size(), 2U);
}

}  // namespace
}  // namespace tenon::compile
