// SPDX-License-Identifier: Apache-2.0
// Operators that slide windows over images.
#include <algorithm>

#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

// N C spatial.., with one to three spatial dimensions.
Drawn image(Draft& d, Types types, int64_t rank_low = 3, int64_t rank_high = 5) {
  const auto suits = [&](const Drawn& v) {
    return v.data.elements() > 0 && v.rank() >= rank_low && v.rank() <= rank_high &&
           v.extent(1) <= 33 && bounded(v.data, -100, 100);
  };
  return d.pick(types, suits, [&] {
    static const std::vector<int64_t> kChannels = {1, 2, 3, 4, 8, 16};
    Shape s{d.rng().between(1, 2), d.rng().pick(kChannels)};
    const int64_t rank = d.rng().between(rank_low, std::min<int64_t>(rank_high, 4));
    while (static_cast<int64_t>(s.size()) < rank) s.push_back(d.rng().between(3, 9));
    return d.leaf(d.type_among(types), s);
  });
}

struct Window {
  Ints kernel, strides, dilations, pads;
  Attributes attributes;
  bool valid = true;
  bool starts_inside =
      true;  // every window, also when their number is rounded up: ONNX changed its mind on others
};

// Kernels that fit into the padded image; pads are smaller than the kernel.
Window window(Draft& d, const Drawn& x, bool dilated) {
  Window w;
  const int64_t dims = x.rank() - 2;
  Ints after;
  for (int64_t i = 0; i < dims; ++i) {
    w.kernel.push_back(d.rng().between(1, std::min<int64_t>(3, x.extent(i + 2))));
    w.strides.push_back(d.rng().chance(0.6) ? 1 : d.rng().between(1, 3));
    w.dilations.push_back(dilated && d.rng().chance(0.2) ? 2 : 1);
    w.pads.push_back(d.rng().between(0, w.kernel.back() - 1));
    after.push_back(d.rng().between(0, w.kernel.back() - 1));
    const int64_t reach = (w.kernel.back() - 1) * w.dilations.back() + 1;
    w.valid = w.valid && x.extent(i + 2) + w.pads.back() + after.back() >= reach;
  }
  w.pads.insert(w.pads.end(), after.begin(), after.end());
  w.attributes = {{"kernel_shape", w.kernel}};
  if (d.rng().chance(0.7)) w.attributes.emplace_back("strides", w.strides);
  if (dilated && d.rng().chance(0.7)) w.attributes.emplace_back("dilations", w.dilations);
  if (dilated && w.attributes.size() < 2) w.dilations.assign(w.dilations.size(), 1);
  const int64_t form = d.rng().between(0, 4);
  w.starts_inside = form == 4;
  if (form <= 1) w.attributes.emplace_back("pads", w.pads);
  if (form == 2 && *std::max_element(w.dilations.begin(), w.dilations.end()) == 1) {
    w.attributes.emplace_back("auto_pad",
                              std::string(d.rng().chance(0.5) ? "SAME_UPPER" : "SAME_LOWER"));
  }
  if (form == 3) w.attributes.emplace_back("auto_pad", std::string("VALID"));
  for (int64_t i = 0; i < dims; ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t reach = (w.kernel[k] - 1) * w.dilations[k] + 1;
    if (form != 0 && form != 1) w.valid = w.valid && x.extent(i + 2) >= reach;
    w.starts_inside = w.starts_inside && w.strides[k] <= w.kernel[k];
  }
  return w;
}

// What an infinite weight makes of padding is nothing here and NaN in the definition (docs/special-values.md).
constexpr Range kWeights{.low = -3, .high = 3, .integers = false, .finite = true};

bool conv(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types);
  const Window w = window(d, x, true);
  if (!w.valid) return false;
  Ints groups;
  for (const int64_t g : {int64_t{1}, int64_t{2}, x.extent(1)}) {
    if (x.extent(1) % g == 0) groups.push_back(g);
  }
  const int64_t g = d.rng().pick(groups);
  const int64_t out = g * d.rng().between(1, g > 4 ? 2 : 8);
  Shape s{out, x.extent(1) / g};
  s.insert(s.end(), w.kernel.begin(), w.kernel.end());
  Names in{x.name, d.rng().chance(0.85) ? d.constant(x.type(), s).name
                                        : d.input(x.type(), s, kWeights).name};
  if (d.rng().chance(0.5)) in.push_back(d.leaf(x.type(), {out}).name);
  Attributes a = w.attributes;
  if (g != 1) a.emplace_back("group", g);
  return d.node(row.name(), in, a);
}

