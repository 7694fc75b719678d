// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample, dimension by dimension: which elements of the input each output position mixes, and
// with which weights, is computed here. Elements that follow each other evenly are a formula, others a table.
#include <algorithm>
#include <cmath>
#include <functional>

#include "onnx/ops/emit.h"
#include "onnx/ops/even_steps.h"
#include "onnx/ops/nn.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

struct Settings {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

struct Dimension {
  int64_t in = 1, out = 1;
  double scale = 1;
  double exact_out = 1;               // in * scale, before it is rounded down
  double roi_begin = 0, roi_end = 1;  // of tf_crop_and_resize
};

// What each output position reads: `taps` elements with weights.
struct Taps {
  int64_t taps = 1;
  std::vector<int64_t> first;  // of each output position, outside of the input too
  std::vector<int64_t> index;  // out * taps, inside the input
  std::vector<double> weight;
  std::vector<bool> outside;  // per output position: extrapolated
};

double half_pixel(double x, double scale) { return (x + 0.5) / scale - 0.5; }

double source_position(const Settings& s, const Dimension& d, int64_t position) {
  const auto x = static_cast<double>(position);
  const auto in = static_cast<double>(d.in);
  const std::string& mode = s.coordinates;
  if (mode == "half_pixel") return half_pixel(x, d.scale);
  if (mode == "pytorch_half_pixel") return d.out > 1 ? half_pixel(x, d.scale) : 0;
  if (mode == "asymmetric") return x / d.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / d.scale;
  if (mode == "align_corners") {
    return d.exact_out == 1 ? 0 : x * (in - 1) / (d.exact_out - 1);
  }
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(d.out) / d.exact_out;
    return in / 2 * (1 - adjustment) + half_pixel(x, d.scale);
  }
  if (mode == "tf_crop_and_resize") {
    if (d.out == 1) return 0.5 * (d.roi_begin + d.roi_end) * (in - 1);
    return d.roi_begin * (in - 1) +
           x * (d.roi_end - d.roi_begin) * (in - 1) / static_cast<double>(d.out - 1);
  }
  refuse("coordinate_transformation_mode '{}' is not known", mode);
}

