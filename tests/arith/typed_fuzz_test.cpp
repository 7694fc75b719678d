// SPDX-License-Identifier: Apache-2.0
// Random expressions of other kinds: narrow integers that wrap, floats, vectors, and constants at the
// edge of 64 bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "arith/random_expr.h"
#include "arith/simplifier.h"
#include "arith/simplify.h"
#include "ir/interp.h"
#include "ir/print.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;

constexpr uint64_t kSeed = 808;
constexpr int kRuns = 5000;

std::string seed_text(int run) {
  return "seed " + std::to_string(kSeed + static_cast<uint64_t>(run));
}

void check_shape(const Expr& before, const Expr& after, const Ranges& ranges) {
  ASSERT_EQ(before.dtype(), after.dtype());
  ASSERT_LE(node_count(after), node_count(before))
      << ir::to_string(before) << "\ngrew to " << ir::to_string(after);
  const Expr again = simplify(after, ranges);
  ASSERT_TRUE(again.same_as(after)) << ir::to_string(before) << "\nbecame " << ir::to_string(after)
                                    << "\nthen " << ir::to_string(again);
}

// ---- narrow integers -----------------------------------------------------------------------------

class RandomNarrow {
 public:
  explicit RandomNarrow(Rng& rng) : rng_(rng) {
    for (const DType t : {ir::kI8, ir::kU8, ir::kI32, ir::kU64}) {
      for (const char* name : {"a", "b"}) {
        vars_.emplace_back(name, t);
        env_[vars_.back().node()] = ir::wrap_int(t, rng.between(-300, 300));
      }
    }
  }
  const Env& env() const { return env_; }

  Expr value(DType t, int depth) {
    if (depth == 0) {
      return leaf(t);
    }
    switch (rng_.between(0, 8)) {
      case 0:
        return value(t, depth - 1) + value(t, depth - 1);
      case 1:
        return value(t, depth - 1) - value(t, depth - 1);
      case 2:
        return value(t, depth - 1) * value(t, depth - 1);
      case 3:
        return ir::min(value(t, depth - 1), value(t, depth - 1));
      case 4:
        return ir::max(value(t, depth - 1), value(t, depth - 1));
      case 5:
        return ir::floor_div(value(t, depth - 1), ir::make_int(t, rng_.between(1, 9)));
      case 6:
        return ir::floor_mod(value(t, depth - 1), ir::make_int(t, rng_.between(1, 9)));
      case 7:
        return ir::cast(t, value(rng_.pick(vars_).dtype(), depth - 1));
      default:
        return ir::select(condition(depth - 1), value(t, depth - 1), value(t, depth - 1));
    }
  }
  Expr condition(int depth) {
    const DType t = rng_.pick(vars_).dtype();
    const Expr a = value(t, depth), b = rng_.chance(0.3) ? a : value(t, depth);
    switch (rng_.between(0, 3)) {
      case 0:
        return ir::lt(a, b);
      case 1:
        return ir::logical_not(ir::le(a, b));
      case 2:
        return ir::eq(a, b);
      default:
        return ir::logical_and(ir::ne(a, b), ir::lt(b, a));
    }
  }

 private:
  Expr leaf(DType t) {
    if (rng_.chance(0.3)) {
      return ir::make_int(t, rng_.between(-3, 9));
    }
    for (;;) {
      if (const ir::Var& v = rng_.pick(vars_); v.dtype() == t) {
        return v;
      }
    }
  }

  Rng& rng_;
  std::vector<ir::Var> vars_;
  Env env_;
};

TEST(TypedFuzz, NarrowIntegersWrap) {
  for (int run = 0; run < kRuns && !testing::Test::HasFatalFailure(); ++run) {
    SCOPED_TRACE(seed_text(run));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomNarrow random(rng);
    const DType t = rng.pick<DType>({ir::kI8, ir::kU8, ir::kI32, ir::kU64});
    const Expr e = rng.chance(0.7) ? random.value(t, 4) : random.condition(3);
    const Expr s = simplify(e);
    ASSERT_EQ(ir::eval(e, random.env()).i, ir::eval(s, random.env()).i)
        << ir::to_string(e) << "\nbecame " << ir::to_string(s);
    check_shape(e, s, {});
  }
}