bool conv_transpose(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types, 3, 4);
  const int64_t g = x.extent(1) % 2 == 0 && d.rng().chance(0.3) ? 2 : 1;
  Ints kernel, strides, pads;
  for (int64_t i = 0; i < x.rank() - 2; ++i) {
    kernel.push_back(d.rng().between(1, 3));
    strides.push_back(d.rng().between(1, 2));
  }
  for (int64_t i = 0; i < 2 * (x.rank() - 2); ++i) pads.push_back(d.rng().between(0, 1));
  for (int64_t i = 0; i < x.rank() - 2; ++i) {
    const auto k = static_cast<size_t>(i);
    if ((x.extent(i + 2) - 1) * strides[k] + kernel[k] - 2 < 1) return false;
  }
  Shape s{x.extent(1), d.rng().between(1, 4)};
  s.insert(s.end(), kernel.begin(), kernel.end());
  Names in{x.name, d.leaf(x.type(), s, kWeights).name};
  if (d.rng().chance(0.5)) in.push_back(d.leaf(x.type(), {s[1] * g}).name);
  return d.node(row.name(), in,
                {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"group", g}});
}

bool max_pool(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types);
  Window w = window(d, x, d.opset() >= 10);
  if (!w.valid) return false;
  if (d.opset() >= 10 && w.starts_inside && d.rng().chance(0.4)) {
    w.attributes.emplace_back("ceil_mode", int64_t{1});
  }
  return d.node(row.name(), {x.name}, w.attributes, d.opset() >= 8 && d.rng().chance(0.2) ? 2 : 1);
}

bool average_pool(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types);
  Window w = window(d, x, false);
  if (!w.valid) return false;
  if (d.rng().chance(0.4)) w.attributes.emplace_back("count_include_pad", int64_t{1});
  return d.node(row.name(), {x.name}, w.attributes);
}

bool lp_pool(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types);
  Window w = window(d, x, false);
  if (!w.valid) return false;
  w.attributes.emplace_back("p", d.rng().between(1, 3));
  return d.node(row.name(), {x.name}, w.attributes);
}

bool global_pool(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types);
  return d.node(row.name(), {x.name});
}

bool lrn(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types, 4, 4);
  return d.node(row.name(), {x.name}, {{"size", d.rng().between(1, 5)}, {"alpha", 0.1F}});
}

// As many numbers as the image has dimensions, 1 for the first two.
ir::Array factors(Draft& d, const Drawn& x) {
  static const std::vector<double> kFactors = {1, 2, 3, 0.5, 1.5};
  ir::Array a(ir::kF32, {x.rank()});
  for (int64_t i = 0; i < x.rank(); ++i) a.set_double(i, i < 2 ? 1 : d.rng().pick(kFactors));
  return a;
}

bool upsample(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types, 3, 4);
  ir::Array f(ir::kF32, {x.rank()});
  std::vector<float> scales;
  for (int64_t i = 0; i < x.rank(); ++i) {
    f.set_double(i, i < 2 ? 1 : static_cast<double>(d.rng().between(1, 3)));
    scales.push_back(static_cast<float>(f.get_double(i)));
  }
  const std::string mode = x.rank() == 4 && d.rng().chance(0.5) ? "linear" : "nearest";
  if (d.opset() < 9) return d.node(row.name(), {x.name}, {{"mode", mode}, {"scales", scales}});
  return d.node(row.name(), {x.name, d.constant(f).name}, {{"mode", mode}});
}