double round_to_neighbour(const Settings& s, double x) {
  if (s.nearest == "round_prefer_floor") return std::ceil(x - 0.5);
  if (s.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (s.nearest == "floor") return std::floor(x);
  if (s.nearest == "ceil") return std::ceil(x);
  refuse("nearest_mode '{}' is not known", s.nearest);
}

// Weight of an element at `distance` from the wanted position.
double kernel_weight(const Settings& s, double distance) {
  const double x = std::abs(distance);
  if (s.mode == "linear") return std::max(0.0, 1 - x);
  const double a = s.cubic_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

void add_nearest(const Settings& s, double x, int64_t in, Taps& t) {
  t.first.push_back(static_cast<int64_t>(round_to_neighbour(s, x)));
  t.index.push_back(std::clamp<int64_t>(t.first.back(), 0, in - 1));
  t.weight.push_back(1);
}

// `stretch` above 1 widens the kernel, so that every element counts when the image shrinks.
void add_weighted(const Settings& s, double x, int64_t in, double stretch, Taps& t) {
  const double reach = (s.mode == "linear" ? 1 : 2) * stretch;
  const auto first = static_cast<int64_t>(std::floor(x - reach)) + 1;
  t.first.push_back(first);
  std::vector<double> weight;
  double sum = 0;
  for (int64_t k = 0; k < t.taps; ++k) {
    const int64_t at = first + k;
    const bool inside = at >= 0 && at < in;
    const double w = kernel_weight(s, (x - static_cast<double>(at)) / stretch);
    weight.push_back(s.exclude_outside && !inside ? 0 : w);
    sum += weight.back();
    t.index.push_back(std::clamp<int64_t>(at, 0, in - 1));
  }
  const bool normalise = s.exclude_outside || stretch > 1;
  for (const double w : weight) t.weight.push_back(normalise && sum != 0 ? w / sum : w);
}

Taps taps_of(const Settings& s, const Dimension& d) {
  Taps t;
  const bool nearest = s.mode == "nearest";
  const double stretch = s.antialias && d.scale < 1 ? 1 / d.scale : 1;
  if (!nearest)
    t.taps = 2 * static_cast<int64_t>(std::ceil((s.mode == "linear" ? 1 : 2) * stretch));
  if (d.out * t.taps > (int64_t{1} << 24)) refuse("an output extent of {} is too large", d.out);
  for (int64_t i = 0; i < d.out; ++i) {
    double x = source_position(s, d, i);
    if (!(std::abs(x) < 1e15)) refuse("a scale of {} is not usable", d.scale);
    const bool crops = s.coordinates == "tf_crop_and_resize";
    t.outside.push_back(crops && (x < 0 || x > static_cast<double>(d.in - 1)));
    if (nearest) {
      add_nearest(s, x, d.in, t);
    } else {
      add_weighted(s, x, d.in, stretch, t);
    }
  }
  return t;
}

bool is_identity(const Dimension& d, const Taps& t) {
  if (d.in != d.out) return false;
  for (int64_t i = 0; i < d.out; ++i) {
    for (int64_t k = 0; k < t.taps; ++k) {
      const auto at = static_cast<size_t>(i * t.taps + k);
      if (t.outside[static_cast<size_t>(i)]) return false;
      if (t.weight[at] != 0 && (t.index[at] != i || t.weight[at] != 1)) return false;
    }
  }
  return true;
}

// Positions that repeat `factor` times each: index = i / factor, which loops can be cut along.
int64_t repeat_factor(const Dimension& d, const Taps& t) {
  if (t.taps != 1 || d.out % d.in != 0) return 0;
  const int64_t factor = d.out / d.in;
  for (int64_t i = 0; i < d.out; ++i) {
    if (t.index[static_cast<size_t>(i)] != i / factor) return 0;
  }
  return factor;
}

// Where tap k of output position i lies in the input.
using Place = std::function<ir::Expr(const ir::Expr& i, const ir::Expr& k)>;

Place inside(const Dimension& d, Place place) {
  return [d, place = std::move(place)](const ir::Expr& i, const ir::Expr& k) {
    return ir::min(ir::max(place(i, k), 0), d.in - 1);
  };
}

// By a formula, if there is one; else from a table, which is added to the inputs of the op.
std::function<Place(Tensors)> places(Convert& c, const Dimension& d, const Taps& t,
                                     std::vector<ValueId>& inputs) {
  if (const auto steps = find_even_steps(t.first)) {
    return [d, steps = *steps](Tensors) {
      return inside(d, [steps](const auto& i, const auto& k) { return step_of(steps, i) + k; });
    };
  }
  ir::Array index(ir::kI64, {d.out, t.taps});
  for (size_t i = 0; i < t.index.size(); ++i) index.set(static_cast<int64_t>(i), {t.index[i], 0});
  inputs.push_back(c.b().constant(std::move(index), "resize.index"));
  return [d](Tensors in) {
    const te::Tensor& table = in.back();
    return inside(d, [table](const auto& i, const auto& k) { return ir::load(table, {i, k}); });
  };
}

// Neighbouring positions side by side.
ValueId weights_of(Convert& c, ir::DType type, const Dimension& d, const Taps& t) {
  ir::Array weight(type, {t.taps, d.out});
  for (int64_t i = 0; i < d.out; ++i) {
    for (int64_t k = 0; k < t.taps; ++k)
      weight.set_double(k * d.out + i, t.weight[static_cast<size_t>(i * t.taps + k)]);
  }
  return c.b().constant(std::move(weight), "resize.weight");
}

// x resized along one dimension.
ValueId resize_dimension(Convert& c, ValueId x, size_t dim, const Dimension& d, const Taps& t) {
  Shape shape = c.b().shape(x);
  shape[dim] = d.out;
  count_elements(shape);
  const ir::DType type = c.b().dtype(x);
  const auto at = [dim](Axes axes, const ir::Expr& i) {
    std::vector<ir::Expr> all(axes.begin(), axes.end());
    all[dim] = i;
    return all;
  };
  if (const int64_t factor = repeat_factor(d, t); factor > 0) {
    return c.b().compute("resize", {x}, [&](te::Builder& b, Tensors in) {
      return b.compute("resize", shape, [&](Axes axes) {
        return ir::load(in[0], at(axes, ir::floor_div(axes[dim], factor)));
      });
    });
  }
  const ir::DType sum_type = type.is_float() ? wide(type) : ir::kF32;
  std::vector<ValueId> inputs{x};
  if (t.taps > 1) inputs.push_back(weights_of(c, sum_type, d, t));
  const auto place = places(c, d, t, inputs);
  return c.b().compute("resize", inputs, [&](te::Builder& b, Tensors in) {
    const Place from = place(in);
    if (t.taps == 1) {
      return b.compute("resize", shape,
                       [&](Axes axes) { return ir::load(in[0], at(axes, from(axes[dim], 0))); });
    }
    const te::Tensor sum =
        b.reduce("resize.sum", shape, ir::BinaryOp::kAdd, {t.taps}, [&](Axes axes, Axes k) {
          const ir::Expr v = ir::load(in[0], at(axes, from(axes[dim], k[0])));
          return ir::cast(sum_type, v) * ir::load(in[1], {k[0], axes[dim]});
        });
    return te::elementwise(b, "resize", {sum}, [&](Args e) { return ir::cast(type, e[0]); });
  });
}

// Positions outside of the region get one value, whatever the other dimensions say.
ValueId extrapolate(Convert& c, ValueId y, size_t dim, const Taps& t, double value) {
  if (std::none_of(t.outside.begin(), t.outside.end(), [](bool o) { return o; })) return y;
  Shape shape(c.b().shape(y).size(), 1);
  shape[dim] = static_cast<int64_t>(t.outside.size());
  ir::Array mask(ir::kBool, shape);
  for (size_t i = 0; i < t.outside.size(); ++i)
    mask.set(static_cast<int64_t>(i), {t.outside[i], 0});
  const ValueId outside = c.b().constant(std::move(mask), "resize.outside");
  return c.b().elementwise("resize.extrapolate", {y, outside},
                           [&](Args e) { return ir::select(e[1], number(e[0], value), e[0]); });
}

ValueId resize(Convert& c, const Settings& s, const std::vector<Dimension>& dims) {
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic") {
    refuse("mode '{}' is not known", s.mode);
  }
  ValueId y = c.input(0);
  if (s.mode != "nearest" && !c.dtype(0).is_float() && !c.dtype(0).is_int()) {
    refuse("{} cannot be interpolated", ir::to_string(c.dtype(0)));
  }
  std::vector<Taps> taps;
  for (const Dimension& d : dims) taps.push_back(taps_of(s, d));
  // Dimensions that shrink come first. Of those that grow it is the last one, in which neighbours
  // are read one by one, before others that then read whole rows.
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool grows = dims[d].out > dims[d].in;
    if (!grows && !is_identity(dims[d], taps[d])) y = resize_dimension(c, y, d, dims[d], taps[d]);
  }
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d].out > dims[d].in) y = resize_dimension(c, y, d, dims[d], taps[d]);
  }
  for (size_t d = 0; d < dims.size(); ++d) y = extrapolate(c, y, d, taps[d], s.extrapolation);
  return y;
}

