// SPDX-License-Identifier: Apache-2.0
// Operators that only look at shapes, and those that give the same elements another shape or order.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

ValueId reshaped(Convert& c, ValueId x, Shape shape) {
  const int64_t count = count_elements(shape);
  if (count != count_elements(c.b().shape(x))) {
    refuse("a tensor of {} elements cannot become one of {}", count_elements(c.b().shape(x)),
           count);
  }
  return c.b().reshape(x, std::move(shape));
}

// ---- shapes as values ------------------------------------------------------------------------

std::vector<ValueId> convert_shape(Convert& c) {
  const Shape& shape = c.shape(0);
  const int64_t rank = c.rank(0);
  const auto place = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = place(c.int_or("start", 0));
  const int64_t end = std::max(place(c.int_or("end", rank)), start);
  return {c.b().ints({shape.begin() + start, shape.begin() + end})};
}

std::vector<ValueId> convert_size(Convert& c) {
  return {filled(c, ir::kI64, {}, static_cast<double>(count_elements(c.shape(0))))};
}

std::vector<ValueId> convert_constant_of_shape(Convert& c) {
  const Shape shape = c.constant_ints(0, "the shape");
  const std::optional<ir::Array> value = c.tensor("value");
  if (!value) {
    return {filled(c, ir::kF32, shape, 0.0)};
  }
  if (value->elements() != 1) {
    refuse("the value has {} elements, not one", value->elements());
  }
  return {filled(c, value->dtype(), shape, value->get(0))};
}

std::vector<ValueId> convert_eye_like(Convert& c) {
  const Shape shape = c.shape(0);
  if (shape.size() != 2) {
    refuse("an operand of rank {}, not 2", shape.size());
  }
  const ir::DType t = c.has("dtype") ? type_of_number(c.int_or("dtype", 1)) : c.dtype(0);
  const int64_t k = std::clamp(c.int_or("k", 0), -shape[0], shape[1]);
  if (count_elements(shape) * t.bytes() > graph::kLargestFolded) {
    refuse("the matrix is too large");
  }
  ir::Array a(t, shape);
  for (int64_t row = 0; row < shape[0]; ++row) {
    if (row >= -k && row < shape[1] - k) {
      a.set_double(row * shape[1] + row + k, 1);
    }
  }
  return {c.b().constant(std::move(a))};
}

std::vector<ValueId> convert_range(Convert& c) {
  require_same_type(c, all_inputs(c));
  const ir::Array& start = c.constant(0, "the start");
  const double limit = c.constant_scalar(1, "the limit");
  const ir::Array& delta = c.constant(2, "the step");
  if (start.elements() != 1 || delta.elements() != 1 || delta.get_double(0) == 0) {
    refuse("start and step are single numbers, and the step is not 0");
  }
  const double length =
      std::max(std::ceil((limit - start.get_double(0)) / delta.get_double(0)), 0.0);
  if (!(length * static_cast<double>(start.dtype().bytes()) <=
        static_cast<double>(graph::kLargestFolded))) {
    refuse("a range of {} elements is too large", length);
  }
  ir::Array a(start.dtype(), {static_cast<int64_t>(length)});
  const ir::Scalar first = start.get(0);
  const ir::Scalar step = delta.get(0);
  for (int64_t i = 0; i < a.elements(); ++i) {
    const auto wrapped_product = static_cast<uint64_t>(step.i) * static_cast<uint64_t>(i);
    a.set(i, {static_cast<int64_t>(static_cast<uint64_t>(first.i) + wrapped_product),
              first.f + step.f * static_cast<double>(i)});
  }
  return {c.b().constant(std::move(a))};
}

// ---- the same elements under another shape ---------------------------------------------------

std::vector<ValueId> convert_reshape(Convert& c) {
  Shape wanted = ints_attribute_or_input(c, "shape", 1);
  const Shape own = c.shape(0);
  const bool keep_zeros = c.int_or("allowzero", 0) != 0;
  std::optional<size_t> open;
  int64_t known = 1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] == 0 && !keep_zeros) {
      if (d >= own.size()) {
        refuse("a 0 at place {} of the shape of an operand of rank {}", d, own.size());
      }
      wanted[d] = own[d];
    }
    if (wanted[d] == -1) {
      if (open) {
        refuse("the shape has two places of -1");
      }
      open = d;
      wanted[d] = 1;
    }
  }
  known = count_elements(wanted);
  if (open) {
    const int64_t count = count_elements(own);
    if (known == 0 || count % known != 0) {
      refuse("{} elements do not divide into {}", count, known);
    }
    wanted[*open] = count / known;
  }
  return {reshaped(c, c.input(0), std::move(wanted))};
}

std::vector<ValueId> convert_flatten(Convert& c) {
  const Shape own = c.shape(0);
  const auto rank = static_cast<int64_t>(own.size());
  int64_t axis = c.int_or("axis", 1);
  if (axis < -rank || axis > rank) {
    refuse("axis {} of an operand of rank {}", axis, rank);
  }
  axis += axis < 0 ? rank : 0;
  return {reshaped(c, c.input(0),
                   {count_elements({own.begin(), own.begin() + axis}),
                    count_elements({own.begin() + axis, own.end()})})};
}

