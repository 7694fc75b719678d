// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;

constexpr ir::DType kNumbers[] = {ir::kI8,  ir::kI16, ir::kI32, ir::kI64, ir::kU8, ir::kU16,
                                  ir::kU32, ir::kU64, ir::kF16, ir::kF32, ir::kF64};

double tolerance(ir::DType t) { return t == ir::kF16 ? 2e-3 : t == ir::kF32 ? 2e-6 : 0; }

// The operand's place for a place of the result.
std::vector<int64_t> narrowed(const std::vector<int64_t>& place, const Shape& shape) {
  std::vector<int64_t> own(place.end() - static_cast<std::ptrdiff_t>(shape.size()), place.end());
  for (size_t d = 0; d < shape.size(); ++d) {
    own[d] = shape[d] == 1 ? 0 : own[d];
  }
  return own;
}

struct BinaryCase {
  const char* op;
  double (*fn)(double, double);
  bool bools;
};

class BinaryOps : public ::testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryOps, BroadcastOnAllTypes) {
  const BinaryCase& p = GetParam();
  Rng rng(7);
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{2, 3}, {2, 3}}, {{2, 1, 5}, {3, 1}}, {{}, {7}}, {{1, 1}, {}}};
  for (const ir::DType t : kNumbers) {
    for (const auto& [sa, sb] : shapes) {
      const ir::Array a = random_array(rng, t, sa);
      ir::Array b = random_array(rng, t, sb);
      for (int64_t i = 0; i < b.elements(); ++i) {
        b.set_double(i, b.get_double(i) == 0 ? 3 : b.get_double(i));
      }
      Shape shape(std::max(sa.size(), sb.size()), 1);
      for (size_t d = 0; d < shape.size(); ++d) {
        const size_t from_end = shape.size() - d;
        for (const Shape& s : {sa, sb}) {
          shape[d] = from_end <= s.size() ? std::max(shape[d], s[s.size() - from_end]) : shape[d];
        }
      }
      const ir::DType result = p.bools ? ir::kBool : t;
      const ir::Array want = filled_by(result, shape, [&](const std::vector<int64_t>& place) {
        const double v = p.fn(at(a, narrowed(place, sa)), at(b, narrowed(place, sb)));
        return t.is_int() ? std::trunc(v) : v;
      });
      if (!t.is_signed() && std::string(p.op) == "Sub") {
        continue;  // wraps around
      }
      const ir::Array got = OpRun(p.op).in(a).in(b).run()[0];
      EXPECT_EQ(difference(got, want, tolerance(t)), "") << p.op << " of " << ir::to_string(t);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BinaryOps,
    ::testing::Values(
        BinaryCase{"Add", [](double a, double b) { return a + b; }, false},
        BinaryCase{"Sub", [](double a, double b) { return a - b; }, false},
        BinaryCase{"Mul", [](double a, double b) { return a * b; }, false},
        BinaryCase{"Div", [](double a, double b) { return a / b; }, false},
        BinaryCase{"Max", [](double a, double b) { return std::max(a, b); }, false},
        BinaryCase{"Min", [](double a, double b) { return std::min(a, b); }, false},
        BinaryCase{"Equal", [](double a, double b) { return a == b ? 1.0 : 0; }, true},
        BinaryCase{"Less", [](double a, double b) { return a < b ? 1.0 : 0; }, true},
        BinaryCase{"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0; }, true}),
    [](const auto& test) { return std::string(test.param.op); });

struct UnaryCase {
  const char* op;
  double (*fn)(double);
  double low, high;
};

class UnaryOps : public ::testing::TestWithParam<UnaryCase> {};

TEST_P(UnaryOps, EqualTheLibrary) {
  const UnaryCase& p = GetParam();
  Rng rng(11);
  for (const ir::DType t : {ir::kF16, ir::kBF16, ir::kF32, ir::kF64}) {
    ir::Array x(t, {3, 1, 7});
    for (int64_t i = 0; i < x.elements(); ++i) {
      x.set_double(i, p.low + rng.unit() * (p.high - p.low));
    }
    const ir::Array want = filled_by(
        t, x.shape(), [&](const std::vector<int64_t>& place) { return p.fn(at(x, place)); });
    const double allowed = t == ir::kBF16 ? 1e-2 : t == ir::kF64 ? 1e-12 : tolerance(t);
    EXPECT_EQ(difference(OpRun(p.op, 20).in(x).run()[0], want, allowed), "") << ir::to_string(t);
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

INSTANTIATE_TEST_SUITE_P(
    All, UnaryOps,
    ::testing::Values(
        UnaryCase{"Exp", std::exp, -3, 3}, UnaryCase{"Log", std::log, 0.1, 5},
        UnaryCase{"Sqrt", std::sqrt, 0, 9}, UnaryCase{"Erf", std::erf, -2, 2},
        UnaryCase{"Sin", std::sin, -6, 6}, UnaryCase{"Cos", std::cos, -6, 6},
        UnaryCase{"Tan", std::tan, -1, 1}, UnaryCase{"Asin", std::asin, -1, 1},
        UnaryCase{"Acos", std::acos, -1, 1}, UnaryCase{"Atan", std::atan, -9, 9},
        UnaryCase{"Sinh", std::sinh, -2, 2}, UnaryCase{"Cosh", std::cosh, -2, 2},
        UnaryCase{"Tanh", std::tanh, -3, 3}, UnaryCase{"Asinh", std::asinh, -9, 9},
        UnaryCase{"Acosh", std::acosh, 1, 9}, UnaryCase{"Atanh", std::atanh, -0.9, 0.9},
        UnaryCase{"Floor", std::floor, -5, 5}, UnaryCase{"Ceil", std::ceil, -5, 5},
        UnaryCase{"Round", std::nearbyint, -5, 5},
        UnaryCase{"Reciprocal", [](double x) { return 1 / x; }, 0.5, 3},
        UnaryCase{"Sigmoid", sigmoid, -9, 9}, UnaryCase{"Softplus", softplus, -9, 9},
        UnaryCase{"Softsign", [](double x) { return x / (1 + std::abs(x)); }, -9, 9},
        UnaryCase{"Relu", [](double x) { return x > 0 ? x : 0; }, -2, 2},
        UnaryCase{"LeakyRelu", [](double x) { return x > 0 ? x : 0.01 * x; }, -2, 2},
        UnaryCase{"Elu", [](double x) { return x > 0 ? x : std::expm1(x); }, -2, 2},
        UnaryCase{"Celu", [](double x) { return x > 0 ? x : std::expm1(x); }, -2, 2},
        UnaryCase{"Selu",
                  [](double x) {
                    return 1.05070102214813232421875 *
                           (x > 0 ? x : 1.67326319217681884765625 * std::expm1(x));
                  },
                  -2, 2},
        UnaryCase{"ThresholdedRelu", [](double x) { return x > 1 ? x : 0; }, -2, 2},
        UnaryCase{"HardSigmoid",
                  [](double x) { return std::min(std::max(0.2 * x + 0.5, 0.0), 1.0); }, -4, 4},
        // By HardSigmoid, whose attribute alpha is a float.
        UnaryCase{
            "HardSwish",
            [](double x) { return x * std::min(std::max(x * double{1.0F / 6} + 0.5, 0.0), 1.0); },
            -4, 4},
        UnaryCase{"Mish", [](double x) { return x * std::tanh(softplus(x)); }, -4, 4},
        UnaryCase{"Gelu", [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2))); }, -4,
                  4},
        UnaryCase{"Shrink", [](double x) { return std::abs(x) > 0.5 ? x : 0; }, -2, 2}),
    [](const auto& test) { return std::string(test.param.op); });

TEST(MathOps, GeluByTanhAndItsBias) {
  const ir::Array x = floats({-3, -1, -0.25, 0, 0.5, 2});
  const auto gelu = [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  ir::Array want(ir::kF32, {6});
  ir::Array biased(ir::kF32, {6});
  for (int64_t i = 0; i < 6; ++i) {
    want.set_double(i, gelu(x.get_double(i)));
    biased.set_double(i, gelu(x.get_double(i) + 0.5));
  }
  const ir::Array got = OpRun("Gelu", 20).in(x).with("approximate", std::string("tanh")).run()[0];
  EXPECT_EQ(difference(got, want, 2e-6), "");
  const ir::Array fast =
      OpRun("FastGelu", 1, "com.microsoft").in(x).in(scalar(ir::kF32, 0.5)).run()[0];
  EXPECT_EQ(difference(fast, biased, 2e-6), "");
}

TEST(MathOps, IntegersDivideTowardsZeroAndNeverTrap) {
  const ir::Array a = ints({7, -7, 7, -7, INT64_MIN, 5});
  const ir::Array b = ints({2, 2, -2, -2, -1, 0});
  const ir::Array q = OpRun("Div").in(a).in(b).run()[0];
  for (const auto& [i, want] : {std::pair{0, 3}, {1, -3}, {2, -3}, {3, 3}}) {
    EXPECT_EQ(q.get(i).i, want);
  }
  EXPECT_EQ(q.get(4).i, INT64_MIN);
  OpRun("Mod").in(a).in(b).run();
}

TEST(MathOps, ModTakesTheSignOfTheDivisorOrOfTheDividend) {
  const ir::Array a = ints({7, -7, 7, -7, 6});
  const ir::Array b = ints({3, 3, -3, -3, 3});
  EXPECT_EQ(difference(OpRun("Mod").in(a).in(b).run()[0], ints({1, 2, -2, -1, 0})), "");
  EXPECT_EQ(difference(OpRun("Mod").in(a).in(b).with("fmod", int64_t{1}).run()[0],
                       ints({1, -1, 1, -1, 0})),
            "");
  Rng rng(3);
  for (const ir::DType t : {ir::kF16, ir::kF32, ir::kF64}) {
    const ir::Array x = random_array(rng, t, {50});
    ir::Array y = random_array(rng, t, {50});
    y.set_double(0, INFINITY);
    const ir::Array want = filled_by(
        t, {50}, [&](const auto& place) { return std::fmod(at(x, place), at(y, place)); });
    EXPECT_EQ(difference(OpRun("Mod").in(x).in(y).with("fmod", int64_t{1}).run()[0], want, 1e-6),
              "");
  }
}

TEST(MathOps, PowKeepsTheTypeOfItsBase) {
  Rng rng(5);
  for (const double e : {0.5, 1.0, 2.0, 3.0, -1.0, 1.5, 0.0}) {
    ir::Array x(ir::kF32, {3, 5});
    for (int64_t i = 0; i < x.elements(); ++i) {
      x.set_double(i, 0.25 + rng.unit() * 3);
    }
    const ir::Array want = filled_by(ir::kF32, x.shape(),
                                     [&](const auto& place) { return std::pow(at(x, place), e); });
    EXPECT_EQ(difference(OpRun("Pow").in(x).known(scalar(ir::kF32, e)).run()[0], want, 2e-6), "");
    EXPECT_EQ(difference(OpRun("Pow").in(x).in(scalar(ir::kF32, e)).run()[0], want, 2e-6), "");
  }
  const ir::Array bases = ints({2, 3, -3, 10, 1});
  EXPECT_EQ(difference(OpRun("Pow").in(bases).in(ints({10, 3, 3, 9, 50})).run()[0],
                       ints({1024, 27, -27, 1000000000, 1})),
            "");
  EXPECT_EQ(difference(OpRun("Pow").in(bases).in(floats({0.5, 2, 2, 0, 7})).run()[0],
                       ints({1, 9, 9, 1, 1})),
            "");
  // An exponent of higher rank stretches the base.
  EXPECT_EQ(OpRun("Pow").in(scalar(ir::kF32, 3)).known(floats({2})).run()[0].shape(), Shape{1});
}

TEST(MathOps, ShiftsBeyondTheWidthGiveZero) {
  ir::Array a(ir::kU8, {4});
  ir::Array by(ir::kU8, {4});
  for (int64_t i = 0; i < 4; ++i) {
    a.set(i, {129, 0});
    by.set(i, {std::array<int64_t, 4>{0, 1, 7, 9}[static_cast<size_t>(i)], 0});
  }
  const ir::Array left =
      OpRun("BitShift").in(a).in(by).with("direction", std::string("LEFT")).run()[0];
  const ir::Array right =
      OpRun("BitShift").in(a).in(by).with("direction", std::string("RIGHT")).run()[0];
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t n = by.get(i).i;
    EXPECT_EQ(left.get(i).i, n > 7 ? 0 : (129 << n) & 255);
    EXPECT_EQ(right.get(i).i, n > 7 ? 0 : 129 >> n);
  }
}

TEST(MathOps, SignsAndBits) {
  EXPECT_EQ(difference(OpRun("Sign").in(ints({-4, 0, 9})).run()[0], ints({-1, 0, 1})), "");
  EXPECT_EQ(
      difference(OpRun("Sign").in(floats({-0.5, 0, NAN, 3})).run()[0], floats({-1, 0, NAN, 1})),
      "");
  EXPECT_EQ(difference(OpRun("BitwiseNot", 18).in(ints({0, 5})).run()[0], ints({-1, -6})), "");
  EXPECT_EQ(
      difference(OpRun("BitwiseXor", 18).in(ints({6, 5})).in(ints({3, 5})).run()[0], ints({5, 0})),
      "");
  ir::Array bytes(ir::kU8, {2});
  bytes.set(0, {200, 0});
  EXPECT_EQ(difference(OpRun("Abs").in(bytes).run()[0], bytes), "");
}

TEST(MathOps, OldBroadcastingBeginsAtAnAxis) {
  Rng rng(9);
  const ir::Array a = random_array(rng, ir::kF32, {2, 3, 5});
  const ir::Array b = random_array(rng, ir::kF32, {3});
  const ir::Array got =
      OpRun("Add", 6).in(a).in(b).with("broadcast", int64_t{1}).with("axis", int64_t{1}).run()[0];
  const ir::Array want = filled_by(ir::kF32, a.shape(), [&](const auto& p) {
    return static_cast<double>(static_cast<float>(at(a, p)) + static_cast<float>(at(b, {p[1]})));
  });
  EXPECT_EQ(difference(got, want), "");
}

TEST(MathOps, ClipTakesAttributesOrInputs) {
  const ir::Array x = floats({-9, -1, 0.5, 2, 9});
  const ir::Array want = floats({-1, -1, 0.5, 2, 2});
  EXPECT_EQ(difference(OpRun("Clip", 6).in(x).with("min", -1.0).with("max", 2.0).run()[0], want),
            "");
  const ir::Array low = scalar(ir::kF32, -1);
  const ir::Array high = scalar(ir::kF32, 2);
  EXPECT_EQ(difference(OpRun("Clip").in(x).known(low).known(high).run()[0], want), "");
  EXPECT_EQ(difference(OpRun("Clip").in(x).in(low).in(high).run()[0], want), "");
  EXPECT_EQ(difference(OpRun("Clip").in(x).absent().in(high).run()[0], floats({-9, -1, 0.5, 2, 2})),
            "");
  EXPECT_EQ(difference(OpRun("Clip").in(x).run()[0], x), "");
}

TEST(MathOps, CastsBetweenAllTypes) {
  const std::vector<std::pair<int64_t, ir::DType>> types{
      {1, ir::kF32}, {2, ir::kU8},   {3, ir::kI8},   {5, ir::kI16},  {6, ir::kI32},
      {7, ir::kI64}, {9, ir::kBool}, {10, ir::kF16}, {11, ir::kF64}, {16, ir::kBF16}};
  Rng rng(13);
  for (const auto& [_, from] : types) {
    for (const auto& [code, to] : types) {
      ir::Array x = random_array(rng, from, {3, 5});
      for (int64_t i = 0; i < x.elements(); ++i) {
        x.set_double(i, std::abs(x.get_double(i)));
      }
      const ir::Array want = filled_by(to, x.shape(), [&](const auto& p) { return at(x, p); });
      EXPECT_EQ(difference(OpRun("Cast").in(x).with("to", code).run()[0], want), "")
          << ir::to_string(from) << " to " << ir::to_string(to);
      EXPECT_EQ(difference(OpRun("CastLike").in(x).in(random_array(rng, to, {1})).run()[0], want),
                "");
    }
  }
  EXPECT_THROW(OpRun("Cast").in(ints({1})).with("to", int64_t{8}).run(), UserError);
}

TEST(MathOps, SumsAndMeansOfMany) {
  const ir::Array a = floats({1, 2, 3});
  const ir::Array b = floats({10, 20, 30});
  const ir::Array c = scalar(ir::kF32, 4);
  EXPECT_EQ(difference(OpRun("Sum").in(a).in(b).in(c).run()[0], floats({15, 26, 37})), "");
  EXPECT_EQ(
      difference(OpRun("Mean").in(a).in(b).in(c).run()[0], floats({5, 26 / 3.0, 37 / 3.0}), 1e-6),
      "");
  EXPECT_EQ(difference(OpRun("Max").in(a).run()[0], a), "");
}

TEST(MathOps, NothingIn) {
  const ir::Array none(ir::kF32, {0, 3});
  EXPECT_EQ(OpRun("Add").in(none).in(floats({1, 2, 3})).run()[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(OpRun("Less").in(none).in(none).run()[0].dtype(), ir::kBool);
  EXPECT_EQ(OpRun("Relu").in(none).run()[0].shape(), (Shape{0, 3}));
}

TEST(MathOps, Refusals) {
  EXPECT_THROW(OpRun("Add").in(ints({1})).in(floats({1})).run(), Unsupported);
  EXPECT_THROW(OpRun("Exp").in(ints({1})).run(), Unsupported);
  EXPECT_THROW(OpRun("And").in(ints({1})).in(ints({1})).run(), Unsupported);
  EXPECT_THROW(OpRun("BitShift").in(ints({1})).in(ints({1})).run(), Unsupported);
  EXPECT_THROW(OpRun("Add").in(floats({1, 2})).in(floats({1, 2, 3})).run(), UserError);
}

}  // namespace
}  // namespace tenon::onnx