std::vector<double> constant_doubles(Convert& c, size_t i, std::string_view what) {
  const ir::Array& a = c.constant(i, what);
  if (a.shape().size() > 1) refuse("{} must be a list", what);
  std::vector<double> v;
  for (int64_t k = 0; k < a.elements(); ++k) v.push_back(a.get_double(k));
  return v;
}

bool is_given(Convert& c, size_t i) { return c.has_input(i) && count_elements(c.shape(i)) > 0; }

Dimension scaled(int64_t in, double scale) {
  if (!(scale > 0) || scale * static_cast<double>(in) > static_cast<double>(te::kMaxExtent)) {
    refuse("a scale of {} is not usable", scale);
  }
  Dimension d{in, 0, scale, scale * static_cast<double>(in)};
  // In f32, as the scales are: 0.7 times 10 is 7.
  d.out = static_cast<int64_t>(static_cast<float>(scale) * static_cast<float>(in));
  if (d.out < 1) refuse("a scale of {} leaves nothing of an extent of {}", scale, in);
  return d;
}

std::vector<Dimension> from_scales(const Shape& shape, const std::vector<int64_t>& axes,
                                   const std::vector<double>& scales) {
  if (scales.size() != axes.size()) {
    refuse("{} scales for {} dimensions", scales.size(), axes.size());
  }
  std::vector<Dimension> dims;
  for (const int64_t e : shape) dims.push_back(scaled(e, 1));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<size_t>(axes[i]);
    dims[a] = scaled(shape[a], scales[i]);
  }
  return dims;
}