std::vector<ValueId> convert_squeeze(Convert& c) {
  const Shape own = c.shape(0);
  const bool given = c.has("axes") || c.has_input(1);
  const std::vector<int64_t> axes =
      normalized_axes(ints_attribute_or_input(c, "axes", 1), c.rank(0));
  Shape shape;
  for (size_t d = 0; d < own.size(); ++d) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d));
    if (named && own[d] != 1) {
      refuse("dimension {} has extent {}, not 1", d, own[d]);
    }
    if (given ? !named : own[d] != 1) {
      shape.push_back(own[d]);
    }
  }
  return {reshaped(c, c.input(0), std::move(shape))};
}

std::vector<ValueId> convert_unsqueeze(Convert& c) {
  Shape shape = c.shape(0);
  const std::vector<int64_t> given = ints_attribute_or_input(c, "axes", 1);
  const auto rank = static_cast<int64_t>(shape.size() + given.size());
  for (const int64_t a : normalized_axes(given, rank)) {
    shape.insert(shape.begin() + a, 1);
  }
  return {reshaped(c, c.input(0), std::move(shape))};
}

// ---- the same elements at other places -------------------------------------------------------

std::vector<ValueId> convert_transpose(Convert& c) {
  std::vector<int64_t> perm(c.shape(0).size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = c.ints_or("perm", perm);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> all(c.shape(0).size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    refuse("perm does not order the {} dimensions", all.size());
  }
  return {perm == all ? c.input(0) : c.b().transpose(c.input(0), perm)};
}

struct Blocks {
  int64_t n, channels, height, width, size;
};

Blocks blocks_of(Convert& c) {
  const Shape& s = c.shape(0);
  const int64_t size = c.int_or("blocksize", 0);
  if (s.size() != 4 || size < 1 || size > (1 << 16)) {
    refuse("an operand of rank {} in blocks of {}", s.size(), size);
  }
  return {s[0], s[1], s[2], s[3], size};
}

std::vector<ValueId> convert_depth_to_space(Convert& c) {
  const Blocks s = blocks_of(c);
  const int64_t b = s.size;
  if (b > s.channels || s.channels % (b * b) != 0) {
    refuse("{} channels do not divide into blocks of {}", s.channels, b);
  }
  const std::string mode = c.string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    refuse("mode '{}' is neither DCR nor CRD", mode);
  }
  const int64_t depth = s.channels / (b * b);
  const bool dcr = mode == "DCR";
  const ValueId split = reshaped(c, c.input(0),
                                 dcr ? Shape{s.n, b, b, depth, s.height, s.width}
                                     : Shape{s.n, depth, b, b, s.height, s.width});
  const ValueId moved = c.b().transpose(
      split, dcr ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3});
  return {reshaped(c, moved, {s.n, depth, s.height * b, s.width * b})};
}

std::vector<ValueId> convert_space_to_depth(Convert& c) {
  const Blocks s = blocks_of(c);
  const int64_t b = s.size;
  if (s.height % b != 0 || s.width % b != 0) {
    refuse("an image of {} by {} does not divide into blocks of {}", s.height, s.width, b);
  }
  const ValueId split = reshaped(c, c.input(0), {s.n, s.channels, s.height / b, b, s.width / b, b});
  const ValueId moved = c.b().transpose(split, {0, 3, 5, 1, 2, 4});
  return {reshaped(c, moved, {s.n, s.channels * b * b, s.height / b, s.width / b})};
}

std::vector<ValueId> convert_reverse_sequence(Convert& c) {
  const int64_t time = Convert::axis(c.int_or("time_axis", 0), c.rank(0));
  const int64_t batch = Convert::axis(c.int_or("batch_axis", 1), c.rank(0));
  const int64_t steps = c.shape(0)[static_cast<size_t>(time)];
  if (time == batch || c.shape(1) != Shape{c.shape(0)[static_cast<size_t>(batch)]}) {
    refuse("the lengths do not lie along the batch axis");
  }
  if (is_empty(c, c.input(0))) {
    return {c.input(0)};
  }
  return {c.b().compute("reverse", {c.input(0), c.input(1)}, [&](te::Builder& t, Tensors in) {
    return t.compute("reverse", in[0].shape(), [&](Axes axes) {
      const ir::Expr at_time = axes[static_cast<size_t>(time)];
      const ir::Expr length =
          ir::cast(ir::kI64, ir::load(in[1], {axes[static_cast<size_t>(batch)]}));
      std::vector<ir::Expr> at(axes.begin(), axes.end());
      const ir::Expr back = ir::select(ir::lt(at_time, length), length - 1 - at_time, at_time);
      at[static_cast<size_t>(time)] = ir::min(ir::max(back, 0), steps - 1);
      return ir::load(in[0], at);
    });
  })};
}

constexpr Row kShapeRows[] = {
    {"", "ConstantOfShape", 9, convert_constant_of_shape},
    {"", "DepthToSpace", 1, convert_depth_to_space},
    {"", "EyeLike", 9, convert_eye_like},
    {"", "Flatten", 1, convert_flatten},
    {"", "Range", 11, convert_range},
    {"", "Reshape", 1, convert_reshape},
    {"", "ReverseSequence", 10, convert_reverse_sequence},
    {"", "Shape", 1, convert_shape},
    {"", "Size", 1, convert_size},
    {"", "SpaceToDepth", 1, convert_space_to_depth},
    {"", "Squeeze", 1, convert_squeeze},
    {"", "Transpose", 1, convert_transpose},
    {"", "Unsqueeze", 1, convert_unsqueeze},
};

}  // namespace

std::span<const Row> rows_shape() { return kShapeRows; }

}  // namespace tenon::onnx
