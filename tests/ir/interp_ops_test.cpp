// SPDX-License-Identifier: Apache-2.0
// Every operation on every type, against C++'s own arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "ir/build.h"
#include "ir/interp.h"
#include "support/rng.h"

namespace tenon::ir {
namespace {

// out[k] = fn(args[0][k], args[1][k], ...), run by the interpreter.
Array run_elementwise(DType out, const std::vector<Array>& inputs,
                      const std::function<Expr(const std::vector<Expr>&)>& fn) {
  const int64_t n = inputs[0].elements();
  const Var i("i");
  std::vector<Buffer> params;
  std::vector<Expr> loads;
  std::vector<Array> args = inputs;
  for (const Array& a : inputs) {
    params.push_back(Buffer::make("A", a.dtype(), {n}));
    loads.push_back(load(params.back(), {i}));
  }
  const Buffer result = Buffer::make("B", out, {n});
  params.push_back(result);
  args.emplace_back(out, std::vector<int64_t>{n});
  const Stmt body = make_for(i, 0, n, ForKind::kSerial, store(result, {i}, fn(loads)));
  interpret({"f", params, inputs.size(), body}, args);
  return args.back();
}

template <class T>
DType dtype_of();
#define TENON_TYPE_OF(type, name) \
  template <>                     \
  DType dtype_of<type>() {        \
    return name;                  \
  }
TENON_TYPE_OF(bool, kBool)
TENON_TYPE_OF(int8_t, kI8)
TENON_TYPE_OF(int16_t, kI16)
TENON_TYPE_OF(int32_t, kI32)
TENON_TYPE_OF(int64_t, kI64)
TENON_TYPE_OF(uint8_t, kU8)
TENON_TYPE_OF(uint16_t, kU16)
TENON_TYPE_OF(uint32_t, kU32)
TENON_TYPE_OF(uint64_t, kU64)
TENON_TYPE_OF(float, kF32)
TENON_TYPE_OF(double, kF64)
#undef TENON_TYPE_OF

template <class T>
Array to_array(const std::vector<T>& v) {
  Array a(dtype_of<T>(), {static_cast<int64_t>(v.size())});
  for (size_t k = 0; k < v.size(); ++k) {
    std::memcpy(a.data() + k * sizeof(T), &v[k], sizeof(T));
  }
  return a;
}

template <class T>
T at(const Array& a, size_t k) {
  T v;
  std::memcpy(&v, a.data() + k * sizeof(T), sizeof(T));
  return v;
}

// All values for 8 bits; edges and random ones for wider types.
template <class T>
std::vector<T> samples() {
  std::vector<T> out;
  if constexpr (sizeof(T) == 1) {
    for (int v = 0; v < 256; ++v) {
      out.push_back(static_cast<T>(v));
    }
    return out;
  }
  const T low = std::numeric_limits<T>::min();
  const T high = std::numeric_limits<T>::max();
  out = {T(0), T(1), T(2), T(3), T(7), T(-1), T(-2), T(-7), low, T(low + 1), high, T(high - 1)};
  Rng rng(17);
  while (out.size() < 48) {
    out.push_back(static_cast<T>(rng.next() >> rng.between(0, 63)));
  }
  return out;
}

template <class T>
struct Pairs {
  std::vector<T> a, b;
  void add(T x, T y) {
    a.push_back(x);
    b.push_back(y);
  }
};

template <class T, class Keep>
Pairs<T> all_pairs(Keep keep) {
  Pairs<T> out;
  for (const T x : samples<T>()) {
    for (const T y : samples<T>()) {
      if (keep(x, y)) {
        out.add(x, y);
      }
    }
  }
  return out;
}

template <class T, class R, class Want>
void check_binary(BinaryOp op, const Pairs<T>& p, Want want) {
  const Array got = run_elementwise(dtype_of<R>(), {to_array(p.a), to_array(p.b)},
                                    [&](const auto& x) { return make_binary(op, x[0], x[1]); });
  for (size_t k = 0; k < p.a.size(); ++k) {
    const R expected = static_cast<R>(want(p.a[k], p.b[k]));
    ASSERT_EQ(at<R>(got, k), expected) << +p.a[k] << ' ' << to_string(op) << ' ' << +p.b[k];
  }
}

template <class T>
class Integers : public ::testing::Test {};
using IntegerTypes =
    ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, ArithmeticWraps) {
  using T = TypeParam;
  const auto any = all_pairs<T>([](T, T) { return true; });
  const auto u = [](T v) { return static_cast<uint64_t>(v); };
  check_binary<T, T>(BinaryOp::kAdd, any, [&](T a, T b) { return u(a) + u(b); });
  check_binary<T, T>(BinaryOp::kSub, any, [&](T a, T b) { return u(a) - u(b); });
  check_binary<T, T>(BinaryOp::kMul, any, [&](T a, T b) { return u(a) * u(b); });
  check_binary<T, T>(BinaryOp::kMin, any, [](T a, T b) { return std::min(a, b); });
  check_binary<T, T>(BinaryOp::kMax, any, [](T a, T b) { return std::max(a, b); });
  check_binary<T, T>(BinaryOp::kBitAnd, any, [](T a, T b) { return a & b; });
  check_binary<T, T>(BinaryOp::kBitOr, any, [](T a, T b) { return a | b; });
  check_binary<T, T>(BinaryOp::kBitXor, any, [](T a, T b) { return a ^ b; });
}

TYPED_TEST(Integers, Compares) {
  using T = TypeParam;
  const auto any = all_pairs<T>([](T, T) { return true; });
  check_binary<T, bool>(BinaryOp::kEq, any, [](T a, T b) { return a == b; });
  check_binary<T, bool>(BinaryOp::kNe, any, [](T a, T b) { return a != b; });
  check_binary<T, bool>(BinaryOp::kLt, any, [](T a, T b) { return a < b; });
  check_binary<T, bool>(BinaryOp::kLe, any, [](T a, T b) { return a <= b; });
}

TYPED_TEST(Integers, DivisionTruncatesOrFloors) {
  using T = TypeParam;
  // The lowest value by -1 overflows in C++ and wraps here.
  const T low = std::numeric_limits<T>::min();
  const auto safe =
      all_pairs<T>([&](T a, T b) { return b != 0 && !(low < 0 && a == low && b == T(-1)); });
  const auto floors = [](T a, T b) { return a % b != 0 && (a % b < 0) != (b < 0); };
  check_binary<T, T>(BinaryOp::kDiv, safe, [](T a, T b) { return a / b; });
  check_binary<T, T>(BinaryOp::kFloorDiv, safe,
                     [&](T a, T b) { return floors(a, b) ? a / b - 1 : a / b; });
  check_binary<T, T>(BinaryOp::kFloorMod, safe,
                     [&](T a, T b) { return floors(a, b) ? a % b + b : a % b; });
  if (low < 0) {
    Pairs<T> wrap;
    wrap.add(low, static_cast<T>(-1));
    check_binary<T, T>(BinaryOp::kDiv, wrap, [](T a, T) { return a; });
    check_binary<T, T>(BinaryOp::kFloorDiv, wrap, [](T a, T) { return a; });
    check_binary<T, T>(BinaryOp::kFloorMod, wrap, [](T, T) { return 0; });
  }
}

TYPED_TEST(Integers, DivisionByZeroAndWideShiftsAreErrors) {
  using T = TypeParam;
  Pairs<T> zero;
  zero.add(T(5), T(0));
  Pairs<T> wide;
  wide.add(T(5), static_cast<T>(sizeof(T) * 8));
  const auto fails = [](BinaryOp op, const Pairs<T>& p) {
    EXPECT_THROW((check_binary<T, T>(op, p, [](T a, T) { return a; })), InternalError);
  };
  fails(BinaryOp::kDiv, zero);
  fails(BinaryOp::kFloorDiv, zero);
  fails(BinaryOp::kFloorMod, zero);
  fails(BinaryOp::kShl, wide);
  fails(BinaryOp::kShr, wide);
}

TYPED_TEST(Integers, Shifts) {
  using T = TypeParam;
  const auto in_range =
      all_pairs<T>([](T, T b) { return b >= 0 && static_cast<uint64_t>(b) < sizeof(T) * 8; });
  check_binary<T, T>(BinaryOp::kShl, in_range,
                     [](T a, T b) { return static_cast<uint64_t>(a) << b; });
  check_binary<T, T>(BinaryOp::kShr, in_range, [](T a, T b) { return a >> b; });
}

TYPED_TEST(Integers, Unary) {
  using T = TypeParam;
  const std::vector<T> v = samples<T>();
  const auto run = [&](const std::function<Expr(const Expr&)>& fn) {
    return run_elementwise(dtype_of<T>(), {to_array(v)}, [&](const auto& x) { return fn(x[0]); });
  };
  const Array negated = run([](const Expr& x) { return -x; });
  const Array inverted = run([](const Expr& x) { return bit_not(x); });
  const Array absolute = run([](const Expr& x) { return call(Intrinsic::kAbs, {x}); });
  for (size_t k = 0; k < v.size(); ++k) {
    const T minus = static_cast<T>(0 - static_cast<uint64_t>(v[k]));
    EXPECT_EQ(at<T>(negated, k), minus) << +v[k];
    EXPECT_EQ(at<T>(inverted, k), static_cast<T>(~v[k])) << +v[k];
    EXPECT_EQ(at<T>(absolute, k), v[k] < 0 ? minus : v[k]) << +v[k];
  }
}

template <class From, class To>
void check_int_casts() {
  const std::vector<From> v = samples<From>();
  const Array got = run_elementwise(dtype_of<To>(), {to_array(v)},
                                    [](const auto& x) { return cast(dtype_of<To>(), x[0]); });
  for (size_t k = 0; k < v.size(); ++k) {
    EXPECT_EQ(at<To>(got, k), static_cast<To>(v[k])) << +v[k];
  }
}

TYPED_TEST(Integers, CastsToEveryType) {
  check_int_casts<TypeParam, int8_t>();
  check_int_casts<TypeParam, int16_t>();
  check_int_casts<TypeParam, int32_t>();
  check_int_casts<TypeParam, int64_t>();
  check_int_casts<TypeParam, uint8_t>();
  check_int_casts<TypeParam, uint16_t>();
  check_int_casts<TypeParam, uint32_t>();
  check_int_casts<TypeParam, uint64_t>();
  check_int_casts<TypeParam, float>();
  check_int_casts<TypeParam, double>();
  check_int_casts<TypeParam, bool>();
}

TYPED_TEST(Integers, CastsFromFloatsSaturate) {
  using T = TypeParam;
  const double inf = std::numeric_limits<double>::infinity();
  const T low = std::numeric_limits<T>::min();
  const T high = std::numeric_limits<T>::max();
  const double past = std::ldexp(1.0, std::numeric_limits<T>::digits);  // high + 1
  const std::vector<std::pair<double, T>> rows{{0.0, T(0)},
                                               {-0.0, T(0)},
                                               {0.9, T(0)},
                                               {1.9, T(1)},
                                               {-0.9, T(0)},
                                               {-1.9, low < 0 ? T(-1) : T(0)},
                                               {100.5, T(100)},
                                               {past, high},
                                               {past * 4, high},
                                               {inf, high},
                                               {-inf, low},
                                               {-past * 4, low},
                                               {static_cast<double>(low), low},
                                               {1e300, high},
                                               {std::numeric_limits<double>::quiet_NaN(), T(0)}};
  std::vector<double> doubles;
  std::vector<float> floats;
  for (const auto& row : rows) {
    doubles.push_back(row.first);
    floats.push_back(static_cast<float>(row.first));
  }
  const auto to_t = [](const auto& x) { return cast(dtype_of<T>(), x[0]); };
  const Array from_double = run_elementwise(dtype_of<T>(), {to_array(doubles)}, to_t);
  const Array from_float = run_elementwise(dtype_of<T>(), {to_array(floats)}, to_t);
  for (size_t k = 0; k < rows.size(); ++k) {
    EXPECT_EQ(at<T>(from_double, k), rows[k].second) << rows[k].first;
    EXPECT_EQ(at<T>(from_float, k), rows[k].second) << rows[k].first;
  }
}

// ---- floats ----------------------------------------------------------------------------------

std::vector<double> float_samples() {
  std::vector<double> v{0.0,  -0.0,  1,    -1, 0.1, 3,   -2.5,
                        1e-8, 65504, 1e30, -7, 0.5, 1.5, std::numeric_limits<double>::infinity()};
  Rng rng(23);
  while (v.size() < 40) {
    v.push_back((rng.unit() - 0.5) * std::ldexp(1.0, static_cast<int>(rng.between(-8, 8))));
  }
  return v;
}

// How the types are rounded, independently of the interpreter: native conversions through f32.
double narrow(DType t, double v) {
  const auto f = static_cast<float>(v);
  if (t == kF64) {
    return v;
  }
  if (t == kF32) {
    return static_cast<double>(f);
  }
  return static_cast<double>(t == kF16 ? f16_to_f32(f32_to_f16(f)) : bf16_to_f32(f32_to_bf16(f)));
}

// In the arithmetic type: double for f64, float for all others.
double arithmetic(BinaryOp op, DType t, double a, double b) {
  const auto of = [op](auto x, auto y) {
    switch (op) {
      case BinaryOp::kAdd:
        return x + y;
      case BinaryOp::kSub:
        return x - y;
      case BinaryOp::kMul:
        return x * y;
      case BinaryOp::kDiv:
        return x / y;
      case BinaryOp::kMin:
        return std::min(x, y);
      default:
        return std::max(x, y);
    }
  };
  return t == kF64 ? of(a, b)
                   : static_cast<double>(of(static_cast<float>(a), static_cast<float>(b)));
}

class Floats : public ::testing::TestWithParam<DType> {
 protected:
  Array array(const std::vector<double>& v) const {
    Array a(GetParam(), {static_cast<int64_t>(v.size())});
    for (size_t k = 0; k < v.size(); ++k) {
      a.set_double(static_cast<int64_t>(k), v[k]);
    }
    return a;
  }
};

void expect_same(double got, double want, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what;
  } else {
    EXPECT_EQ(got, want) << what;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << what;
  }
}

