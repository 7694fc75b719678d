// SPDX-License-Identifier: Apache-2.0
// Zeros, infinities and NaN; every lane count; fma without the instruction; no calls to libraries.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "backend/vector_math_levels.h"
#include "backend/vector_math_reference.h"

namespace tenon::backend::llvm_cpu {
namespace {

using ir::Intrinsic;

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T v : {T(0), T(0.25), T(0.5), T(1), std::nextafter(T(1), T(0)), T(1.5), T(2), T(3),
                    T(2.5), T(100), T(1000), Limits::infinity(), Limits::max(), Limits::min(),
                    Limits::denorm_min(), Limits::epsilon(), T(1048577)}) {
    values.push_back(v);
    values.push_back(-v);
  }
  values.push_back(Limits::quiet_NaN());
  return values;
}

// The same kind of value: NaN, an infinity, a zero (with its sign), or near enough.
template <class T>
bool agrees(T got, Wider<T> want, double bound) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got);
  }
  if (want == 0 || std::isinf(rounded)) {
    return got == rounded && std::signbit(got) == std::signbit(rounded);
  }
  // underflow may be flushed; the bounds of the other test say how far
  return ulps<T>(got, want) <= bound ||
         (std::abs(rounded) < 2 * std::numeric_limits<T>::min() && got == 0);
}

bool bounded_at(const Bounds& f, double x, bool f64, const Level& level) {
  const double limit =
      f64 ? (level.fma ? f.limit64 : f.limit64_no_fma) : (level.fma ? f.limit32 : f.limit32_no_fma);
  return std::isinf(x) || !(std::abs(x) > limit);
}

template <class T>
void check_special(const Bounds& f, const Level& level) {
  const std::vector<T> xs = special_values<T>();
  const std::vector<T> got = run(spec_for(f.fn, sizeof(T) == 8, 4, level), xs);
  for (size_t i = 0; i < xs.size(); ++i) {
    if (bounded_at(f, static_cast<double>(xs[i]), sizeof(T) == 8, level)) {
      const Wider<T> want = reference<Wider<T>>(f.fn, xs[i]);
      EXPECT_TRUE(agrees<T>(got[i], want, 7))
          << fmt::format("{} f{} {}({}) = {}, expected {}", level.name, sizeof(T) * 8, f.name,
                         xs[i], got[i], static_cast<T>(want));
    } else {
      EXPECT_TRUE(f.fn == Intrinsic::kTan || std::abs(got[i]) <= 1) << f.name << " of " << xs[i];
    }
  }
}

TEST(VectorMathSpecial, UnaryFunctionsFollowTheStandard) {
  for (const Bounds& f : unary_bounds()) {
    for (const Level& level : levels_here()) {
      check_special<float>(f, level);
      check_special<double>(f, level);
    }
  }
}

template <class T>
void check_special_pow(const Level& level) {
  std::vector<T> x, y;
  for (const T a : special_values<T>()) {
    for (const T b : special_values<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const std::vector<T> got = run(spec_for(Intrinsic::kPow, sizeof(T) == 8, 4, level), x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const Wider<T> want = std::pow(Wider<T>(x[i]), Wider<T>(y[i]));
    const T rounded = static_cast<T>(want);
    const bool same_sign = std::isnan(want) || std::signbit(got[i]) == std::signbit(rounded);
    EXPECT_TRUE(agrees<T>(got[i], want, 4) && same_sign)
        << fmt::format("{} f{} pow({}, {}) = {}, expected {}", level.name, sizeof(T) * 8, x[i],
                       y[i], got[i], rounded);
  }
}

TEST(VectorMathSpecial, PowFollowsC99) {
  for (const Level& level : levels_here()) {
    check_special_pow<float>(level);
    check_special_pow<double>(level);
  }
}

// Exact values that users notice when they are missed.
TEST(VectorMathSpecial, ExactPoints) {
  struct Point {
    Intrinsic fn;
    double x, y;
  };
  constexpr Point kPoints[] = {
      {Intrinsic::kExp, 0, 1},       {Intrinsic::kLog, 1, 0},       {Intrinsic::kSigmoid, 0, 0.5},
      {Intrinsic::kErf, 10, 1},      {Intrinsic::kErf, -10, -1},    {Intrinsic::kTanh, 30, 1},
      {Intrinsic::kTanh, -30, -1},   {Intrinsic::kCos, 0, 1},       {Intrinsic::kCosh, 0, 1},
      {Intrinsic::kAcosh, 1, 0},     {Intrinsic::kAcos, 1, 0},      {Intrinsic::kRound, 2.5, 2},
      {Intrinsic::kRound, -3.5, -4}, {Intrinsic::kFloor, -0.5, -1}, {Intrinsic::kSigmoid, 40, 1},
  };
  for (const Level& level : levels_here()) {
    for (const Point& p : kPoints) {
      const auto f = run<float>(spec_for(p.fn, false, 3, level), {static_cast<float>(p.x)});
      const auto d = run<double>(spec_for(p.fn, true, 3, level), {p.x});
      EXPECT_EQ(f[0], static_cast<float>(p.y)) << level.name << " " << static_cast<int>(p.fn);
      EXPECT_EQ(d[0], p.y) << level.name << " " << static_cast<int>(p.fn);
    }
  }
}

TEST(VectorMathSpecial, ErfAndTanhNeverExceedOne) {
  std::vector<float> xs;
  for (float x = 2; x < 12; x += 0x1p-12f) {
    xs.push_back(x);
    xs.push_back(-x);
  }
  for (const Level& level : levels_here()) {
    for (const Intrinsic fn : {Intrinsic::kErf, Intrinsic::kTanh}) {
      for (const float y : run(spec_for(fn, false, 16, level), xs)) {
        ASSERT_LE(std::abs(y), 1);
      }
    }
  }
}

template <class T>
void check_lanes(Intrinsic fn, const Level& level) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<double> value(-4, 4);
  std::vector<T> a(67), b(67), c(67);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<T>(value(rng));
    b[i] = static_cast<T>(value(rng));
    c[i] = static_cast<T>(value(rng));
  }
  const std::vector<T> want = run(spec_for(fn, sizeof(T) == 8, 1, level), a, b, c);
  for (const int lanes : {3, 4, 8, 16}) {
    const std::vector<T> got = run(spec_for(fn, sizeof(T) == 8, lanes, level), a, b, c);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
          << level.name << " lanes " << lanes << " fn " << static_cast<int>(fn) << " of " << a[i]
          << ": " << got[i] << " != " << want[i];
    }
  }
}

