// SPDX-License-Identifier: Apache-2.0
// Images read at positions that are data: GridSample and RoiAlign.
#include <functional>

#include "onnx/ops/emit.h"
#include "onnx/ops/nn.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

Expr floor_of(const Expr& x) { return ir::call(ir::Intrinsic::kFloor, {x}); }
Expr trunc_of(const Expr& x) { return ir::call(ir::Intrinsic::kTrunc, {x}); }
Expr absolute(const Expr& x) { return ir::call(ir::Intrinsic::kAbs, {x}); }
Expr clamp(const Expr& x, double low, double high) {
  return ir::min(ir::max(x, number(x, low)), number(x, high));
}
// A float position as an index that surely lies inside.
Expr as_index(const Expr& x, int64_t extent) {
  return ir::min(ir::max(ir::cast(ir::kI64, x), 0), extent - 1);
}

enum class Border : uint8_t { kZeros, kClamp, kReflect };

// One dimension of the sampled image.
struct Side {
  int64_t extent;
  Border border;
  bool align_corners;

  // Every position is reflected to the only element: positions are not computed at all.
  bool point() const { return border == Border::kReflect && align_corners && extent == 1; }

  // From -1..1 to positions of elements.
  Expr position(const Expr& g) const {
    const auto n = static_cast<double>(extent);
    if (align_corners) return (g + number(g, 1)) * number(g, (n - 1) / 2);
    return ((g + number(g, 1)) * number(g, n) - number(g, 1)) * number(g, 0.5);
  }
  // x moved inside as the border wants it; positions in the zeros stay where they are.
  Expr settled(const Expr& x) const {
    const auto n = static_cast<double>(extent);
    if (border == Border::kClamp) return clamp(x, 0, n - 1);
    if (border == Border::kZeros) return x;
    const double low = align_corners ? 0 : -0.5;
    const double span = align_corners ? n - 1 : n;
    if (point()) return number(x, 0);
    const Expr away = absolute(x - number(x, low));
    const Expr turns = floor_of(away / number(x, span));
    const Expr rest = away - turns * number(x, span);
    const Expr half = turns * number(x, 0.5);
    const Expr even = ir::eq(floor_of(half), half);
    return ir::select(even, rest, number(x, span) - rest) + number(x, low);
  }
  // Where the image is read for x. A border takes only what lies beyond the outermost elements: up to half a step
  // outside of their middles, interpolation goes on with x as it is.
  Expr sampled(const Expr& x) const {
    if (border == Border::kZeros) return x;
    if (border == Border::kReflect || align_corners) return settled(x);
    const auto n = static_cast<double>(extent);
    const Expr within = ir::logical_and(ir::le(number(x, -0.5), x), ir::le(x, number(x, n - 0.5)));
    return ir::select(within, x, settled(x));
  }
  Expr inside(const Expr& x) const {
    return ir::logical_and(ir::le(number(x, 0), x),
                           ir::le(x, number(x, static_cast<double>(extent - 1))));
  }
};

struct Sampler {
  te::Tensor image, rows,
      columns;  // rows and columns: positions [n, y, x], none in the direction of a point
  Side vertical, horizontal;
  ir::DType position;

  // The element at whole-numbered positions, in the wide type.
  Expr element(Axes axes, const Expr& y, const Expr& x) const {
    const Expr sy = vertical.settled(y), sx = horizontal.settled(x);
    const Expr value = ir::cast(wide(image.dtype()),
                                ir::load(image, {axes[0], axes[1], as_index(sy, vertical.extent),
                                                 as_index(sx, horizontal.extent)}));
    if (vertical.border != Border::kZeros) return value;
    const Expr seen = ir::logical_and(vertical.inside(sy), horizontal.inside(sx));
    return ir::select(seen, value, ir::zero_of(value.dtype()));
  }
  Expr row(Axes axes) const { return along(vertical, rows, axes); }
  Expr column(Axes axes) const { return along(horizontal, columns, axes); }
  Expr along(const Side& side, const te::Tensor& positions, Axes axes) const {
    if (side.point()) return ir::zero_of(position);
    return ir::load(positions, {axes[0], axes[2], axes[3]});
  }
};

Expr nearest(const Sampler& s, Axes axes) {
  const auto rounded = [](const Expr& x) { return ir::call(ir::Intrinsic::kRound, {x}); };
  return s.element(axes, rounded(s.row(axes)), rounded(s.column(axes)));
}

