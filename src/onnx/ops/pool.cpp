// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/ops/emit.h"
#include "onnx/ops/nn.h"
#include "onnx/ops/window.h"

namespace tenon::onnx {
namespace {

// Where output position `axes` looks through kernel position `window`, and whether that is in the input.
std::vector<ir::Expr> looks_at(const WindowSet& w, const Shape& in, Axes axes, Axes window,
                               ir::Expr& inside) {
  std::vector<ir::Expr> at{axes[0], axes[1]};
  inside = ir::make_bool(true);
  for (size_t d = 0; d < w.out.size(); ++d) {
    at.push_back(axes[2 + d] * ir::Expr(w.params.stride[d]) +
                 window[d] * ir::Expr(w.params.dilation[d]) - ir::Expr(w.params.pad_before[d]));
    inside = ir::logical_and(inside, ir::le(0, at.back()));
    inside = ir::logical_and(inside, ir::lt(at.back(), ir::Expr(in[2 + d])));
  }
  return at;
}

Shape pooled_shape(Convert& c, const WindowSet& w) {
  Shape shape{c.shape(0)[0], c.shape(0)[1]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return shape;
}

// The place in the whole tensor of the first element of each window that equals its maximum; of its
// first element where all are NaN, which the maximum passes over. Places of elements that are not the
// maximum come behind all others in the search, by `count`.
ValueId max_indices(Convert& c, const WindowSet& w, ValueId y) {
  const Shape in = c.shape(0);
  const Shape out = pooled_shape(c, w);
  const int64_t count = count_elements(in);
  const bool columns = c.int_or("storage_order", 0) == 1;
  const auto place = [&](const std::vector<ir::Expr>& at) {
    ir::Expr flat = 0;
    for (size_t d = 0; d < in.size(); ++d) flat = flat * ir::Expr(in[d]) + at[d];
    return flat;
  };
  const auto by_columns = [&](const ir::Expr& flat) {
    ir::Expr rest = flat, index = 0;
    int64_t stride = std::accumulate(in.begin() + 2, in.end(), int64_t{1}, std::multiplies<>());
    index = ir::floor_div(flat, stride) * ir::Expr(stride);
    for (size_t d = in.size(); d-- > 2;) {
      stride /= in[d];
      index = index + ir::floor_mod(rest, in[d]) * ir::Expr(stride);
      rest = ir::floor_div(rest, in[d]);
    }
    return index;
  };
  return c.b().compute("max_indices", {c.input(0), y}, [&](te::Builder& b, Tensors x) {
    const te::Tensor first =
        b.reduce("max_indices.first", out, ir::BinaryOp::kMin, w.kernel, [&](Axes axes, Axes r) {
          ir::Expr inside;
          const auto at = looks_at(w, in, axes, r, inside);
          const std::vector<ir::Expr> here(axes.begin(), axes.end());
          const ir::Expr hit =
              ir::logical_and(inside, ir::eq(ir::load(x[0], at), ir::load(x[1], here)));
          const ir::Expr miss = ir::select(inside, place(at) + ir::Expr(count), 2 * count - 1);
          return ir::select(hit, place(at), miss);
        });
    return te::elementwise(b, "max_indices", {first}, [&](Args v) {
      const ir::Expr flat = ir::select(ir::lt(v[0], count), v[0], v[0] - ir::Expr(count));
      return columns ? by_columns(flat) : flat;
    });
  });
}

// How many positions of each window count for the average, when ceil_mode's own padding does not.
ir::Array counted(const WindowSet& w, const Shape& in, ir::DType t) {
  Shape shape(2, 1);
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  ir::Array a(t, shape);
  for (int64_t i = 0; i < a.elements(); ++i) {
    int64_t rest = i;
    double count = 1;
    for (size_t d = w.out.size(); d-- > 0;) {
      const int64_t start = rest % w.out[d] * w.params.stride[d];
      rest /= w.out[d];
      const int64_t end = in[2 + d] + w.params.pad_before[d] + w.params.pad_after[d] - w.extra[d];
      const int64_t fit = (end - start + w.params.dilation[d] - 1) / w.params.dilation[d];
      count *= static_cast<double>(std::min(w.kernel[d], fit));
    }
    a.set_double(i, count);
  }
  return a;
}

// The sum of fn(x) over each window, in the wide type.
template <class Fn>
te::Tensor window_sum(te::Builder& b, const std::string& name, const te::Tensor& x,
                      const WindowSet& w, const Shape& out, const Fn& fn) {
  const ir::DType t = wide(x.dtype());
  return b.reduce(name, out, ir::BinaryOp::kAdd, w.kernel, [&](Axes axes, Axes r) {
    ir::Expr inside;
    const auto at = looks_at(w, x.shape(), axes, r, inside);
    return ir::select(inside, fn(ir::cast(t, ir::load(x, at))), ir::zero_of(t));
  });
}

ir::Expr power(const ir::Expr& x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 0.5) return ir::call(ir::Intrinsic::kSqrt, {x});
  return ir::call(ir::Intrinsic::kPow, {x, number(x, exponent)});
}

ir::Expr absolute(const ir::Expr& x) { return ir::call(ir::Intrinsic::kAbs, {x}); }

// The windows along dimension `keep` alone, or along all others.
WindowSet along(const WindowSet& w, size_t keep, bool others) {
  WindowSet part = w;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    if ((d == keep) != others) continue;
    part.kernel[d] = part.params.stride[d] = part.params.dilation[d] = 1;
    part.params.pad_before[d] = part.params.pad_after[d] = 0;
  }
  return part;
}

// A window of many taps is as good as one of its rows and then one of its columns, with fewer taps in all: maxima are the
// same, and so are means but for rounding. Rows lie side by side in memory, so that most taps are whole vectors.
constexpr int64_t kTapsOfTwoPools = 25;

bool is_two_pools(const WindowSet& w, ir::DType t, te::Pool kind) {
  int64_t taps = 1;
  for (const int64_t k : w.kernel) taps *= k;
  const bool is_exact = kind == te::Pool::kMax || t == ir::kF32 || t == ir::kF64;
  return is_exact && taps >= kTapsOfTwoPools && 2 * w.kernel.back() <= taps && w.kernel.back() > 1;
}

ValueId pooled(Convert& c, const std::string& name, const WindowSet& w, te::Pool kind) {
  const auto pool = [&](const std::string& of, ValueId x, const WindowSet& part) {
    return c.b().compute(of, {x}, [&](te::Builder& b, Tensors in) {
      return te::pool(b, of, in[0], kind, part.kernel, part.params);
    });
  };
  if (!is_two_pools(w, c.dtype(0), kind)) return pool(name, c.input(0), w);
  const size_t last = w.kernel.size() - 1;
  return pool(name, pool(name + ".rows", c.input(0), along(w, last, true)), along(w, last, false));
}

double lp_order(Convert& c) {
  const int64_t p = c.int_or("p", 2);
  if (p < 1) refuse("'p' is {}", p);
  return static_cast<double>(p);
}

std::vector<int64_t> spatial_dims(Convert& c) {
  std::vector<int64_t> dims(spatial(c.shape(0)).size());
  std::iota(dims.begin(), dims.end(), 2);
  return dims;
}

}  // namespace