TEST_P(Floats, ArithmeticRoundsAfterEachOperation) {
  const DType t = GetParam();
  std::vector<double> a;
  std::vector<double> b;
  for (const double x : float_samples()) {
    for (const double y : float_samples()) {
      a.push_back(narrow(t, x));
      b.push_back(narrow(t, y));
    }
  }
  for (const BinaryOp op : {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kDiv,
                            BinaryOp::kMin, BinaryOp::kMax}) {
    const Array got = run_elementwise(t, {array(a), array(b)},
                                      [&](const auto& x) { return make_binary(op, x[0], x[1]); });
    for (size_t k = 0; k < a.size(); ++k) {
      const double want = narrow(t, arithmetic(op, t, a[k], b[k]));
      const double v = got.get_double(static_cast<int64_t>(k));
      const std::string what =
          std::to_string(a[k]) + std::string(to_string(op)) + std::to_string(b[k]);
      if ((op == BinaryOp::kMin || op == BinaryOp::kMax) && want == 0) {
        EXPECT_EQ(v, want) << what;  // of two zeros either may come
      } else {
        expect_same(v, want, what);
      }
    }
  }
}

TEST_P(Floats, IntermediateResultsAreRounded) {
  // (1 + e) - 1 with e half a step of the type: the sum ties to even, 1.
  const DType t = GetParam();
  const double e = t == kF64 ? 0x1p-53 : t == kF32 ? 0x1p-24 : t == kF16 ? 0x1p-11 : 0x1p-8;
  const Expr one = make_float(t, 1);
  const Array got =
      run_elementwise(t, {array({e, 3 * e})}, [&](const auto& x) { return x[0] + one - one; });
  EXPECT_EQ(got.get_double(0), 0);
  EXPECT_EQ(got.get_double(1), 4 * e);
}

