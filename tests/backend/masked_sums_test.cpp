// SPDX-License-Identifier: Apache-2.0
// Sums in registers whose last vector is not full: the lanes that are masked alike in every access may
// hold anything, so that nothing is blended in the loop; where masks differ, each lane keeps its value.
#include <sstream>

#include "backend/harness.h"
#include "ir/build.h"

namespace tenon::backend {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::ForKind;
using ir::Scope;
using ir::Stmt;
using ir::Var;

constexpr int kRows = 4, kSteps = 24;

enum class Mask {
  kSame,    // the same lanes everywhere
  kMoving,  // one lane more in each step
  kOnlyIn,  // the sum is masked, its first value and its reader are not
};

// out[i, j] = sum(k) x[k, i] * w[k, j] over kRows rows of one vector, of which `used` lanes count.
ir::Function masked_sums(int lanes, int used, Mask mask) {
  const Buffer x = Buffer::make("x", ir::kF32, {kSteps * kRows});
  const Buffer w = Buffer::make("w", ir::kF32, {kSteps * lanes});
  const Buffer out = Buffer::make("out", ir::kF32, {kRows * lanes});
  const Buffer acc = Buffer::make("acc", ir::kF32, {kRows * lanes}, Scope::kRegister);
  const Var k("k");
  const Expr lane = ir::ramp(0, 1, lanes);
  const Expr fixed = ir::lt(lane, ir::broadcast(used, lanes));
  const Expr moving = ir::lt(lane, ir::broadcast(k + 1, lanes));
  const Expr inside = mask == Mask::kMoving ? moving : fixed;
  const Expr outside = mask == Mask::kSame ? fixed : Expr();
  std::vector<Stmt> first, sum, last;
  for (int i = 0; i < kRows; ++i) {
    const Expr at = ir::ramp(i * lanes, 1, lanes);
    const Expr term = ir::broadcast(ir::load(x, {k * kRows + i}), lanes) *
                      ir::load(w, {ir::ramp(k * lanes, 1, lanes)}, inside);
    const Expr zero = ir::broadcast(ir::make_float(ir::kF32, i), lanes);
    first.push_back(ir::store(acc, {at}, zero, outside));
    sum.push_back(ir::store(acc, {at}, ir::load(acc, {at}, inside) + term, inside));
    last.push_back(ir::store(out, {at}, ir::load(acc, {at}, outside), outside));
  }
  const Stmt loop = ir::make_for(k, 0, kSteps, ForKind::kSerial, ir::block(sum));
  return {"sums",
          {x, w, out},
          2,
          ir::allocate(acc, ir::block({ir::block(first), loop, ir::block(last)}))};
}

TEST(MaskedSumsTest, EachLaneThatCountsIsRight) {
  for (const int lanes : {4, 8, 16}) {
    for (const Mask mask : {Mask::kSame, Mask::kMoving, Mask::kOnlyIn}) {
      for (const int used : {1, lanes - 1, lanes}) {
        SCOPED_TRACE(std::to_string(lanes) + " " + std::to_string(used));
        const ir::Function f = masked_sums(lanes, used, mask);
        Rng rng(12);
        expect_same(f, small_args(f, rng));
      }
    }
  }
}

TEST(MaskedSumsTest, NothingIsBlendedWhereMasksAreAlike) {
  for (const auto& [target, lanes] : {std::pair{"x86-64-v4", 16}, std::pair{"x86-64-v3", 8}}) {
    std::istringstream text(emit(masked_sums(lanes, lanes - 1, Mask::kSame),
                                 target::parse_target(target), Emit::kAssembly)
                                .bytes);
    int products = 0, blends = 0;
    for (std::string line; std::getline(text, line);) {
      const auto has = [&](const char* what) { return line.find(what) != std::string::npos; };
      products += has("vfmadd") ? 1 : 0;
      blends += has("vblend") ? 1 : 0;
      EXPECT_FALSE(has("Spill")) << target << line;
      EXPECT_FALSE(has("{%k") && !has("(%")) << target << line;  // memory may be masked
    }
    EXPECT_LE(blends, 1) << target;  // the vector that all rows share
    EXPECT_EQ(products % kRows, 0) << target;
    EXPECT_GT(products, 0) << target;
  }
}

}  // namespace
}  // namespace tenon::backend
