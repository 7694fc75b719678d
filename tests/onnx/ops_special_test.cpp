// SPDX-License-Identifier: Apache-2.0
// What each element-wise operator makes of NaN and infinities, in vectors and in what is left behind
// them. The wanted numbers were written down from ONNX's reference implementation.
#include <gtest/gtest.h>

#include "onnx/special_values.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

constexpr double kFloatMax = std::numeric_limits<float>::max();
constexpr int64_t kSizes[] = {1, 7, 17, 33};

OpRun op_run(const std::string& op, int64_t opset, const Attributes& attributes) {
  OpRun run(op, opset);
  for (const auto& [name, value] : attributes) run.with(name, value);
  return run;
}

// `size` of the elements one after the other, from number `first` on and round again.
ir::Array cycled(ir::DType t, const Elements& v, int64_t size, int64_t first) {
  return filled_by(t, {size}, [&](const std::vector<int64_t>& at) {
    return v[static_cast<size_t>(at[0] + first) % v.size()];
  });
}

// ---- element by element ----------------------------------------------------------------------

const Elements kOperand = {kNan, kInf, -kInf, 0, 1, -1, 3, -3};

struct Unary {
  const char* op;
  int64_t opset;
  Attributes attributes;
  Elements want;  // of kOperand
};

// clang-format off
const Unary kUnary[] = {
    {"Abs", 17, {}, {kNan, kInf, kInf, 0, 1, 1, 3, 3}},
    {"Acos", 17, {}, {kNan, kNan, kNan, 1.570796, 0, 3.141593, kNan, kNan}},
    {"Acosh", 17, {}, {kNan, kInf, kNan, kNan, 0, kNan, 1.762747, kNan}},
    {"Asin", 17, {}, {kNan, kNan, kNan, 0, 1.570796, -1.570796, kNan, kNan}},
    {"Asinh", 17, {}, {kNan, kInf, -kInf, 0, 0.8813736, -0.8813736, 1.818447, -1.818447}},
    {"Atan", 17, {}, {kNan, 1.570796, -1.570796, 0, 0.7853982, -0.7853982, 1.249046, -1.249046}},
    {"Atanh", 17, {}, {kNan, kNan, kNan, 0, kInf, -kInf, kNan, kNan}},
    {"Ceil", 17, {}, {kNan, kInf, -kInf, 0, 1, -1, 3, -3}},
    {"Celu", 17, {}, {kNan, kInf, -1, 0, 1, -0.6321205, 3, -0.9502129}},
    {"Celu", 17, {{"alpha", 2.0}}, {kNan, kInf, -2, 0, 1, -0.7869387, 3, -1.55374}},
    {"Clip", 6, {}, {kNan, kFloatMax, -kFloatMax, 0, 1, -1, 3, -3}},
    {"Clip", 6, {{"min", -2.0}}, {kNan, kFloatMax, -2, 0, 1, -1, 3, -2}},
    {"Clip", 6, {{"min", -2.0}, {"max", 2.0}}, {kNan, 2, -2, 0, 1, -1, 2, -2}},
    {"Cos", 17, {}, {kNan, kNan, kNan, 1, 0.5403023, 0.5403023, -0.9899925, -0.9899925}},
    {"Cosh", 17, {}, {kNan, kInf, kInf, 1, 1.543081, 1.543081, 10.06766, 10.06766}},
    {"Elu", 17, {}, {kNan, kInf, -1, 0, 1, -0.6321205, 3, -0.9502129}},
    {"Erf", 17, {}, {kNan, 1, -1, 0, 0.8427008, -0.8427008, 0.9999779, -0.9999779}},
    {"Exp", 17, {}, {kNan, kInf, 0, 1, 2.718282, 0.3678794, 20.08554, 0.04978707}},
    {"Floor", 17, {}, {kNan, kInf, -kInf, 0, 1, -1, 3, -3}},
    {"Gelu", 20, {}, {kNan, kInf, kNan, 0, 0.8413447, -0.1586553, 2.99595, -0.004049689}},
    {"Gelu", 20, {{"approximate", std::string("tanh")}},
     {kNan, kInf, kNan, 0, 0.841192, -0.158808, 2.996363, -0.003637344}},
    {"HardSigmoid", 17, {}, {kNan, 1, 0, 0.5, 0.7, 0.3, 1, 0}},
    {"HardSwish", 17, {}, {kNan, kInf, kNan, 0, 0.6666667, -0.3333333, 3, 0}},
    {"IsInf", 17, {}, {0, 1, 1, 0, 0, 0, 0, 0}},
    {"IsInf", 17, {{"detect_negative", int64_t{0}}}, {0, 1, 0, 0, 0, 0, 0, 0}},
    {"IsNaN", 17, {}, {1, 0, 0, 0, 0, 0, 0, 0}},
    {"LeakyRelu", 17, {}, {kNan, kInf, -kInf, 0, 1, -0.01, 3, -0.03}},
    {"Log", 17, {}, {kNan, kInf, kNan, -kInf, 0, kNan, 1.098612, kNan}},
    {"Mish", 18, {}, {kNan, kInf, kNan, 0, 0.8650984, -0.3034015, 2.986535, -0.1456475}},
    {"Neg", 17, {}, {kNan, -kInf, kInf, 0, -1, 1, -3, 3}},
    {"Reciprocal", 17, {}, {kNan, 0, 0, kInf, 1, -1, 0.3333333, -0.3333333}},
    {"Relu", 17, {}, {kNan, kInf, 0, 0, 1, 0, 3, 0}},
    {"Round", 17, {}, {kNan, kInf, -kInf, 0, 1, -1, 3, -3}},
    {"Selu", 17, {}, {kNan, kInf, -1.758099, 0, 1.050701, -1.111331, 3.152103, -1.670569}},
    {"Shrink", 17, {}, {0, kInf, -kInf, 0, 1, -1, 3, -3}},
    {"Sigmoid", 17, {}, {kNan, 1, 0, 0.5, 0.7310586, 0.2689414, 0.9525741, 0.04742587}},
    {"Sign", 17, {}, {kNan, 1, -1, 0, 1, -1, 1, -1}},
    {"Sin", 17, {}, {kNan, kNan, kNan, 0, 0.841471, -0.841471, 0.14112, -0.14112}},
    {"Sinh", 17, {}, {kNan, kInf, -kInf, 0, 1.175201, -1.175201, 10.01787, -10.01787}},
    {"Softplus", 17, {}, {kNan, kInf, 0, 0.6931472, 1.313262, 0.3132617, 3.048587, 0.04858735}},
    {"Softsign", 17, {}, {kNan, kNan, kNan, 0, 0.5, -0.5, 0.75, -0.75}},
    {"Sqrt", 17, {}, {kNan, kInf, kNan, 0, 1, kNan, 1.732051, kNan}},
    {"Tan", 17, {}, {kNan, kNan, kNan, 0, 1.557408, -1.557408, -0.1425465, 0.1425465}},
    {"Tanh", 17, {}, {kNan, 1, -1, 0, 0.7615942, -0.7615942, 0.9950548, -0.9950548}},
    {"ThresholdedRelu", 17, {}, {0, kInf, 0, 0, 0, 0, 3, 0}},
};
// clang-format on