// The index arithmetic of quantised code: narrow values widened to i64.
TEST(TypedFuzz, IntervalsOfWidenedValues) {
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(seed_text(run));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomNarrow random(rng);
    const DType t = rng.pick<DType>({ir::kI8, ir::kU8, ir::kI32, ir::kU64});
    const Expr e = ir::cast(ir::kI64, random.value(t, 3)) * 3 + 1;
    const Interval r = interval_of(e, {});
    const int64_t v = ir::eval(e, random.env()).i;
    ASSERT_TRUE(r.lo <= v && v <= r.hi) << ir::to_string(e);
  }
}

// ---- floats --------------------------------------------------------------------------------------

Expr random_float(Rng& rng, DType t, RandomExpr& index, int depth) {
  const auto next = [&] { return random_float(rng, t, index, depth - 1); };
  if (depth == 0 || rng.chance(0.1)) {
    if (rng.chance(0.4)) {
      return ir::cast(t, index.index(2));
    }
    constexpr double kInf = std::numeric_limits<double>::infinity();
    return ir::make_float(t, rng.pick<double>({0.0, -0.0, 1.0, -1.0, 0.1, 3.5, 1e30, -7.25, kInf,
                                               -kInf, std::nan("")}));
  }
  switch (rng.between(0, 9)) {
    case 0:
      return next() + next();
    case 1:
      return next() - next();
    case 2:
      return next() * next();
    case 3:
      return next() / next();
    case 4:
      return ir::max(next(), next());
    case 5:
      return ir::select(ir::lt(next(), next()), next(), next());
    case 6:
      return ir::min(next(), next());
    case 7:
      return ir::minimum(next(), next());
    case 8:
      return ir::maximum(next(), next());
    default:
      return ir::select(index.condition(2), next(), next());
  }
}

TEST(TypedFuzz, FloatsKeepTheirBits) {
  for (int run = 0; run < kRuns && !testing::Test::HasFatalFailure(); ++run) {
    SCOPED_TRACE(seed_text(run));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr index(rng, 2);
    const DType t = rng.pick<DType>({ir::kF32, ir::kF64, ir::kF16, ir::kBF16});
    const Expr e = random_float(rng, t, index, 4);
    const Expr s = simplify(e, index.ranges());
    for (int i = 0; i < 4; ++i) {
      const Env env = index.values();
      const double a = ir::eval(e, env).f, b = ir::eval(s, env).f;
      // Which NaN it is is free.
      ASSERT_TRUE(std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b))
          << ir::to_string(e) << "\nbecame " << ir::to_string(s);
    }
    check_shape(e, s, index.ranges());
  }
}

// ---- vectors -------------------------------------------------------------------------------------

constexpr int kLanes = 5;

Expr random_lanes(Rng& rng, RandomExpr& index, int depth);

Expr random_lane_condition(Rng& rng, RandomExpr& index, int depth) {
  const Expr a = random_lanes(rng, index, depth), b = random_lanes(rng, index, depth);
  switch (rng.between(0, 4)) {
    case 0:
      return ir::lt(a, b);
    case 1:
      return ir::le(a, b);
    case 2:
      return ir::logical_not(ir::eq(a, b));
    case 3:
      return ir::logical_and(ir::lt(a, b), ir::broadcast(index.condition(1), kLanes));
    default:
      return ir::ne(a, b);
  }
}