std::vector<ValueId> convert_max_pool(Convert& c) {
  const WindowSet w = read_windows(c, kernel_shape(c));
  std::vector<ValueId> out{pooled(c, "max_pool", w, te::Pool::kMax)};
  if (c.has_output(1)) out.push_back(max_indices(c, w, out[0]));
  return out;
}

std::vector<ValueId> convert_average_pool(Convert& c) {
  require_float(c.dtype(0));
  const WindowSet w = read_windows(c, kernel_shape(c));
  const bool with_pad = c.int_or("count_include_pad", 0) != 0;
  const bool incomplete =
      std::any_of(w.extra.begin(), w.extra.end(), [](int64_t e) { return e > 0; });
  const ir::DType t = c.dtype(0);
  if (!with_pad || !incomplete) {
    const auto kind = with_pad ? te::Pool::kAverageIncludePad : te::Pool::kAverage;
    return {pooled(c, "average_pool", w, kind)};
  }
  const Shape out = pooled_shape(c, w);
  if (count_elements(out) > (int64_t{1} << 26)) refuse("the output is too large");
  const ValueId counts = c.b().constant(counted(w, c.shape(0), wide(t)), "counts");
  return {c.b().compute("average_pool", {c.input(0), counts}, [&](te::Builder& b, Tensors x) {
    const te::Tensor sum =
        window_sum(b, "average_pool.sum", x[0], w, out, [](const ir::Expr& e) { return e; });
    return te::elementwise(b, "average_pool", {sum, x[1]},
                           [&](Args e) { return ir::cast(t, e[0] / e[1]); });
  })};
}