TEST(SpecialValues, OneOperand) {
  for (const Unary& u : kUnary) {
    for (const ir::DType t : {ir::kF16, ir::kF32, ir::kF64}) {
      if (t == ir::kF16 && u.opset < 7) continue;  // its bounds are infinite in f16
      for (const int64_t size : kSizes) {
        const int64_t first = size == 1 ? 0 : size % 8;
        const ir::Array got =
            op_run(u.op, u.opset, u.attributes).in(cycled(t, kOperand, size, first)).run()[0];
        EXPECT_EQ(difference(got, cycled(got.dtype(), u.want, size, first), seven_digits(t)), "")
            << u.op << " of " << size << " " << ir::to_string(t);
      }
    }
  }
}

const Elements kLeft = {kNan, 1, kNan, kInf, -kInf, kNan, -2, 2, -1, kInf, -kInf, 5, 0, kInf, 0};
const Elements kRight = {1,    kNan, kNan, kNan,  kNan, -kInf, 0.5, -kInf,
                         kInf, kInf, kInf, -kInf, kInf, 0,     kNan};

struct Binary {
  const char* op;
  Attributes attributes;
  Elements want;  // of kLeft and kRight
};

const Binary kBinary[] = {
    {"Add",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, -1.5, -kInf, kInf, kInf, kNan, -kInf, kInf, kInf, kNan}},
    {"Sub",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, -2.5, kInf, -kInf, kNan, -kInf, kInf, -kInf, kInf, kNan}},
    {"Mul",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, -1, -kInf, -kInf, kInf, -kInf, -kInf, kNan, kNan, kNan}},
    {"Div", {}, {kNan, kNan, kNan, kNan, kNan, kNan, -4, 0, 0, kNan, kNan, 0, 0, kInf, kNan}},
    {"Max",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, 0.5, 2, kInf, kInf, kInf, 5, kInf, kInf, kNan}},
    {"Min",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, -2, -kInf, -1, kInf, -kInf, -kInf, 0, 0, kNan}},
    {"Mod",
     {{"fmod", int64_t{1}}},
     {kNan, kNan, kNan, kNan, kNan, kNan, 0, 2, -1, kNan, kNan, 5, 0, kNan, kNan}},
    {"Mod",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, 0, -kInf, kInf, kNan, kNan, -kInf, 0, kNan, kNan}},
    {"Pow", {}, {kNan, 1, kNan, kNan, kNan, kNan, kNan, 0, 1, kInf, kInf, 0, 0, 1, kNan}},
    {"PRelu",
     {},
     {kNan, 1, kNan, kInf, kNan, kNan, -1, 2, -kInf, kInf, -kInf, 5, kNan, kInf, kNan}},
    {"Equal", {}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}},
    {"Less", {}, {0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0}},
    {"LessOrEqual", {}, {0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 0}},
    {"Greater", {}, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0}},
    {"GreaterOrEqual", {}, {0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0}},
    {"Mean",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, -0.75, -kInf, kInf, kInf, kNan, -kInf, kInf, kInf, kNan}},
    {"Sum",
     {},
     {kNan, kNan, kNan, kNan, kNan, kNan, -1.5, -kInf, kInf, kInf, kNan, -kInf, kInf, kInf, kNan}},
};

