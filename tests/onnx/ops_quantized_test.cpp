// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Place = std::vector<int64_t>;

ir::Array random_bytes(Rng& rng, ir::DType t, const Shape& shape) {
  ir::Array a(t, shape);
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set(i, {rng.between(ir::lowest_int(t), ir::highest_int(t)), 0});
  }
  return a;
}

double stored(double real, double scale, double zero, ir::DType t) {
  const auto quotient = static_cast<double>(static_cast<float>(real) / static_cast<float>(scale));
  return std::clamp(std::nearbyint(quotient) + zero, static_cast<double>(ir::lowest_int(t)),
                    static_cast<double>(ir::highest_int(t)));
}

// A scale or zero point for place i of the axis, or for all.
double per(const ir::Array& a, int64_t i) { return a.get_double(a.elements() == 1 ? 0 : i); }

TEST(Quantized, ThereAndBackForTensorsAndAxes) {
  Rng rng(1);
  for (const ir::DType t : {ir::kU8, ir::kI8, ir::kU16, ir::kI16}) {
    for (const bool by_axis : {false, true}) {
      ir::Array x(ir::kF32, {2, 3, 5});
      for (int64_t i = 0; i < x.elements(); ++i) {
        x.set_double(i, rng.unit() * 80 - 40);
      }
      const ir::Array scale = by_axis ? floats({0.25, 0.125, 0.3}) : scalar(ir::kF32, 0.25);
      const ir::Array zero = random_bytes(rng, t, scale.shape());
      const ir::Array want = filled_by(t, x.shape(), [&](const Place& p) {
        return stored(at(x, p), per(scale, p[1]), per(zero, p[1]), t);
      });
      const ir::Array got = OpRun("QuantizeLinear", 21).in(x).known(scale).known(zero).run()[0];
      ASSERT_EQ(difference(got, want), "") << ir::to_string(t);
      const ir::Array back = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
        return (at(want, p) - per(zero, p[1])) * per(scale, p[1]);
      });
      ASSERT_EQ(difference(OpRun("DequantizeLinear", 21).in(want).in(scale).in(zero).run()[0], back,
                           1e-6),
                "");
    }
  }
  const ir::Array halves = floats({0.5, 1.5, -0.5, 2.5, 1000, -7});
  const ir::Array whole = OpRun("QuantizeLinear").in(halves).in(scalar(ir::kF32, 1)).run()[0];
  EXPECT_EQ(whole.dtype(), ir::kU8);
  for (const auto& [i, want] : {std::pair{0, 0}, {1, 2}, {2, 0}, {3, 2}, {4, 255}, {5, 0}}) {
    EXPECT_EQ(whole.get(i).i, want) << i;
  }
}

// Since opset 23 the types of division and result are attributes, and scales may have another type than what they scale.
TEST(Quantized, TypesByAttribute) {
  const ir::Array halves = floats({1.0, 2.5, -3});
  ir::Array scale(ir::kF16, {});
  scale.set_double(0, 0.5);
  const ir::Array stored = OpRun("QuantizeLinear", 23)
                               .in(halves)
                               .in(scale)
                               .with("precision", int64_t{1})
                               .with("output_dtype", int64_t{5})
                               .run()[0];
  EXPECT_EQ(stored.dtype(), ir::kI16);
  for (const auto& [i, want] : {std::pair{0, 2}, {1, 5}, {2, -6}}) {
    EXPECT_EQ(stored.get(i).i, want) << i;
  }
  const ir::Array back =
      OpRun("DequantizeLinear", 23).in(stored).in(scale).with("output_dtype", int64_t{1}).run()[0];
  EXPECT_EQ(difference(back, halves), "");
  EXPECT_THROW(
      OpRun("DequantizeLinear", 23).in(stored).in(scale).with("output_dtype", int64_t{7}).run(),
      UserError);
}

