// SPDX-License-Identifier: Apache-2.0
#include "templates/case_tables.h"

#include "te/ops.h"

namespace tenon::templates {
namespace {

te::ComputeDag conv_dag(std::vector<int64_t> x, std::vector<int64_t> w, te::ConvParams p,
                        bool epilogue) {
  te::Builder b;
  const auto in = b.input("X", ir::kF32, x);
  const auto weights = b.constant("W", ir::kF32, w);
  auto y = te::conv(b, "Y", in, weights, p);
  if (epilogue) y = te::relu(b, "R", y);
  b.output(y);
  return b.finish();
}

// Convolution, bias, residual, ReLU.
te::ComputeDag residual_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 8, 9, 7});
  const auto w = b.constant("W", ir::kF32, {24, 8, 3, 3});
  const auto bias = b.constant("B", ir::kF32, {24, 1, 1});
  const auto r = b.input("R", ir::kF32, {1, 24, 9, 7});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
  const auto z = te::elementwise(b, "Z", {y, bias, r}, [](auto v) { return v[0] + v[1] + v[2]; });
  b.output(te::relu(b, "O", z));
  return b.finish();
}

te::ComputeDag depthwise_dag(int64_t c, int64_t h, int64_t w, int64_t stride) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, c, h, w});
  const auto k = b.constant("W", ir::kF32, {c, 1, 3, 3});
  b.output(te::depthwise_conv2d(b, "Y", x, k, {{stride, stride}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

te::ComputeDag capsule_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 5, 6, 3, 4, 4});
  const auto w = b.constant("W", ir::kF32, {3, 3, 3, 4, 4, 18});
  b.output(te::capsule_conv2d(b, "Y", x, w, {{2, 2}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

te::ComputeDag transpose_dag(int64_t c, int64_t k, int64_t h, int64_t stride, int64_t kernel) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, c, h, h});
  const auto w = b.constant("W", ir::kF32, {c, k, kernel, kernel});
  b.output(te::conv_transpose(b, "Y", x, w, {{stride, stride}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

// Convolution, bias [1, K, 1, 1], a scale per channel that is computed, hard-swish, a residual.
te::ComputeDag excited_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {2, 12, 6, 7});
  const auto w = b.constant("W", ir::kF32, {20, 12, 1, 1});
  const auto bias = b.constant("B", ir::kF32, {1, 20, 1, 1});
  const auto s = b.input("S", ir::kF32, {2, 20, 1, 1});
  const auto r = b.input("R", ir::kF32, {2, 20, 6, 7});
  const auto f = [](double v) { return ir::make_float(ir::kF32, v); };
  const auto y = te::conv(b, "Y", x, w, {});
  const auto z = te::elementwise(b, "Z", {y, bias, s}, [](auto v) { return (v[0] + v[1]) * v[2]; });
  const auto h = te::elementwise(
      b, "H", {z}, [f](auto v) { return v[0] * ir::min(ir::max(v[0] + f(3), f(0)), f(6)) / f(6); });
  b.output(te::elementwise(b, "O", {h, r}, [](auto v) { return v[0] + v[1]; }));
  return b.finish();
}

// Depthwise and pointwise convolution, each with ReLU; `residual` behind the second one.
te::ComputeDag pair_dag(int64_t c, int64_t k, int64_t h, int64_t w, int64_t stride, bool residual) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, c, h, w});
  const auto dw = b.constant("D", ir::kF32, {c, 1, 3, 3});
  const auto pw = b.constant("W", ir::kF32, {k, c, 1, 1});
  const auto y =
      te::relu(b, "Y", te::conv(b, "S", x, dw, {{stride, stride}, {1, 1}, {1, 1}, {}, c}));
  auto z = te::relu(b, "Z", te::conv(b, "P", y, pw, {}));
  if (residual) {
    const auto r = b.input("R", ir::kF32, z.shape());
    z = te::elementwise(b, "O", {z, r}, [](auto v) { return v[0] + v[1]; });
  }
  b.output(z);
  return b.finish();
}

// A pointwise convolution whose weights are scaled per input channel, with a bias behind it.
te::ComputeDag scaled_weights_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 20, 9, 7});
  const auto w = b.constant("W", ir::kF32, {24, 20, 1, 1});
  const auto s = b.input("S", ir::kF32, {1, 20, 1, 1});
  const auto bias = b.constant("B", ir::kF32, {24, 1, 1});
  const auto ws = te::elementwise(b, "V", {w, s}, [](auto v) { return v[0] * v[1]; });
  const auto y = te::conv(b, "Y", x, ws, {});
  b.output(te::elementwise(b, "Z", {y, bias}, [](auto v) { return v[0] + v[1]; }));
  return b.finish();
}