std::vector<Intrinsic> every_function() {
  std::vector<Intrinsic> fns = {Intrinsic::kPow, Intrinsic::kFma};
  for (const Bounds& f : unary_bounds()) {
    fns.push_back(f.fn);
  }
  return fns;
}

TEST(VectorMathSpecial, LaneCountDoesNotMatter) {
  for (const Intrinsic fn : every_function()) {
    for (const Level& level : levels_here()) {
      check_lanes<float>(fn, level);
      check_lanes<double>(fn, level);
    }
  }
}

template <class T>
void check_fma(const Level& level) {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 rng(kSeed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> a, b, c;
  for (int i = 0; i < 200000; ++i) {
    a.push_back(static_cast<T>(unit(rng)));
    b.push_back(static_cast<T>(std::exp2(20 * unit(rng))));
    // every size of cancellation between a*b and c
    const T product = a.back() * b.back();
    c.push_back(static_cast<T>(-product * (1 + unit(rng) * std::exp2(-60 * (1 + unit(rng)) / 2))));
    a.push_back(special_values<T>()[rng() % 35]);
    b.push_back(special_values<T>()[rng() % 35]);
    c.push_back(special_values<T>()[rng() % 35]);
  }
  const std::vector<T> got = run(spec_for(Intrinsic::kFma, sizeof(T) == 8, 4, level), a, b, c);
  for (size_t i = 0; i < a.size(); ++i) {
    // f64 without the instruction promises nothing about products near the ends of the range
    const double size = std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
    const bool far = a[i] != 0 && b[i] != 0 && std::isfinite(a[i]) && std::isfinite(b[i]) &&
                     (size < 0x1p-900 || size > 0x1p900);
    const T want = std::fma(a[i], b[i], c[i]);
    if ((sizeof(T) == 8 && !level.fma && far) || (std::isnan(want) && std::isnan(got[i]))) {
      continue;
    }
    ASSERT_EQ(got[i], want) << fmt::format("{} f{} fma({:a}, {:a}, {:a})", level.name,
                                           sizeof(T) * 8, a[i], b[i], c[i]);
  }
}

TEST(VectorMathSpecial, FmaRoundsOnce) {
  for (const Level& level : levels_here()) {
    check_fma<float>(level);
    check_fma<double>(level);
  }
}

TEST(VectorMathSpecial, FastMathFlagsOfTheBuilderAreIgnored) {
  for (const Intrinsic fn : every_function()) {
    ProbeSpec spec = spec_for(fn, false, 8, kX86Levels[2]);
    const std::string plain = probe_assembly(spec);
    spec.fast_builder = true;
    EXPECT_EQ(probe_assembly(spec), plain) << static_cast<int>(fn);
  }
}

TEST(VectorMathSpecial, NothingIsCalledOnX86) {
  for (const Intrinsic fn : every_function()) {
    for (const Level& level : kX86Levels) {
      for (const int lanes : {1, 3, 16}) {
        for (const bool f64 : {false, true}) {
          const auto names = probe_undefined_symbols(spec_for(fn, f64, lanes, level));
          EXPECT_TRUE(names.empty()) << names[0] << " in " << static_cast<int>(fn) << " "
                                     << level.name << " lanes " << lanes;
        }
      }
    }
  }
}

TEST(VectorMathSpecial, NothingIsCalledOnAarch64) {
  for (const Intrinsic fn : every_function()) {
    for (const int lanes : {1, 3, 4, 16}) {
      for (const bool f64 : {false, true}) {
        ProbeSpec spec = spec_for(fn, f64, lanes, {"neon", "+neon", true, true});
        spec.triple = "aarch64-unknown-linux-gnu";
        spec.cpu = "generic";
        const auto names = probe_undefined_symbols(spec);
        EXPECT_TRUE(names.empty()) << names[0] << " in " << static_cast<int>(fn);
        EXPECT_EQ(probe_assembly(spec).find("\tbl\t"), std::string::npos) << static_cast<int>(fn);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::backend::llvm_cpu