TEST(Quantized, ByBlocks) {
  Rng rng(2);
  const ir::Array x = random_bytes(rng, ir::kI8, {2, 5});
  const ir::Array scale = random_array(rng, ir::kF32, {2, 3});
  const ir::Array zero = random_bytes(rng, ir::kI8, {2, 3});
  const ir::Array got = OpRun("DequantizeLinear", 21)
                            .in(x)
                            .in(scale)
                            .in(zero)
                            .with("axis", int64_t{1})
                            .with("block_size", int64_t{2})
                            .run()[0];
  const ir::Array want = filled_by(ir::kF32, {2, 5}, [&](const Place& p) {
    const Place block{p[0], p[1] / 2};
    return (at(x, p) - at(zero, block)) * at(scale, block);
  });
  EXPECT_EQ(difference(got, want, 1e-6), "");
  EXPECT_THROW(OpRun("DequantizeLinear", 21)
                   .in(x)
                   .in(scale)
                   .in(zero)
                   .with("axis", int64_t{1})
                   .with("block_size", int64_t{1})
                   .run(),
               Unsupported);
}

TEST(Quantized, CoversTheRange) {
  const ir::Array x = floats({0, 2, -3, -2.5, 1.34, 0.5});
  const auto got = OpRun("DynamicQuantizeLinear").in(x).outputs(3).run();
  const double scale = 5.0 / 255;
  const double zero = std::nearbyint(3 / scale);
  EXPECT_NEAR(got[1].get_double(0), scale, 1e-8);
  EXPECT_EQ(got[2].get(0).i, static_cast<int64_t>(zero));
  EXPECT_EQ(difference(got[0], filled_by(ir::kU8, {6},
                                         [&](const Place& p) {
                                           return stored(at(x, p), scale, zero, ir::kU8);
                                         })),
            "");
  EXPECT_EQ(OpRun("DynamicQuantizeLinear").in(floats({0, 0})).outputs(3).run()[0].get(0).i, 0);
}

TEST(Quantized, Products) {
  Rng rng(3);
  for (const bool per_column : {false, true}) {
    const ir::Array a = random_bytes(rng, ir::kU8, {2, 3, 7});
    const ir::Array b = random_bytes(rng, ir::kI8, {7, 5});
    const ir::Array a_zero = random_bytes(rng, ir::kU8, {});
    const ir::Array b_zero = random_bytes(rng, ir::kI8, per_column ? Shape{5} : Shape{});
    const auto sum = [&](const Place& p) {
      double s = 0;
      for (int64_t k = 0; k < 7; ++k) {
        s += (at(a, {p[0], p[1], k}) - a_zero.get_double(0)) *
             (at(b, {k, p[2]}) - per(b_zero, p[2]));
      }
      return s;
    };
    const ir::Array got = OpRun("MatMulInteger").in(a).known(b).in(a_zero).known(b_zero).run()[0];
    EXPECT_EQ(difference(got, filled_by(ir::kI32, {2, 3, 5}, sum)), "");

    const ir::Array a_scale = scalar(ir::kF32, 0.02);
    const ir::Array b_scale =
        per_column ? floats({0.01, 0.02, 0.005, 0.1, 0.03}) : scalar(ir::kF32, 0.01);
    const ir::Array y_scale = scalar(ir::kF32, 0.5);
    const ir::Array y_zero = random_bytes(rng, ir::kU8, {});
    const ir::Array y = OpRun("QLinearMatMul")
                            .in(a)
                            .in(a_scale)
                            .in(a_zero)
                            .in(b)
                            .in(b_scale)
                            .in(b_zero)
                            .in(y_scale)
                            .in(y_zero)
                            .run()[0];
    // A product that lies on the edge between two integers may go either way.
    for_each_place({2, 3, 5}, [&](const Place& p) {
      const double real = sum(p) * 0.02 * per(b_scale, p[2]) / 0.5;
      const double want = std::clamp(real + y_zero.get_double(0), 0.0, 255.0);
      EXPECT_LE(std::abs(at(y, p) - want), 0.5 + 1e-4);
    });
  }
  const ir::Array row = random_bytes(rng, ir::kI8, {7});
  const ir::Array b = random_bytes(rng, ir::kI8, {7, 5});
  EXPECT_EQ(OpRun("MatMulInteger").in(row).in(b).run()[0].shape(), Shape{5});
  EXPECT_EQ(OpRun("MatMulInteger").in(row).in(row).run()[0].shape(), Shape{});
}

