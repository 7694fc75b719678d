// SPDX-License-Identifier: Apache-2.0
// Pad in its four modes, and CenterCropPad. Negative padding crops.
#include <algorithm>
#include <numeric>

#include "onnx/ops/emit.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

struct Padding {
  std::vector<int64_t> before, after;  // one per dimension
};

Padding padding_of(Convert& c) {
  const size_t rank = c.shape(0).size();
  const std::vector<int64_t> pads =
      c.opset() < 2 ? c.ints_or("paddings", {}) : ints_attribute_or_input(c, "pads", 1);
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has_input(3)) {
    axes = c.constant_ints(3, "the axes");
    normalized_axes(axes, c.rank(0));
  }
  if (pads.size() != 2 * axes.size()) {
    refuse("{} paddings for {} axes", pads.size(), axes.size());
  }
  Padding p{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(Convert::axis(axes[i], c.rank(0)));
    p.before[d] = pads[i];
    p.after[d] = pads[axes.size() + i];
    for (const int64_t amount : {p.before[d], p.after[d]}) {
      if (amount > te::kMaxExtent || amount < -te::kMaxExtent) {
        refuse("padding of {}", amount);
      }
    }
  }
  return p;
}

Shape padded_shape(const Shape& own, const Padding& p) {
  Shape shape = own;
  for (size_t d = 0; d < shape.size(); ++d) {
    shape[d] += p.before[d] + p.after[d];
  }
  return shape;
}

// Cuts off what is padded by a negative amount, which becomes 0.
ValueId cropped(Convert& c, ValueId x, Padding& p) {
  const Shape& own = c.b().shape(x);
  Shape shape = own;
  std::vector<int64_t> begin(own.size(), 0);
  for (size_t d = 0; d < own.size(); ++d) {
    begin[d] = -std::min<int64_t>(p.before[d], 0);
    shape[d] += std::min<int64_t>(p.before[d], 0) + std::min<int64_t>(p.after[d], 0);
    p.before[d] = std::max<int64_t>(p.before[d], 0);
    p.after[d] = std::max<int64_t>(p.after[d], 0);
  }
  if (shape == own) {
    return x;
  }
  if (count_elements(shape) == 0) {
    return c.b().empty(c.b().dtype(x), shape);
  }
  return c.b().compute("crop", {x}, [&](te::Builder& t, Tensors in) {
    return te::slice(t, "crop", in[0], begin, shape);
  });
}

bool all_zero(const std::vector<int64_t>& v) {
  return std::all_of(v.begin(), v.end(), [](int64_t x) { return x == 0; });
}

// `value` is known, or read from a second operand.
ValueId pad_constant(Convert& c, ValueId x, const Padding& p, const ir::Array* known,
                     ValueId value) {
  const Shape own = c.b().shape(x);
  const Shape shape = padded_shape(own, p);
  std::vector<ValueId> operands{x};
  if (known == nullptr) {
    operands.push_back(c.b().reshape(value, {}));
  }
  return c.b().compute("pad", operands, [&](te::Builder& t, Tensors in) {
    return t.compute("pad", shape, [&](Axes axes) {
      Expr inside = ir::make_bool(true);
      std::vector<Expr> at;
      for (size_t d = 0; d < own.size(); ++d) {
        if (p.before[d] > 0) {
          inside = ir::logical_and(inside, ir::le(p.before[d], axes[d]));
        }
        if (p.after[d] > 0) {
          inside = ir::logical_and(inside, ir::lt(axes[d], p.before[d] + own[d]));
        }
        at.push_back(axes[d] - Expr(p.before[d]));
      }
      const Expr around = known != nullptr ? literal(*known) : ir::load(in[1], {});
      return ir::select(inside, ir::load(in[0], at), around);
    });
  });
}

// Where the element at place i of the padded dimension comes from.
Expr source(const std::string& mode, const Expr& i, int64_t extent) {
  if (mode == "edge") {
    return ir::min(ir::max(i, 0), extent - 1);
  }
  if (mode == "wrap") {
    return ir::floor_mod(i, extent);
  }
  if (extent == 1) {
    return 0;
  }
  const int64_t period = 2 * (extent - 1);
  const Expr place = ir::floor_mod(i, period);
  return ir::min(ir::min(place, Expr(period) - place), extent - 1);
}

ValueId pad_by_copying(Convert& c, ValueId x, const Padding& p, const std::string& mode) {
  const Shape own = c.b().shape(x);
  return c.b().compute("pad", {x}, [&](te::Builder& t, Tensors in) {
    return t.compute("pad", padded_shape(own, p), [&](Axes axes) {
      std::vector<Expr> at;
      for (size_t d = 0; d < own.size(); ++d) {
        const bool padded = p.before[d] > 0 || p.after[d] > 0;
        at.push_back(padded ? source(mode, axes[d] - Expr(p.before[d]), own[d]) : Expr(axes[d]));
      }
      return ir::load(in[0], at);
    });
  });
}

ValueId padded(Convert& c, Padding p, const std::string& mode, const ir::Array* known,
               ValueId value) {
  const Shape shape = padded_shape(c.shape(0), p);
  if (count_elements(shape) == 0) {
    return c.b().empty(c.dtype(0), shape);
  }
  const ValueId x = cropped(c, c.input(0), p);
  if (all_zero(p.before) && all_zero(p.after)) {
    return x;
  }
  if (is_empty(c, x)) {
    if (mode != "constant") {
      refuse("mode '{}' has nothing to copy", mode);
    }
    return known != nullptr ? filled(c, c.dtype(0), shape, known->get(0))
                            : broadcast_to(c, "pad", c.b().reshape(value, {}), shape);
  }
  return mode == "constant" ? pad_constant(c, x, p, known, value) : pad_by_copying(c, x, p, mode);
}

std::vector<ValueId> convert_pad(Convert& c) {
  const std::string mode = c.string_or("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    refuse("mode '{}' is not known", mode);
  }
  ir::Array fill(c.dtype(0), {});
  fill.set_double(0, c.float_or("value", 0));
  if (!c.has_input(2)) {
    return {padded(c, padding_of(c), mode, &fill, -1)};
  }
  require_same_type(c, {c.input(0), c.input(2)});
  if (count_elements(c.shape(2)) != 1) {
    refuse("the value to pad with is not one number");
  }
  return {padded(c, padding_of(c), mode, c.b().data(c.input(2)).get(), c.input(2))};
}

// Crops or pads around the centre until the axes have the wanted extents.
std::vector<ValueId> convert_center_crop_pad(Convert& c) {
  const std::vector<int64_t> wanted = c.constant_ints(1, "the shape");
  count_elements(wanted);
  std::vector<int64_t> axes(c.shape(0).size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = c.ints_or("axes", axes);
  normalized_axes(axes, c.rank(0));
  if (wanted.size() != axes.size()) {
    refuse("{} extents for {} axes", wanted.size(), axes.size());
  }
  const size_t rank = c.shape(0).size();
  Padding p{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(Convert::axis(axes[i], c.rank(0)));
    const int64_t more = wanted[i] - c.shape(0)[d];
    p.before[d] = more / 2;
    p.after[d] = more - p.before[d];
  }
  const ir::Array zero(c.dtype(0), {});
  return {padded(c, p, "constant", &zero, -1)};
}

constexpr Row kPadRows[] = {
    {"", "CenterCropPad", 18, convert_center_crop_pad},
    {"", "Pad", 1, convert_pad},
};

}  // namespace

std::span<const Row> rows_pad() { return kPadRows; }

}  // namespace tenon::onnx