TEST_P(Floats, ExtremesOfNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Array a = array({1, nan, 1, nan, inf, nan, -inf});
  const Array b = array({2, 1, nan, nan, nan, -inf, nan});
  const std::vector<std::pair<BinaryOp, std::vector<double>>> rows{
      {BinaryOp::kMin, {1, nan, 1, nan, inf, nan, -inf}},
      {BinaryOp::kMax, {2, nan, 1, nan, inf, nan, -inf}},
      {BinaryOp::kMinimum, {1, nan, nan, nan, nan, nan, nan}},
      {BinaryOp::kMaximum, {2, nan, nan, nan, nan, nan, nan}}};
  for (const auto& [op, want] : rows) {
    const BinaryOp extreme = op;
    const Array got = run_elementwise(
        GetParam(), {a, b}, [&](const auto& x) { return make_binary(extreme, x[0], x[1]); });
    for (size_t k = 0; k < want.size(); ++k) {
      expect_same(got.get_double(static_cast<int64_t>(k)), want[k],
                  std::string(to_string(op)) + " " + std::to_string(k));
    }
  }
}

TEST_P(Floats, ComparesAndNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array a = array({1, 2, 2, nan, nan, -0.0});
  const Array b = array({2, 1, 2, 1, nan, 0.0});
  const std::vector<std::pair<BinaryOp, std::vector<int>>> rows{
      {BinaryOp::kEq, {0, 0, 1, 0, 0, 1}},
      {BinaryOp::kNe, {1, 1, 0, 1, 1, 0}},
      {BinaryOp::kLt, {1, 0, 0, 0, 0, 0}},
      {BinaryOp::kLe, {1, 0, 1, 0, 0, 1}}};
  for (const auto& [op, want] : rows) {
    const BinaryOp compare = op;
    const Array got = run_elementwise(
        kBool, {a, b}, [&](const auto& x) { return make_binary(compare, x[0], x[1]); });
    for (size_t k = 0; k < want.size(); ++k) {
      EXPECT_EQ(got.get(static_cast<int64_t>(k)).i, want[k]) << to_string(op) << ' ' << k;
    }
  }
}