TEST(Quantized, ConvolutionsPadWithTheZeroPoint) {
  Rng rng(4);
  const ir::Array x = random_bytes(rng, ir::kU8, {1, 4, 5, 3});
  const ir::Array w = random_bytes(rng, ir::kI8, {6, 2, 3, 2});
  const ir::Array x_zero = scalar(ir::kU8, 100);
  const ir::Array w_zero = random_bytes(rng, ir::kI8, {6});
  const std::vector<int64_t> pads{1, 0, 1, 1};
  const auto sum = [&](const Place& p) {  // two groups, stride 2 and 1
    double s = 0;
    for_each_place({2, 3, 2}, [&](const Place& k) {
      const int64_t i = p[2] * 2 + k[1] - 1;
      const int64_t j = p[3] + k[2];
      if (i >= 0 && i < 5 && j < 3) {
        s += (at(x, {0, p[1] / 3 * 2 + k[0], i, j}) - 100) *
             (at(w, {p[1], k[0], k[1], k[2]}) - per(w_zero, p[1]));
      }
    });
    return s;
  };
  const Shape shape{1, 6, 3, 3};
  const auto conv = [&](OpRun op) {
    return op.with("pads", pads)
        .with("strides", std::vector<int64_t>{2, 1})
        .with("group", int64_t{2})
        .run()[0];
  };
  const ir::Array got = conv(OpRun("ConvInteger").in(x).in(w).in(x_zero).in(w_zero));
  EXPECT_EQ(difference(got, filled_by(ir::kI32, shape, sum)), "");

  const ir::Array scales = floats({0.1, 0.2, 0.01, 0.05, 0.3, 0.15});
  ir::Array bias(ir::kI32, {6});
  for (int64_t i = 0; i < 6; ++i) {
    bias.set(i, {rng.between(-1000, 1000), 0});
  }
  const ir::Array y = conv(OpRun("QLinearConv")
                               .in(x)
                               .in(scalar(ir::kF32, 0.02))
                               .in(x_zero)
                               .in(w)
                               .known(scales)
                               .known(w_zero)
                               .in(scalar(ir::kF32, 3))
                               .in(scalar(ir::kI8, -3))
                               .known(bias));
  ASSERT_EQ(y.shape(), shape);
  for_each_place(shape, [&](const Place& p) {
    const double real = (sum(p) + bias.get_double(p[1])) * 0.02 * per(scales, p[1]) / 3;
    const double want = std::clamp(real - 3, -128.0, 127.0);
    EXPECT_LE(std::abs(at(y, p) - want), 0.5 + 1e-4);
  });
}

// ---- com.microsoft ---------------------------------------------------------------------------

const char* const kMicrosoft = "com.microsoft";

TEST(QuantizedMs, ElementWise) {
  Rng rng(5);
  const ir::Array a = random_bytes(rng, ir::kU8, {2, 3});
  const ir::Array b = random_bytes(rng, ir::kU8, {3});
  const ir::Array scale = scalar(ir::kF32, 0.5);
  const ir::Array zero = scalar(ir::kU8, 99);
  const auto real = [](double v) { return (v - 99) * 0.5; };
  const auto run = [&](const char* op) {
    return OpRun(op, 1, kMicrosoft)
        .in(a)
        .in(scale)
        .in(zero)
        .in(b)
        .in(scale)
        .in(zero)
        .in(scalar(ir::kF32, 2))
        .in(scalar(ir::kU8, 50))
        .run()[0];
  };
  EXPECT_EQ(difference(run("QLinearAdd"), filled_by(ir::kU8, {2, 3},
                                                    [&](const Place& p) {
                                                      return stored(
                                                          real(at(a, p)) + real(at(b, {p[1]})), 2,
                                                          50, ir::kU8);
                                                    })),
            "");
  EXPECT_EQ(difference(run("QLinearMul"), filled_by(ir::kU8, {2, 3},
                                                    [&](const Place& p) {
                                                      return stored(
                                                          real(at(a, p)) * real(at(b, {p[1]})), 2,
                                                          50, ir::kU8);
                                                    })),
            "");
  const ir::Array leaky = OpRun("QLinearLeakyRelu", 1, kMicrosoft)
                              .in(a)
                              .in(scale)
                              .in(zero)
                              .in(scalar(ir::kF32, 0.25))
                              .in(scalar(ir::kU8, 7))
                              .with("alpha", 0.5)
                              .run()[0];
  EXPECT_EQ(difference(leaky, filled_by(ir::kU8, {2, 3},
                                        [&](const Place& p) {
                                          const double v = real(at(a, p));
                                          return stored(v < 0 ? v * 0.5 : v, 0.25, 7, ir::kU8);
                                        })),
            "");
}

