// SPDX-License-Identifier: Apache-2.0
// Runs every function of vector_math on this machine's levels of x86, over samples of all bit patterns,
// against a wider type. The largest error of each is printed; docs/vector-math.md quotes them.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <numbers>
#include <random>
#include <type_traits>

#include "backend/vector_math_levels.h"
#include "backend/vector_math_reference.h"

namespace tenon::backend::llvm_cpu {
namespace {

using ir::Intrinsic;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
constexpr bool kIs64 = sizeof(T) == 8;

// f32: every 4099th bit pattern (a prime, so that mantissas vary); f64: random ones.
template <class T>
std::vector<T> all_over(std::mt19937_64& rng) {
  std::vector<T> xs;
  if constexpr (!kIs64<T>) {
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
      xs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
  } else {
    for (int i = 0; i < 200000; ++i) {
      xs.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(rng())));
    }
  }
  return xs;
}

// Most bit patterns are far from 1, where functions saturate: more where they do not.
template <class T>
void add_moderate(std::vector<T>& xs, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> near(-1.0, 1.0);
  const size_t count = xs.size() / 16;
  for (const double scale : {1.0, 1.0, 2.0, 5.0, 10.0, 20.0, 100.0, 1000.0}) {
    for (size_t i = 0; i < count; ++i) {
      xs.push_back(static_cast<T>(scale * near(rng)));
    }
  }
}

template <class T>
double limit_of(const Bounds& f, const Level& level) {
  if (level.fma) {
    return kIs64<T> ? f.limit64 : f.limit32;
  }
  return kIs64<T> ? f.limit64_no_fma : f.limit32_no_fma;
}

template <class T>
double bound_of(const Bounds& f, const Level& level) {
  if (kIs64<T>) {
    return f.ulp64;
  }
  return !level.fma && f.ulp32_no_fma > 0 ? f.ulp32_no_fma : f.ulp32;
}

struct Worst {
  double ulps = 0;
  double at = 0;
};

template <class T>
Worst worst_error(const Bounds& f, const Level& level, const std::vector<T>& xs,
                  const std::vector<Wider<T>>& want, const std::vector<T>& got) {
  const double limit = limit_of<T>(f, level);
  const double flush = kIs64<T> ? f.flush64 : f.flush32;
  Worst worst;
  for (size_t i = 0; i < xs.size(); ++i) {
    const bool beyond = std::isfinite(xs[i]) && std::abs(xs[i]) > limit;
    const bool flushed = got[i] == 0 && want[i] >= 0 && want[i] < flush;
    const double error = beyond || flushed ? 0 : ulps<T>(got[i], want[i]);
    if (!(error <= worst.ulps)) {
      worst = {error, static_cast<double>(xs[i])};
    }
  }
  return worst;
}

template <class T>
void check_everywhere(const Bounds& f) {
  const uint64_t seed = 20240117 + static_cast<uint64_t>(f.fn);
  std::mt19937_64 rng(seed);
  std::vector<T> xs = all_over<T>(rng);
  add_moderate(xs, rng);
  std::vector<Wider<T>> want(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) {
    want[i] = reference<Wider<T>>(f.fn, xs[i]);
  }
  std::string line = fmt::format("{:8} f{}", f.name, sizeof(T) * 8);
  for (const Level& level : levels_here()) {
    const std::vector<T> got = run(spec_for(f.fn, kIs64<T>, 64 / sizeof(T), level), xs);
    const Worst worst = worst_error<T>(f, level, xs, want, got);
    line += fmt::format("  {} {:.2f}", level.name, worst.ulps);
    EXPECT_LE(worst.ulps, bound_of<T>(f, level))
        << f.name << " " << level.name << " at " << fmt::format("{:a} = {}", worst.at, worst.at)
        << " seed " << seed;
  }
  fmt::print("{}\n", line);
}

TEST(VectorMath, ErrorsOfFloatStayInBounds) {
  for (const Bounds& f : unary_bounds()) {
    check_everywhere<float>(f);
  }
}

TEST(VectorMath, ErrorsOfDoubleStayInBounds) {
  for (const Bounds& f : unary_bounds()) {
    check_everywhere<double>(f);
  }
}

// Where sin, cos and tan have zeros and poles, all of the reduction's precision is needed.
template <class T>
void check_near_half_pis(const Bounds& f) {
  std::mt19937_64 rng(5);
  for (const Level& level : levels_here()) {
    std::vector<T> xs;
    std::uniform_real_distribution<double> logarithm(0, std::log2(limit_of<T>(f, level)) - 1);
    for (int i = 0; i < 100000; ++i) {
      const double k = i < 50000 ? i : std::floor(std::exp2(logarithm(rng)));
      xs.push_back(static_cast<T>(static_cast<Wider<T>>(k) * (std::numbers::pi_v<Wider<T>> / 2)));
    }
    std::vector<Wider<T>> want;
    for (const T x : xs) {
      want.push_back(reference<Wider<T>>(f.fn, x));
    }
    const std::vector<T> got = run(spec_for(f.fn, kIs64<T>, 4, level), xs);
    const Worst worst = worst_error<T>(f, level, xs, want, got);
    EXPECT_LE(worst.ulps, bound_of<T>(f, level))
        << f.name << " " << level.name << " at " << fmt::format("{:a}", worst.at);
  }
}