TEST_P(Floats, Casts) {
  const std::vector<double> v = float_samples();
  for (const DType to : {kF16, kBF16, kF32, kF64, kBool}) {
    const Array got =
        run_elementwise(to, {array(v)}, [&](const auto& x) { return cast(to, x[0]); });
    for (size_t k = 0; k < v.size(); ++k) {
      const double from = narrow(GetParam(), v[k]);
      const double want = to == kBool ? (from != 0 ? 1 : 0) : narrow(to, from);
      expect_same(got.get_double(static_cast<int64_t>(k)), want, to_string(to));
    }
  }
}

TEST_P(Floats, Negation) {
  const Array got =
      run_elementwise(GetParam(), {array({0.0, -1.5})}, [](const auto& x) { return -x[0]; });
  expect_same(got.get_double(0), -0.0, "-0");
  expect_same(got.get_double(1), 1.5, "1.5");
}

TEST_P(Floats, Intrinsics) {
  const DType t = GetParam();
  using Fn = double (*)(double);
  const std::vector<std::tuple<Intrinsic, Fn, std::vector<double>>> rows{
      {Intrinsic::kExp, [](double x) { return std::exp(x); }, {-3, 0, 0.5, 5, 1000}},
      {Intrinsic::kLog, [](double x) { return std::log(x); }, {0, 0.5, 1, 100, -1}},
      {Intrinsic::kTanh, [](double x) { return std::tanh(x); }, {-9, -0.5, 0, 2}},
      {Intrinsic::kErf, [](double x) { return std::erf(x); }, {-3, -0.25, 0, 1}},
      {Intrinsic::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, {-800, -2, 0, 3, 800}},
      {Intrinsic::kSqrt, [](double x) { return std::sqrt(x); }, {0, 2, 9, -1}},
      {Intrinsic::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, {0, 2, 16}},
      {Intrinsic::kAbs, [](double x) { return x < 0 ? -x : x; }, {-2, 3}},
      {Intrinsic::kFloor, [](double x) { return std::floor(x); }, {-1.5, 2.5, 3}},
      {Intrinsic::kCeil, [](double x) { return std::ceil(x); }, {-1.5, 2.5, 3}},
      {Intrinsic::kRound, [](double x) { return std::nearbyint(x); }, {-1.5, 0.5, 1.5, 2.5, 2.75}},
      {Intrinsic::kTrunc, [](double x) { return std::trunc(x); }, {-1.5, 2.5}},
      {Intrinsic::kSin, [](double x) { return std::sin(x); }, {-2, 0, 1, 100}},
      {Intrinsic::kCos, [](double x) { return std::cos(x); }, {-2, 0, 1, 100}},
      {Intrinsic::kTan, [](double x) { return std::tan(x); }, {-2, 0, 1}},
      {Intrinsic::kAsin, [](double x) { return std::asin(x); }, {-1, 0.5, 2}},
      {Intrinsic::kAcos, [](double x) { return std::acos(x); }, {-1, 0.5, 2}},
      {Intrinsic::kAtan, [](double x) { return std::atan(x); }, {-1, 0.5, 2}},
      {Intrinsic::kSinh, [](double x) { return std::sinh(x); }, {-1, 0.5, 2}},
      {Intrinsic::kCosh, [](double x) { return std::cosh(x); }, {-1, 0.5, 2}},
      {Intrinsic::kAsinh, [](double x) { return std::asinh(x); }, {-1, 0.5, 2}},
      {Intrinsic::kAcosh, [](double x) { return std::acosh(x); }, {0.5, 1, 2}},
      {Intrinsic::kAtanh, [](double x) { return std::atanh(x); }, {-0.5, 0.25, 1}},
  };
  for (const auto& [fn, reference, xs] : rows) {
    const Intrinsic f = fn;
    const Array got =
        run_elementwise(t, {array(xs)}, [&](const auto& x) { return call(f, {x[0]}); });
    for (size_t k = 0; k < xs.size(); ++k) {
      const double want = narrow(t, reference(narrow(t, xs[k])));
      const double v = got.get_double(static_cast<int64_t>(k));
      const std::string what = std::string(to_string(fn)) + " of " + std::to_string(xs[k]);
      if (fn == Intrinsic::kSigmoid && t == kF64) {
        EXPECT_NEAR(v, want, 1e-15) << what;  // two ways to write it in double
      } else {
        expect_same(v, want, what);
      }
    }
  }
}