Expr weighted(const Sampler& s, Axes axes, int taps,
              const std::function<Expr(const Expr& fraction, int tap)>& weight) {
  const Expr y = s.row(axes), x = s.column(axes);
  const Expr y0 = floor_of(y), x0 = floor_of(x);
  const int first = taps == 2 ? 0 : -1;
  Expr sum;
  for (int i = 0; i < taps; ++i) {
    Expr line;
    for (int j = 0; j < taps; ++j) {
      const Expr v = s.element(axes, y0 + number(y, first + i), x0 + number(x, first + j));
      const Expr term = ir::cast(v.dtype(), weight(x - x0, first + j)) * v;
      line = line.defined() ? line + term : term;
    }
    const Expr term = ir::cast(line.dtype(), weight(y - y0, first + i)) * line;
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

Expr linear_weight(const Expr& f, int tap) { return tap == 0 ? number(f, 1) - f : f; }

Expr cubic_weight(const Expr& f, int tap) {
  const double a = -0.75;
  const Expr d = tap <= 0 ? f - number(f, tap) : number(f, tap) - f;  // distance, not negative
  if (tap == 0 || tap == 1) {
    return ((number(f, a + 2) * d - number(f, a + 3)) * d) * d + number(f, 1);
  }
  return ((number(f, a) * d - number(f, 5 * a)) * d + number(f, 8 * a)) * d - number(f, 4 * a);
}

Border border_of(const std::string& name) {
  if (name == "zeros") return Border::kZeros;
  if (name == "border") return Border::kClamp;
  if (name == "reflection") return Border::kReflect;
  refuse("padding_mode '{}' is not known", name);
}

}  // namespace

std::vector<ValueId> convert_grid_sample(Convert& c) {
  require_float(c.dtype(0));
  require_float(c.dtype(1));
  if (c.rank(0) != 4 || c.rank(1) != 4) refuse("only images of two dimensions are supported");
  const Shape image = c.shape(0), grid = c.shape(1);
  if (grid[3] != 2 || grid[0] != image[0]) refuse("the grid does not fit the image");
  const std::string mode = c.string_or("mode", "bilinear");
  const bool is_nearest = mode == "nearest";
  const bool is_linear = mode == "bilinear" || mode == "linear";
  if (!is_nearest && !is_linear && mode != "bicubic" && mode != "cubic") {
    refuse("mode '{}' is not known", mode);
  }
  const Border border = border_of(c.string_or("padding_mode", "zeros"));
  const bool corners = c.int_or("align_corners", 0) != 0;
  const ir::DType t = c.dtype(0);
  return {c.b().compute("grid_sample", {c.input(0), c.input(1)}, [&](te::Builder& b, Tensors in) {
    const auto positions = [&](const std::string& name, const Side& side, int64_t which) {
      if (side.point()) return te::Tensor();
      return b.compute(name, {grid[0], grid[1], grid[2]}, [&](Axes a) {
        const Expr g = ir::cast(wide(in[1].dtype()), ir::load(in[1], {a[0], a[1], a[2], which}));
        return side.sampled(side.position(g));
      });
    };
    const Side vertical{image[2], border, corners}, horizontal{image[3], border, corners};
    const Sampler s{in[0],
                    positions("grid_sample.rows", vertical, 1),
                    positions("grid_sample.columns", horizontal, 0),
                    vertical,
                    horizontal,
                    wide(in[1].dtype())};
    return b.compute("grid_sample", {image[0], image[1], grid[1], grid[2]}, [&](Axes a) {
      const Expr v = is_nearest  ? nearest(s, a)
                     : is_linear ? weighted(s, a, 2, linear_weight)
                                 : weighted(s, a, 4, cubic_weight);
      return ir::cast(t, v);
    });
  })};
}

namespace {

struct Roi {
  int64_t out_h, out_w, samples;
  double scale, shift;  // shift: half a pixel when aligned
  bool aligned;
};

// Position of sample `i` of bin `bin` in one dimension, from the ends of the region.
Expr sample_position(const Roi& r, const te::Tensor& rois, const Expr& region, int64_t from,
                     int64_t to, int64_t bins, const Expr& bin, const Expr& i) {
  const auto end = [&](int64_t which) {
    const Expr v = ir::load(rois, {region, which});
    return v * number(v, r.scale) - number(v, r.shift);
  };
  const Expr begin = end(from);
  Expr length = end(to) - begin;
  if (!r.aligned) length = ir::max(length, number(length, 1));
  const Expr size = length / number(length, static_cast<double>(bins));
  const ir::DType t = begin.dtype();
  const Expr inner =
      (ir::cast(t, i) + number(begin, 0.5)) * size / number(begin, static_cast<double>(r.samples));
  return begin + ir::cast(t, bin) * size + inner;
}

// Linear interpolation of the image at (y, x); 0 far outside.
Expr interpolate(const te::Tensor& image, const Expr& n, const Expr& channel, const Expr& y,
                 const Expr& x) {
  const int64_t height = image.shape()[2], width = image.shape()[3];
  const auto far = [](const Expr& p, int64_t extent) {
    return ir::logical_or(ir::lt(p, number(p, -1)),
                          ir::gt(p, number(p, static_cast<double>(extent))));
  };
  const Expr py = clamp(y, 0, static_cast<double>(height - 1));
  const Expr px = clamp(x, 0, static_cast<double>(width - 1));
  const Expr y0 = trunc_of(py), x0 = trunc_of(px);
  const Expr fy = py - y0, fx = px - x0;
  const auto at = [&](int dy, int dx) {
    return ir::load(image, {n, channel, as_index(y0 + number(y0, dy), height),
                            as_index(x0 + number(x0, dx), width)});
  };
  const Expr one = number(fy, 1);
  const Expr value = (one - fy) * ((one - fx) * at(0, 0) + fx * at(0, 1)) +
                     fy * ((one - fx) * at(1, 0) + fx * at(1, 1));
  return ir::select(ir::logical_or(far(y, height), far(x, width)), ir::zero_of(value.dtype()),
                    value);
}

}  // namespace

std::vector<ValueId> convert_roi_align(Convert& c) {
  const ir::DType t = c.dtype(0);
  require_float(t);
  require_same_type(c, {c.input(0), c.input(1)});
  if (t != wide(t)) refuse("{} is not supported", ir::to_string(t));
  const Shape image = c.shape(0), rois = c.shape(1);
  if (image.size() != 4 || rois.size() != 2 || rois[1] != 4 || c.shape(2) != Shape{rois[0]}) {
    refuse("the shapes of image, regions and batch indices do not fit each other");
  }
  if (!c.dtype(2).is_int()) refuse("batch indices are {}", ir::to_string(c.dtype(2)));
  if (c.string_or("mode", "avg") != "avg")
    refuse("mode '{}' is not supported", c.string_or("mode", ""));
  Roi r{c.int_or("output_height", 1),
        c.int_or("output_width", 1),
        c.int_or("sampling_ratio", 0),
        c.float_or("spatial_scale", 1),
        0,
        false};
  if (r.samples <= 0) refuse("a sampling_ratio that adapts to the region is not supported");
  r.aligned = c.string_or("coordinate_transformation_mode",
                          c.opset() >= 16 ? "half_pixel" : "output_half_pixel") == "half_pixel";
  r.shift = r.aligned ? 0.5 : 0;
  const Shape out{rois[0], image[1], r.out_h, r.out_w};
  if (r.samples > 4096) refuse("a sampling_ratio of {}", r.samples);
  if (count_elements(out) == 0) refuse("an output without elements");
  const std::vector<ValueId> inputs{c.input(0), c.input(1), c.input(2)};
  return {c.b().compute("roi_align", inputs, [&](te::Builder& b, Tensors in) {
    const te::Tensor sum = b.reduce(
        "roi_align.sum", out, ir::BinaryOp::kAdd, {r.samples, r.samples}, [&](Axes a, Axes i) {
          const Expr n = clamped(ir::load(in[2], {a[0]}), image[0]);
          const Expr y = sample_position(r, in[1], a[0], 1, 3, r.out_h, a[2], i[0]);
          const Expr x = sample_position(r, in[1], a[0], 0, 2, r.out_w, a[3], i[1]);
          return interpolate(in[0], n, a[1], y, x);
        });
    const auto count = static_cast<double>(r.samples * r.samples);
    return te::elementwise(b, "roi_align", {sum},
                           [&](Args e) { return e[0] / number(e[0], count); });
  })};
}

}  // namespace tenon::onnx