TEST(VectorMath, MultiplesOfHalfPiStayInBounds) {
  for (const Bounds& f : unary_bounds()) {
    if (f.fn == Intrinsic::kSin || f.fn == Intrinsic::kCos || f.fn == Intrinsic::kTan) {
      check_near_half_pis<float>(f);
      check_near_half_pis<double>(f);
    }
  }
}

// x * sigmoid(x). Where it is negative the exponent's rounding shows: an ulp and a half per unit of |x|. It may be
// 0 where e^-x overflows.
template <class T>
void check_silu() {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 rng(kSeed);
  std::vector<T> xs = all_over<T>(rng);
  add_moderate(xs, rng);
  const double flush = kIs64<T> ? 0x1p-1010 : 0x1p-120;
  for (const Level& level : levels_here()) {
    ProbeSpec spec = spec_for(Intrinsic::kSigmoid, kIs64<T>, 64 / sizeof(T), level);
    spec.silu = true;
    const std::vector<T> got = run(spec, xs);
    double most = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const Wider<T> x = xs[i];
      const Wider<T> want = x / (1 + std::exp(-x));
      if (got[i] == 0 && std::abs(want) < flush) continue;
      const bool rough = level.scale && !kIs64<T> && xs[i] < 0;
      const double bound = 5 + (rough ? 1.5 * std::abs(static_cast<double>(xs[i])) : 0.0);
      const double error = ulps<T>(got[i], want);
      most = std::max(most, error / bound);
      ASSERT_LE(error, bound) << level.name << fmt::format(" at {:a} gave {:a}", xs[i], got[i]);
    }
    fmt::print("silu     f{}  {} {:.2f} of its bound\n", sizeof(T) * 8, level.name, most);
  }
}

TEST(VectorMath, SiluStaysInBounds) {
  check_silu<float>();
  check_silu<double>();
}

TEST(VectorMath, SiluIsTheSameForEveryNumberOfLanes) {
  std::mt19937_64 rng(12);
  std::vector<float> xs = all_over<float>(rng);
  for (const Level& level : levels_here()) {
    ProbeSpec spec = spec_for(Intrinsic::kSigmoid, false, 16, level);
    spec.silu = true;
    const std::vector<float> want = run(spec, xs);
    for (const int lanes : {1, 2, 3, 4, 7, 8, 12, 24, 32, 37}) {
      spec.lanes = lanes;
      const std::vector<float> got = run(spec, xs);
      for (size_t i = 0; i < xs.size(); ++i) {
        const bool same = std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(want[i]);
        ASSERT_TRUE(same || (std::isnan(got[i]) && std::isnan(want[i])))
            << level.name << " " << lanes << fmt::format(" lanes at {:a}", xs[i]);
      }
    }
  }
}

template <class T>
struct PowSamples {
  std::vector<T> x, y;
  void add(double a, double b) {
    x.push_back(static_cast<T>(a));
    y.push_back(static_cast<T>(b));
  }
};

// Bases of every size with exponents that just reach over- and underflow; bases near 1; negative bases
// with whole exponents; arbitrary bit patterns.
template <class T>
PowSamples<T> pow_samples(std::mt19937_64& rng) {
  PowSamples<T> s;
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  const double top = std::numeric_limits<T>::max_exponent;
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp2(top * unit(rng));
    s.add(x, 1.2 * top * unit(rng) / std::log2(x));
    const double near = 1 + unit(rng) * std::exp2(-20 - 10 * unit(rng));
    s.add(near, 1.2 * top * unit(rng) / std::log2(near));
    s.add(-std::exp(3 * unit(rng)), std::round(20 * unit(rng)));
    s.x.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(rng())));
    s.y.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(rng())));
  }
  return s;
}

template <class T>
void check_pow() {
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 rng(kSeed);
  const PowSamples<T> s = pow_samples<T>(rng);
  for (const Level& level : levels_here()) {
    const std::vector<T> got =
        run(spec_for(Intrinsic::kPow, kIs64<T>, 64 / sizeof(T), level), s.x, s.y);
    Worst worst;
    size_t at = 0;
    for (size_t i = 0; i < s.x.size(); ++i) {
      const double error = ulps<T>(got[i], std::pow(Wider<T>(s.x[i]), Wider<T>(s.y[i])));
      if (!(error <= worst.ulps)) {
        worst.ulps = error;
        at = i;
      }
    }
    fmt::print("pow      f{}  {} {:.2f}\n", sizeof(T) * 8, level.name, worst.ulps);
    EXPECT_LE(worst.ulps, kIs64<T> ? 1.5 : 1.0) << fmt::format(
        "{} pow({:a}, {:a}) gave {:a}, seed {}", level.name, s.x[at], s.y[at], got[at], kSeed);
  }
}

TEST(VectorMath, PowStaysInBounds) {
  check_pow<float>();
  check_pow<double>();
}

}  // namespace
}  // namespace tenon::backend::llvm_cpu