std::vector<ValueId> convert_lp_pool(Convert& c) {
  require_float(c.dtype(0));
  const WindowSet w = read_windows(c, kernel_shape(c));
  const double p = lp_order(c);
  const Shape out = pooled_shape(c, w);
  const ir::DType t = c.dtype(0);
  return {c.b().compute("lp_pool", {c.input(0)}, [&](te::Builder& b, Tensors x) {
    const te::Tensor sum = window_sum(b, "lp_pool.sum", x[0], w, out,
                                      [&](const ir::Expr& e) { return power(absolute(e), p); });
    return te::elementwise(b, "lp_pool", {sum},
                           [&](Args e) { return ir::cast(t, power(e[0], 1 / p)); });
  })};
}

std::vector<ValueId> convert_global_average_pool(Convert& c) {
  require_float(c.dtype(0));
  const auto dims = spatial_dims(c);
  const auto extents = spatial(c.shape(0));
  const auto count = static_cast<double>(count_elements(extents));
  const ir::DType t = c.dtype(0);
  return {c.b().compute("global_average_pool", {c.input(0)}, [&](te::Builder& b, Tensors x) {
    const te::Tensor sum =
        te::reduce_dims(b, "global_average_pool.sum", x[0], ir::BinaryOp::kAdd, dims, true);
    return te::elementwise(b, "global_average_pool", {sum},
                           [&](Args e) { return ir::cast(t, e[0] / number(e[0], count)); });
  })};
}

std::vector<ValueId> convert_global_max_pool(Convert& c) {
  require_float(c.dtype(0));
  const auto dims = spatial_dims(c);
  return {c.b().compute("global_max_pool", {c.input(0)}, [&](te::Builder& b, Tensors x) {
    return te::reduce_dims(b, "global_max_pool", x[0], maximum_of(x[0].dtype()), dims, true);
  })};
}

std::vector<ValueId> convert_global_lp_pool(Convert& c) {
  require_float(c.dtype(0));
  const auto dims = spatial_dims(c);
  const double p = lp_order(c);
  const ir::DType t = c.dtype(0);
  return {c.b().compute("global_lp_pool", {c.input(0)}, [&](te::Builder& b, Tensors x) {
    const te::Tensor powers = te::elementwise(b, "global_lp_pool.power", {x[0]}, [&](Args e) {
      return power(absolute(ir::cast(wide(t), e[0])), p);
    });
    const te::Tensor sum =
        te::reduce_dims(b, "global_lp_pool.sum", powers, ir::BinaryOp::kAdd, dims, true);
    return te::elementwise(b, "global_lp_pool", {sum},
                           [&](Args e) { return ir::cast(t, power(e[0], 1 / p)); });
  })};
}

}  // namespace tenon::onnx