TEST(QuantizedMs, ConcatenatesAndPools) {
  Rng rng(6);
  const ir::Array a = random_bytes(rng, ir::kU8, {1, 2, 3, 5});
  const ir::Array b = random_bytes(rng, ir::kU8, {1, 1, 3, 5});
  const ir::Array fine = scalar(ir::kF32, 0.5);
  const ir::Array coarse = scalar(ir::kF32, 1);
  const ir::Array zero = scalar(ir::kU8, 10);
  const ir::Array got = OpRun("QLinearConcat", 1, kMicrosoft)
                            .in(coarse)
                            .in(zero)
                            .in(a)
                            .in(fine)
                            .in(zero)
                            .in(b)
                            .in(coarse)
                            .in(zero)
                            .with("axis", int64_t{1})
                            .run()[0];
  EXPECT_EQ(
      difference(
          got,
          filled_by(
              ir::kU8, {1, 3, 3, 5},
              [&](const Place& p) {
                const double v = p[1] < 2 ? (at(a, p) - 10) * 0.5 : at(b, {0, 0, p[2], p[3]}) - 10;
                return stored(v, 1, 10, ir::kU8);
              })),
      "");
  const ir::Array mean = OpRun("QLinearGlobalAveragePool", 1, kMicrosoft)
                             .in(a)
                             .in(fine)
                             .in(zero)
                             .in(fine)
                             .in(zero)
                             .run()[0];
  ASSERT_EQ(mean.shape(), (Shape{1, 2, 1, 1}));
  for (int64_t channel = 0; channel < 2; ++channel) {
    double sum = 0;
    for_each_place({3, 5}, [&](const Place& p) { sum += at(a, {0, channel, p[0], p[1]}); });
    EXPECT_LE(std::abs(mean.get_double(channel) - sum / 15), 0.5 + 1e-4);
  }
}

TEST(QuantizedMs, ProductsToFloat) {
  Rng rng(7);
  const ir::Array a = random_bytes(rng, ir::kU8, {3, 7});
  const ir::Array b = random_bytes(rng, ir::kI8, {7, 5});
  const ir::Array b_scale = floats({0.1, 0.2, 0.01, 0.05, 0.3});
  const ir::Array bias = floats({1, 2, 3, 4, 5});
  const ir::Array got = OpRun("MatMulIntegerToFloat", 1, kMicrosoft)
                            .in(a)
                            .in(b)
                            .in(scalar(ir::kF32, 0.5))
                            .in(b_scale)
                            .in(scalar(ir::kU8, 100))
                            .absent()
                            .in(bias)
                            .run()[0];
  const ir::Array want = filled_by(ir::kF32, {3, 5}, [&](const Place& p) {
    double sum = 0;
    for (int64_t k = 0; k < 7; ++k) {
      sum += (at(a, {p[0], k}) - 100) * at(b, {k, p[1]});
    }
    return sum * 0.5 * b_scale.get_double(p[1]) + bias.get_double(p[1]);
  });
  EXPECT_EQ(difference(got, want, 1e-5), "");

  const ir::Array x = random_array(rng, ir::kF32, {3, 7});
  const ir::Array near = OpRun("DynamicQuantizeMatMul", 1, kMicrosoft)
                             .in(x)
                             .in(b)
                             .in(b_scale)
                             .absent()
                             .in(bias)
                             .run()[0];
  for_each_place({3, 5}, [&](const Place& p) {
    double sum = 0;
    double magnitude = 0;
    for (int64_t k = 0; k < 7; ++k) {
      sum += at(x, {p[0], k}) * at(b, {k, p[1]});
      magnitude += std::abs(at(b, {k, p[1]}));
    }
    // Half a step of the left operand for each product.
    const double step = 4.0 / 255;
    const double scale = b_scale.get_double(p[1]);
    EXPECT_NEAR(at(near, p), sum * scale + bias.get_double(p[1]),
                magnitude * step / 2 * scale + 1e-4);
  });
}

}  // namespace
}  // namespace tenon::onnx