TEST(SpecialValues, TwoOperands) {
  for (const Binary& b : kBinary) {
    for (const ir::DType t : {ir::kF16, ir::kF32, ir::kF64}) {
      for (const int64_t size : kSizes) {
        const ir::Array got = op_run(b.op, 17, b.attributes)
                                  .in(cycled(t, kLeft, size, size))
                                  .in(cycled(t, kRight, size, size))
                                  .run()[0];
        EXPECT_EQ(difference(got, cycled(got.dtype(), b.want, size, size), seven_digits(t)), "")
            << b.op << " of " << size << " " << ir::to_string(t);
      }
    }
  }
}

// ---- bounds that are operands ----------------------------------------------------------------

TEST(SpecialValues, ClipByOperands) {
  const ir::Array x = cycled(ir::kF32, kOperand, 17, 0);
  const ir::Array low = scalar(ir::kF32, -2);
  const ir::Array high = scalar(ir::kF32, 2);
  const ir::Array want = cycled(ir::kF32, {kNan, 2, -2, 0, 1, -1, 2, -2}, 17, 0);
  const ir::Array none = cycled(ir::kF32, {kNan}, 17, 0);
  const ir::Array nan = scalar(ir::kF32, kNan);
  EXPECT_EQ(difference(OpRun("Clip").in(x).in(low).in(high).run()[0], want), "");
  EXPECT_EQ(difference(OpRun("Clip").in(x).known(low).known(high).run()[0], want), "");
  EXPECT_EQ(difference(OpRun("Clip").in(x).in(nan).in(high).run()[0], none), "");
  EXPECT_EQ(difference(OpRun("Clip").in(x).known(nan).known(high).run()[0], none), "");
  EXPECT_EQ(difference(OpRun("Clip").in(x).in(low).in(nan).run()[0], none), "");
}

TEST(SpecialValues, MaxOfManyOperandsInAnyOrder) {
  const ir::Array a = cycled(ir::kF32, {1, kNan, 3, -kInf}, 33, 0);
  const ir::Array b = cycled(ir::kF32, {kNan, 2, 1, -kInf}, 33, 0);
  const ir::Array c = cycled(ir::kF32, {5, 6, -1, kInf}, 33, 0);
  const ir::Array largest = cycled(ir::kF32, {kNan, kNan, 3, kInf}, 33, 0);
  const ir::Array smallest = cycled(ir::kF32, {kNan, kNan, -1, -kInf}, 33, 0);
  const std::vector<std::vector<ir::Array>> orders = {{a, b, c}, {c, b, a}, {b, c, a}};
  for (const std::vector<ir::Array>& o : orders) {
    EXPECT_EQ(difference(OpRun("Max").in(o[0]).in(o[1]).in(o[2]).run()[0], largest), "");
    EXPECT_EQ(difference(OpRun("Min").in(o[0]).in(o[1]).in(o[2]).run()[0], smallest), "");
  }
}

// As Cast does it: the nearest number of the type, and 0 for NaN.
TEST(SpecialValues, ToIntegers) {
  const ir::Array x = cycled(ir::kF32, kOperand, 17, 0);
  const ir::Array scale = scalar(ir::kF32, 0.5);
  const auto quantized = [&](ir::DType t) {
    return OpRun("QuantizeLinear").in(x).in(scale).in(scalar(t, 5)).run()[0];
  };
  const ir::Array u8 = cycled(ir::kU8, {0, 255, 0, 5, 7, 3, 11, 0}, 17, 0);
  const ir::Array i8 = cycled(ir::kI8, {0, 127, -128, 5, 7, 3, 11, -1}, 17, 0);
  EXPECT_EQ(difference(quantized(ir::kU8), u8), "");
  EXPECT_EQ(difference(quantized(ir::kI8), i8), "");
  const ir::Array cast = OpRun("Cast").in(x).with("to", int64_t{3}).run()[0];
  EXPECT_EQ(difference(cast, cycled(ir::kI8, {0, 127, -128, 0, 1, -1, 3, -3}, 17, 0)), "");
}

}  // namespace
}  // namespace tenon::onnx