Expr random_lanes(Rng& rng, RandomExpr& index, int depth) {
  const auto next = [&] { return random_lanes(rng, index, depth - 1); };
  if (depth <= 0) {
    return rng.chance(0.6) ? ir::ramp(index.index(1),
                                      rng.chance(0.8) ? index.divisor() : index.index(1), kLanes)
                           : ir::broadcast(index.index(1), kLanes);
  }
  switch (rng.between(0, 8)) {
    case 0:
    case 1:
      return next() + next();
    case 2:
      return next() - next();
    case 3:
      return next() * ir::broadcast(index.constant(), kLanes);
    case 4:
      return ir::floor_div(next(), ir::broadcast(index.divisor(), kLanes));
    case 5:
      return ir::floor_mod(next(), ir::broadcast(index.divisor(), kLanes));
    case 6:
      return ir::min(next(), next());
    case 7:
      return ir::select(random_lane_condition(rng, index, depth - 1), next(), next());
    default:
      return -next();
  }
}

std::vector<int64_t> lanes_of(const Expr& e, const Env& env) {
  ir::VarMap values;
  for (const auto& [v, value] : env) {
    values[v] = Expr(value);
  }
  Expr value = ir::substitute(e, values);
  if (value.dtype().is_bool()) {
    value = ir::cast(ir::kI64, value);
  }
  const ir::Buffer out = ir::Buffer::make("out", ir::kI64, {kLanes});
  const ir::Function f{"f", {out}, 0, ir::store(out, {ir::ramp(0, 1, kLanes)}, value)};
  std::vector<ir::Array> args{ir::Array(ir::kI64, {kLanes})};
  ir::interpret(f, args);
  std::vector<int64_t> lanes;
  for (int64_t i = 0; i < kLanes; ++i) {
    lanes.push_back(args[0].get(i).i);
  }
  return lanes;
}

TEST(TypedFuzz, Vectors) {
  for (int run = 0; run < kRuns && !testing::Test::HasFatalFailure(); ++run) {
    SCOPED_TRACE(seed_text(run));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr index(rng, 3);
    const Expr e =
        rng.chance(0.6) ? random_lanes(rng, index, 3) : random_lane_condition(rng, index, 2);
    const Expr s = simplify(e, index.ranges());
    for (int i = 0; i < 4; ++i) {
      const Env env = index.values();
      ASSERT_EQ(lanes_of(e, env), lanes_of(s, env))
          << ir::to_string(e) << "\nbecame " << ir::to_string(s);
    }
    const Interval r = interval_of(e, index.ranges());
    for (const int64_t v : lanes_of(e, index.values())) {
      ASSERT_TRUE(e.dtype().is_bool() || (r.lo <= v && v <= r.hi)) << ir::to_string(e);
    }
    check_shape(e, s, index.ranges());
  }
}

// ---- the edge of 64 bits -------------------------------------------------------------------------

// Such expressions overflow when run; the simplifier itself must not, and must end.
TEST(TypedFuzz, HugeConstantsAreHarmless) {
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(seed_text(run));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr random(rng, 3);
    const auto huge = [&] {
      return rng.pick<int64_t>({Interval::kMinusInf, Interval::kPlusInf, Interval::kMinusInf + 1,
                                int64_t{1} << 62, -(int64_t{1} << 61), int64_t{3} << 40});
    };
    Expr e = random.index(3);
    for (int i = 0; i < 4; ++i) {
      const Expr c = ir::make_int(ir::kI64, huge());
      switch (rng.between(0, 6)) {
        case 0:
          e = e * c + random.index(2);
          break;
        case 1:
          e = c - e;
          break;
        case 2:
          e = ir::floor_div(e + random.index(2), c);
          break;
        case 3:
          e = ir::floor_mod(e + random.index(2) * c, random.divisor());
          break;
        case 4:
          e = ir::select(ir::lt(e, c), random.index(2), e);
          break;
        case 5:
          e = ir::max(e, c) * random.constant();
          break;
        default:
          e = ir::floor_mod(e, c) + c;
          break;
      }
    }
    check_shape(e, simplify(e, random.ranges()), random.ranges());
  }
}

}  // namespace
}  // namespace tenon::arith