bool resize(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types, 3, 4);
  for (int64_t i = 2; i < x.rank(); ++i) {
    if (x.extent(i) < 2) return false;
  }
  static const std::vector<std::string> kModes = {"nearest", "linear", "cubic"};
  std::string mode = kModes[static_cast<size_t>(d.rng().between(0, d.opset() < 11 ? 1 : 2))];
  if (mode != "nearest" && x.rank() != 4) mode = "nearest";
  Attributes a{{"mode", mode}};
  if (d.opset() < 11) return d.node(row.name(), {x.name, d.constant(factors(d, x)).name}, a);
  static const std::vector<std::string> kPlaces = {"half_pixel", "asymmetric", "align_corners",
                                                   "pytorch_half_pixel"};
  a.emplace_back("coordinate_transformation_mode", d.rng().pick(kPlaces));
  static const std::vector<std::string> kNearest = {"round_prefer_floor", "floor", "ceil",
                                                    "round_prefer_ceil"};
  if (mode == "nearest") a.emplace_back("nearest_mode", d.rng().pick(kNearest));
  if (d.rng().chance(0.5)) {
    Ints sizes{x.extent(0), x.extent(1)};
    for (int64_t i = 2; i < x.rank(); ++i) sizes.push_back(d.rng().between(1, 9));
    const std::string none = d.opset() < 13 ? d.constant(ir::kF32, {0}).name : "";
    return d.node(row.name(), {x.name, none, none, d.ints(sizes).name}, a);
  }
  const std::string none = d.opset() < 13 ? d.constant(ir::kF32, {0}).name : "";
  return d.node(row.name(), {x.name, none, d.constant(factors(d, x)).name}, a);
}

bool grid_sample(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types, 4, 4);
  const Shape s{x.extent(0), d.rng().between(1, 4), d.rng().between(1, 4), 2};
  static const std::vector<std::string> kOldModes = {"bilinear", "nearest", "bicubic"};
  static const std::vector<std::string> kNewModes = {"linear", "nearest", "cubic"};
  static const std::vector<std::string> kPadding = {"zeros", "border", "reflection"};
  return d.node(row.name(), {x.name, d.leaf(x.type(), s, {-1.1, 1.1, false}).name},
                {{"mode", d.rng().pick(d.opset() < 20 ? kOldModes : kNewModes)},
                 {"padding_mode", d.rng().pick(kPadding)},
                 {"align_corners", d.rng().between(0, 1)}});
}

bool roi_align(Draft& d, const Row& row) {
  const Drawn x = image(d, row.types, 4, 4);
  const int64_t n = d.rng().between(1, 3);
  ir::Array rois(x.type(), {n, 4}), batch(ir::kI64, {n});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < 4; ++k) {
      rois.set_double(4 * i + k, (k < 2 ? 0.25 : 3.5) + 0.5 * static_cast<double>(i));
    }
    batch.set(i, {d.rng().between(0, x.extent(0) - 1), 0});
  }
  return d.node(row.name(), {x.name, d.constant(rois).name, d.constant(batch).name},
                {{"output_height", d.rng().between(1, 3)},
                 {"output_width", d.rng().between(1, 3)},
                 {"sampling_ratio", d.rng().between(1, 2)}});
}

const Row kNnRows[] = {
    {"AveragePool", 7, 21, kFloats, average_pool},
    {"Conv", 7, 21, kFloats, conv},
    {"Conv", 7, 21, kF32, conv},
    {"Conv", 7, 21, kF32, conv},
    {"ConvTranspose", 7, 21, kFloats, conv_transpose},
    {"GlobalAveragePool", 7, 21, kFloats, global_pool},
    {"GlobalLpPool", 7, 21, kFloats, global_pool},
    {"GlobalMaxPool", 7, 21, kFloats, global_pool},
    {"GridSample", 16, 21, kF32 | kF64, grid_sample},
    {"LRN", 7, 21, kFloats, lrn},
    {"LpPool", 7, 21, kFloats, lp_pool},
    {"MaxPool", 7, 11, kFloats, max_pool},
    {"MaxPool", 12, 21, kFloats | kI8 | kU8, max_pool},
    {"Resize", 10, 21, kF32 | kF64, resize},
    {"RoiAlign", 10, 21, kF32 | kF64, roi_align},
    {"Upsample", 7, 9, kF32 | kF64, upsample},
};

}  // namespace

std::span<const Row> rows_nn() { return kNnRows; }

}  // namespace tenon::graph_fuzz