Case conv(const std::string& family, const std::string& name, const std::vector<int64_t>& x,
          const std::vector<int64_t>& w, const te::ConvParams& p, bool epilogue) {
  return {family, name, [=] { return conv_dag(x, w, p, epilogue); }};
}

}  // namespace

std::vector<Case> conv_cases() {
  using te::ConvParams;
  const ConvParams same{{1, 1}, {1, 1}, {1, 1}, {}, 1};
  const ConvParams half{{2, 2}, {1, 1}, {1, 1}, {}, 1};
  return {
      conv("conv", "conv3x3", {1, 16, 7, 7}, {32, 16, 3, 3}, same, false),
      conv("conv", "conv3x3_relu", {1, 16, 5, 9}, {32, 16, 3, 3}, same, true),
      conv("conv", "conv3x3_odd", {2, 5, 7, 11}, {19, 5, 3, 3}, same, true),
      conv("conv", "conv3x3_s2", {1, 8, 13, 15}, {24, 8, 3, 3}, half, false),
      conv("conv", "stem", {1, 3, 17, 17}, {32, 3, 7, 7}, {{2, 2}, {3, 3}, {3, 3}, {}, 1}, false),
      conv("conv", "pointwise", {1, 20, 7, 7}, {40, 20, 1, 1}, {}, true),
      conv("conv", "conv1d", {1, 8, 23}, {16, 8, 5}, {{2}, {2}, {1}, {}, 1}, false),
      conv("conv", "conv3d", {1, 4, 5, 5, 6}, {16, 4, 3, 3, 3},
           {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, 1}, false),
      conv("conv", "dilated", {1, 8, 9, 9}, {16, 8, 3, 3}, {{1, 1}, {2, 2}, {2, 2}, {2, 2}, 1},
           false),
      {"conv", "residual", [] { return residual_dag(); }},
      conv("conv", "grouped", {1, 8, 6, 6}, {24, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 2}, false),
      conv("conv", "grouped_pointwise", {1, 12, 5, 5}, {48, 4, 1, 1}, {{}, {}, {}, {}, 3}, true),
      conv("plain", "small_groups", {1, 8, 6, 6}, {6, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 2},
           false),
      {"depthwise", "depthwise", [] { return depthwise_dag(32, 7, 7, 1); }},
      {"depthwise", "depthwise_odd", [] { return depthwise_dag(19, 8, 9, 2); }},
      conv("depthwise", "depthwise_by_groups", {2, 20, 9, 10}, {20, 1, 3, 3},
           {{1, 1}, {1, 1}, {1, 1}, {}, 20}, true),
      conv("depthwise", "depthwise_1d", {1, 17, 29}, {17, 1, 5}, {{1}, {2}, {2}, {}, 17}, true),
      conv("depthwise", "depthwise_3d", {1, 16, 4, 5, 6}, {16, 1, 3, 3, 3},
           {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, 16}, false),
      {"depthwise", "depthwise_wide", [] { return depthwise_dag(5, 16, 32, 1); }},
      {"depthwise", "depthwise_wide_s2", [] { return depthwise_dag(5, 15, 31, 2); }},
      conv("depthwise", "depthwise_7x7_s2", {1, 3, 9, 27}, {3, 1, 7, 7},
           {{2, 2}, {3, 3}, {3, 3}, {}, 3}, true),
      conv("depthwise", "depthwise_wide_5x5", {1, 5, 6, 32}, {5, 1, 5, 5},
           {{1, 1}, {2, 2}, {2, 2}, {}, 5}, true),
      conv("depthwise", "depthwise_wide_5x5_s2", {2, 3, 13, 31}, {3, 1, 5, 5},
           {{2, 2}, {2, 2}, {2, 2}, {}, 3}, true),
      // one row and one column, at the end
      conv("depthwise", "depthwise_wide_uneven", {1, 3, 14, 32}, {3, 1, 3, 3},
           {{2, 2}, {0, 0}, {1, 1}, {}, 3}, false),
      conv("conv", "pointwise_wide", {1, 24, 16, 9}, {16, 24, 1, 1}, {}, true),
      {"conv_transpose", "transposed", [] { return transpose_dag(16, 32, 4, 2, 4); }},
      {"conv_transpose", "transposed_odd", [] { return transpose_dag(6, 3, 5, 2, 3); }},
      {"conv_transpose", "transposed_to_one", [] { return transpose_dag(5, 1, 21, 2, 4); }},
      {"conv_transpose", "transposed_to_seven", [] { return transpose_dag(3, 7, 19, 2, 3); }},
      {"conv_transpose", "transposed_to_two_s3", [] { return transpose_dag(4, 2, 17, 3, 3); }},
      {"conv_transpose", "transposed_s3", [] { return transpose_dag(5, 24, 6, 3, 6); }},
      {"contraction", "capsule", [] { return capsule_dag(); }},
      {"conv", "excited", [] { return excited_dag(); }},
      {"conv", "scaled_weights", [] { return scaled_weights_dag(); }},
      {"pair", "pair", [=] { return pair_dag(32, 24, 11, 13, 1, true); }},
      {"pair", "pair_s2", [=] { return pair_dag(16, 40, 12, 9, 2, false); }},
      {"pair", "pair_residual", [=] { return pair_dag(24, 16, 17, 8, 1, true); }},
      conv("conv", "wide_image", {1, 8, 6, 67}, {20, 8, 3, 3}, same, true),
      conv("conv", "wide_image_s2", {2, 5, 7, 131}, {16, 5, 3, 3}, half, false),
      conv("conv", "long_sequence", {1, 8, 150}, {24, 8, 7}, {{1}, {3}, {3}, {}, 1}, true),
      conv("conv", "video_stem", {1, 3, 3, 10, 14}, {16, 3, 3, 7, 7},
           {{1, 2, 2}, {1, 3, 3}, {1, 3, 3}, {}, 1}, true),
      // depths with one to three taps on padding, on one side and on the other
      conv("conv", "video_stem_deep", {1, 2, 5, 13, 15}, {17, 2, 5, 7, 7},
           {{2, 2, 2}, {3, 3, 3}, {2, 3, 2}, {}, 1}, true),
      // the first and the last depth have no tap on the image
      conv("conv", "video_stem_of_padding", {1, 2, 5, 19, 20}, {16, 2, 3, 7, 7},
           {{1, 4, 4}, {3, 3, 3}, {3, 3, 3}, {}, 1}, false),
      conv("conv", "video_stem_dilated", {1, 3, 5, 12, 13}, {16, 3, 3, 7, 7},
           {{1, 3, 3}, {2, 3, 3}, {1, 3, 3}, {2, 1, 1}, 1}, true),
      conv("conv", "grouped_wide", {1, 16, 5, 66}, {32, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 4},
           true),
      conv("", "depthwise_7x7", {1, 18, 9, 11}, {18, 1, 7, 7}, {{1, 1}, {3, 3}, {3, 3}, {}, 18},
           true),
      conv("conv", "few_channels", {1, 16, 6, 9}, {3, 16, 3, 3}, same, true),
      conv("conv", "one_channel", {1, 16, 6, 9}, {1, 16, 3, 3}, same, false),
      conv("conv", "one_channel_wide", {2, 5, 7, 37}, {1, 5, 3, 3}, same, true),
      conv("conv", "few_channels_s2", {1, 5, 9, 67}, {3, 5, 3, 3}, half, true),
      conv("conv", "few_channels_9x9", {1, 2, 11, 18}, {2, 2, 9, 9},
           {{1, 1}, {4, 4}, {4, 4}, {}, 1}, false),
      conv("conv", "few_channels_bare", {1, 6, 9, 21}, {3, 6, 3, 2}, {}, true),
      conv("conv", "few_channels_1d", {1, 6, 75}, {2, 6, 5}, {{1}, {4}, {4}, {2}, 1}, true),
      conv("conv", "few_channels_3d", {1, 3, 4, 5, 19}, {2, 3, 3, 3, 3},
           {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, 1}, false),
      conv("conv", "pointwise_to_one", {1, 7, 5, 29}, {1, 7, 1, 1}, {}, true),
      conv("conv", "pointwise_to_three_s2", {1, 7, 5, 33}, {3, 7, 1, 1}, {{2, 2}, {}, {}, {}, 1},
           false),
      conv("conv", "one_of_group", {2, 12, 7, 18}, {4, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 4},
           true),
      conv("conv", "four_of_group", {1, 8, 7, 21}, {16, 2, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 4},
           false),
      conv("conv", "far_taps", {1, 4, 17, 19}, {16, 4, 3, 3},
           {{1, 1}, {12, 12}, {12, 12}, {12, 12}, 1}, true),
      conv("conv", "far_taps_wide", {1, 3, 5, 70}, {16, 3, 1, 3},
           {{1, 1}, {0, 36}, {0, 36}, {1, 36}, 1}, false),
      conv("conv", "large_kernel", {1, 4, 7, 8}, {24, 4, 9, 9}, {{1, 1}, {4, 4}, {4, 4}, {}, 1},
           true),
  };
}

}  // namespace tenon::templates