TEST_P(Floats, PowFmaAndTests) {
  const DType t = GetParam();
  const Array p = run_elementwise(t, {array({2, 9, -2}), array({10, 0.5, 3})}, [](const auto& x) {
    return call(Intrinsic::kPow, {x[0], x[1]});
  });
  EXPECT_EQ(p.get_double(0), 1024);
  EXPECT_EQ(p.get_double(1), 3);
  EXPECT_EQ(p.get_double(2), -8);
  const double inf = std::numeric_limits<double>::infinity();
  const Array odd = array({1, std::nan(""), inf, -inf});
  const auto test = [&](Intrinsic fn) {
    const Array got =
        run_elementwise(kBool, {odd}, [&](const auto& x) { return call(fn, {x[0]}); });
    return std::vector<int64_t>{got.get(0).i, got.get(1).i, got.get(2).i, got.get(3).i};
  };
  EXPECT_EQ(test(Intrinsic::kIsNan), (std::vector<int64_t>{0, 1, 0, 0}));
  EXPECT_EQ(test(Intrinsic::kIsInf), (std::vector<int64_t>{0, 0, 1, 1}));
}

INSTANTIATE_TEST_SUITE_P(All, Floats, ::testing::Values(kF16, kBF16, kF32, kF64),
                         [](const auto& param) { return to_string(param.param); });