std::vector<Dimension> from_sizes(const Shape& shape, const std::vector<int64_t>& axes,
                                  const std::vector<int64_t>& sizes, const std::string& policy) {
  if (sizes.size() != axes.size()) refuse("{} sizes for {} dimensions", sizes.size(), axes.size());
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > te::kMaxExtent) refuse("a size of {}", sizes[i]);
    scales.push_back(static_cast<double>(sizes[i]) /
                     static_cast<double>(shape[static_cast<size_t>(axes[i])]));
  }
  if (policy != "stretch" && !scales.empty()) {
    const double one = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                              : *std::max_element(scales.begin(), scales.end());
    std::fill(scales.begin(), scales.end(), one);
  }
  std::vector<Dimension> dims = from_scales(shape, std::vector<int64_t>(), {});
  for (size_t i = 0; i < axes.size(); ++i) {
    Dimension& d = dims[static_cast<size_t>(axes[i])];
    d.scale = scales[i];
    d.exact_out = scales[i] * static_cast<double>(d.in);
    d.out = policy == "stretch" ? sizes[i] : static_cast<int64_t>(std::floor(d.exact_out + 0.5));
    if (policy == "stretch") d.exact_out = static_cast<double>(d.out);
    if (d.out < 1) refuse("nothing is left of an extent of {}", d.in);
  }
  return dims;
}

std::vector<int64_t> resized_axes(Convert& c) {
  std::vector<int64_t> all;
  for (int64_t d = 0; d < c.rank(0); ++d) all.push_back(d);
  std::vector<int64_t> axes = c.ints_or("axes", all);
  for (int64_t& a : axes) a = Convert::axis(a, c.rank(0));
  return axes;
}

void read_region(Convert& c, const std::vector<int64_t>& axes, std::vector<Dimension>& dims) {
  const auto roi = constant_doubles(c, 1, "the region of interest");
  if (roi.size() != 2 * axes.size()) refuse("the region has {} numbers", roi.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Dimension& d = dims[static_cast<size_t>(axes[i])];
    d.roi_begin = roi[i];
    d.roi_end = roi[axes.size() + i];
  }
}

}  // namespace

std::vector<ValueId> convert_resize_11(Convert& c) {
  if (is_empty(c, c.input(0))) refuse("an input without elements");
  Settings s;
  s.mode = c.string_or("mode", s.mode);
  s.coordinates = c.string_or("coordinate_transformation_mode", s.coordinates);
  s.nearest = c.string_or("nearest_mode", s.nearest);
  s.cubic_a = c.float_or("cubic_coeff_a", s.cubic_a);
  s.extrapolation = c.float_or("extrapolation_value", 0);
  s.exclude_outside = c.int_or("exclude_outside", 0) != 0;
  s.antialias = c.int_or("antialias", 0) != 0;
  const std::string policy = c.string_or("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    refuse("keep_aspect_ratio_policy '{}' is not known", policy);
  }
  const std::vector<int64_t> axes = resized_axes(c);
  std::vector<Dimension> dims;
  if (is_given(c, 3)) {
    dims = from_sizes(c.shape(0), axes, c.constant_ints(3, "the sizes"), policy);
  } else if (is_given(c, 2)) {
    dims = from_scales(c.shape(0), axes, constant_doubles(c, 2, "the scales"));
  } else {
    refuse("neither scales nor sizes are given");
  }
  if (s.coordinates == "tf_crop_and_resize") read_region(c, axes, dims);
  return {resize(c, s, dims)};
}

namespace {

std::vector<ValueId> resize_by_corner(Convert& c, const std::vector<double>& scales) {
  if (is_empty(c, c.input(0))) refuse("an input without elements");
  Settings s;
  s.mode = c.string_or("mode", "nearest");
  if (s.mode == "bilinear") s.mode = "linear";
  s.coordinates = "asymmetric";
  s.nearest = "floor";
  return {resize(c, s, from_scales(c.shape(0), resized_axes(c), scales))};
}

}  // namespace

std::vector<ValueId> convert_resize_10(Convert& c) {
  return resize_by_corner(c, constant_doubles(c, 1, "the scales"));
}

std::vector<ValueId> convert_upsample_7(Convert& c) {
  return resize_by_corner(c, c.floats_or("scales", {}));
}

}  // namespace tenon::onnx