TEST(InterpOps, FmaRoundsOnce) {
  const auto fused = [](auto a, auto b, auto c) {
    using T = decltype(a);
    const Array got = run_elementwise(
        dtype_of<T>(), {to_array<T>({a}), to_array<T>({b}), to_array<T>({c})}, [](const auto& x) {
          return call(Intrinsic::kFma, {x[0], x[1], x[2]});
        });
    return at<T>(got, 0);
  };
  EXPECT_EQ(fused(1 + 0x1p-12f, 1 + 0x1p-12f, -1.0f), 0x1p-11f + 0x1p-24f);
  EXPECT_EQ(fused(1 + 0x1p-30, 1 + 0x1p-30, -1.0), 0x1p-29 + 0x1p-60);
  // 1 + 2^-23 + 2^-24 - 2^-60: rounded to double first it would become a tie and go up.
  EXPECT_EQ(fused(1 + 0x1p-18f, (1 - 0x1p-18f) * 0x1p-24f, 1 + 0x1p-23f), 1 + 0x1p-23f);
}

TEST(InterpOps, Bools) {
  const Array a = to_array<uint8_t>({0, 0, 1, 1});
  const Array b = to_array<uint8_t>({0, 1, 0, 1});
  const auto run = [&](const std::function<Expr(const Expr&, const Expr&)>& fn) {
    const Array got = run_elementwise(kU8, {a, b}, [&](const auto& x) {
      return cast(kU8, fn(cast(kBool, x[0]), cast(kBool, x[1])));
    });
    return std::vector<int64_t>{got.get(0).i, got.get(1).i, got.get(2).i, got.get(3).i};
  };
  const auto binary = [&](BinaryOp op) {
    return run([op](const Expr& x, const Expr& y) { return make_binary(op, x, y); });
  };
  EXPECT_EQ(binary(BinaryOp::kAnd), (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(binary(BinaryOp::kOr), (std::vector<int64_t>{0, 1, 1, 1}));
  EXPECT_EQ(binary(BinaryOp::kEq), (std::vector<int64_t>{1, 0, 0, 1}));
  EXPECT_EQ(binary(BinaryOp::kNe), (std::vector<int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(binary(BinaryOp::kBitXor), (std::vector<int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(run([](const Expr& x, const Expr&) { return logical_not(x); }),
            (std::vector<int64_t>{1, 1, 0, 0}));
}

TEST(InterpOps, EvalOfIndexExpressions) {
  const Var i("i"), j("j");
  const std::map<const VarNode*, int64_t> env{{i.node(), -7}, {j.node(), 3}};
  EXPECT_EQ(eval(i * 16 + j, env).i, -109);
  EXPECT_EQ(eval(floor_div(i, j), env).i, -3);
  EXPECT_EQ(eval(floor_mod(i, j), env).i, 2);
  EXPECT_EQ(eval(i / j, env).i, -2);
  EXPECT_EQ(eval(select(lt(i, j), i, floor_div(i, j - 3)), env).i, -7);
  EXPECT_EQ(eval(cast(kF32, i) / cast(kF32, j), env).f, static_cast<double>(-7.0f / 3.0f));
  EXPECT_EQ(eval(vector_reduce(BinaryOp::kMax, ramp(i, j, 4)), env).i, 2);
  EXPECT_THROW(eval(floor_div(i, j - 3), env), InternalError);
  EXPECT_THROW(eval(i + Var("k"), env), InternalError);
}

TEST(InterpOps, ArraysHoldEveryType) {
  for (const DType t :
       {kBool, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF16, kBF16, kF32, kF64}) {
    Array a(t, {2, 3});
    EXPECT_EQ(a.elements(), 6);
    EXPECT_EQ(a.bytes(), 6 * t.bytes());
    a.set_double(4, 1);
    EXPECT_EQ(a.get_double(4), 1) << to_string(t);
    EXPECT_EQ(a.get_double(3), 0) << to_string(t);
    EXPECT_THROW(a.get(6), InternalError);
    EXPECT_THROW(a.set_double(-1, 0), InternalError);
  }
  Array a(kU64, {1});
  a.set(0, {-1, 0});
  EXPECT_EQ(a.get_double(0), 0x1p64);
  EXPECT_EQ(Array(kF32, {}).elements(), 1);
}

}  // namespace
}  // namespace tenon::ir
