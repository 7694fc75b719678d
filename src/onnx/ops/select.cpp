// SPDX-License-Identifier: Apache-2.0
// Operators that take some of the elements, or put more beside them, without computing.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

// ---- some of the elements --------------------------------------------------------------------

std::vector<ValueId> convert_trilu(Convert& c) {
  const bool upper = c.int_or("upper", 1) != 0;
  const int64_t k = c.has_input(1) ? constant_int(c, 1, "k") : 0;
  const Shape shape = c.shape(0);
  if (shape.size() < 2) {
    refuse("an operand of rank {}, less than 2", shape.size());
  }
  if (is_empty(c, c.input(0))) {
    return {c.input(0)};
  }
  const int64_t diagonal = std::clamp<int64_t>(k, -shape[shape.size() - 2], shape.back());
  return {c.b().compute("trilu", {c.input(0)}, [&](te::Builder& t, Tensors in) {
    return t.compute("trilu", shape, [&](Axes axes) {
      const ir::Expr row = axes[shape.size() - 2];
      const ir::Expr column = axes[shape.size() - 1];
      const ir::Expr kept = upper ? ir::le(row + ir::Expr(diagonal), column)
                                  : ir::le(column, row + ir::Expr(diagonal));
      const ir::Expr value = ir::load(in[0], {axes.begin(), axes.end()});
      return ir::select(kept, value, ir::zero_of(value.dtype()));
    });
  })};
}

ValueId sliced(Convert& c, ValueId x, const std::vector<int64_t>& begin, const Shape& shape,
               const std::vector<int64_t>& step) {
  if (shape == c.b().shape(x) &&
      std::all_of(step.begin(), step.end(), [](int64_t s) { return s > 0; })) {
    return x;
  }
  if (count_elements(shape) == 0) {
    return c.b().empty(c.b().dtype(x), shape);
  }
  return c.b().compute("slice", {x}, [&](te::Builder& t, Tensors in) {
    return te::slice(t, "slice", in[0], begin, shape, step);
  });
}

// numpy's rules for one dimension: what is outside is cut off.
void slice_dimension(int64_t extent, int64_t start, int64_t end, int64_t step, int64_t& begin,
                     int64_t& length) {
  if (step == 0) {
    refuse("a step of 0");
  }
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? extent : extent - 1;
  const auto place = [&](int64_t v) {
    return std::clamp(v < 0 ? v + extent : v, std::min(lowest, highest), highest);
  };
  begin = place(start);
  const int64_t distance = step > 0 ? place(end) - begin : begin - place(end);
  const int64_t stride = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
  length = distance <= 0 ? 0 : (distance - 1) / stride + 1;
}

std::vector<ValueId> convert_slice(Convert& c) {
  const bool inputs = c.opset() >= 10;
  const std::vector<int64_t> starts =
      inputs ? c.constant_ints(1, "where the slice starts") : c.ints_or("starts", {});
  const std::vector<int64_t> ends =
      inputs ? c.constant_ints(2, "where the slice ends") : c.ints_or("ends", {});
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<int64_t> steps(starts.size(), 1);
  if (inputs) {
    axes = c.has_input(3) ? c.constant_ints(3, "the axes") : axes;
    steps = c.has_input(4) ? c.constant_ints(4, "the steps") : steps;
  } else {
    axes = c.ints_or("axes", axes);
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    refuse("starts, ends, axes and steps differ in length");
  }
  normalized_axes(axes, c.rank(0));
  Shape shape = c.shape(0);
  std::vector<int64_t> begin(shape.size(), 0);
  std::vector<int64_t> step(shape.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(Convert::axis(axes[i], c.rank(0)));
    slice_dimension(c.shape(0)[d], starts[i], ends[i], steps[i], begin[d], shape[d]);
    step[d] = shape[d] <= 1 ? 1 : steps[i];
  }
  return {sliced(c, c.input(0), begin, shape, step)};
}

// How long each part is.
std::vector<int64_t> split_lengths(Convert& c, int64_t extent) {
  std::vector<int64_t> lengths = ints_attribute_or_input(c, "split", 1);
  if (lengths.empty()) {
    const auto parts = static_cast<int64_t>(c.num_outputs());
    if (parts < 1 || (c.opset() < 18 && extent % parts != 0)) {
      refuse("{} elements do not divide into {} equal parts", extent, parts);
    }
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) {
      lengths.push_back(std::clamp<int64_t>(extent - i * each, 0, each));
    }
  }
  int64_t rest = extent;
  for (const int64_t length : lengths) {
    rest = length < 0 || length > rest ? -1 : rest - length;
  }
  if (lengths.size() != c.num_outputs() || rest != 0) {
    refuse("the parts do not make up the {} elements of the axis", extent);
  }
  return lengths;
}

std::vector<ValueId> convert_split(Convert& c) {
  const int64_t axis = Convert::axis(c.int_or("axis", 0), c.rank(0));
  const ValueId x = c.input(0);
  const Shape whole = c.shape(0);
  std::vector<ValueId> parts;
  int64_t begin = 0;
  const auto lengths = split_lengths(c, whole[static_cast<size_t>(axis)]);
  for (const int64_t length : lengths) {
    Shape shape = whole;
    shape[static_cast<size_t>(axis)] = length;
    const ValueId part = shape == whole ? x
                         : count_elements(shape) == 0
                             ? c.b().empty(c.dtype(0), shape)
                             : slice_of_many(c.b(), x, axis, begin, length, std::ssize(lengths));
    parts.push_back(part);
    begin += length;
  }
  return parts;
}

// ---- more elements ---------------------------------------------------------------------------

std::vector<ValueId> convert_concat(Convert& c) {
  const std::vector<ValueId> all = all_inputs(c);
  if (all.empty()) {
    refuse("there is nothing to concatenate");
  }
  require_same_type(c, all);
  const int64_t axis = Convert::axis(c.int_or("axis", c.opset() < 4 ? 1 : 0), c.rank(0));
  const auto d = static_cast<size_t>(axis);
  Shape shape = c.shape(0);
  shape[d] = 0;
  std::vector<ValueId> parts;
  for (const ValueId v : all) {
    Shape rest = c.b().shape(v);
    if (rest.size() != shape.size()) {
      refuse("operands of ranks {} and {}", shape.size(), rest.size());
    }
    shape[d] += rest[d];
    rest[d] = shape[d];
    if (rest != shape) {
      refuse("operands differ outside axis {}", axis);
    }
    if (!is_empty(c, v)) {
      parts.push_back(v);
    }
  }
  if (parts.empty()) {
    return {c.b().empty(c.dtype(0), shape)};
  }
  if (parts.size() == 1) {
    return parts;
  }
  constexpr size_t kAtOnce = 64;  // a choice among more is too deep an expression
  if (parts.size() > kAtOnce) {
    return {join(c.b(), parts, axis)};
  }
  return {c.b().compute("concat", parts, [&](te::Builder& t, Tensors in) {
    return te::concat(t, "concat", {in.begin(), in.end()}, axis);
  })};
}

std::vector<ValueId> convert_expand(Convert& c) {
  const Shape shape = broadcast_shapes({c.shape(0), c.constant_ints(1, "the shape")});
  count_elements(shape);
  return {broadcast_to(c, "expand", c.input(0), shape)};
}

std::vector<int64_t> repeats_of(Convert& c) {
  if (c.opset() >= 6) {
    return c.constant_ints(1, "how often to repeat");
  }
  std::vector<int64_t> repeats(c.shape(0).size(), 1);
  const int64_t axis = constant_int(c, 2, "the axis");
  repeats[static_cast<size_t>(Convert::axis(axis, c.rank(0)))] =
      constant_int(c, 1, "how often to repeat");
  return repeats;
}

std::vector<ValueId> convert_tile(Convert& c) {
  const std::vector<int64_t> repeats = repeats_of(c);
  const Shape own = c.shape(0);
  if (repeats.size() != own.size()) {
    refuse("{} repeats for an operand of rank {}", repeats.size(), own.size());
  }
  count_elements(repeats);
  Shape shape = own;
  for (size_t d = 0; d < own.size(); ++d) {
    shape[d] *= repeats[d];
  }
  if (shape == own) {
    return {c.input(0)};
  }
  if (count_elements(shape) == 0) {
    return {c.b().empty(c.dtype(0), shape)};
  }
  return {c.b().compute("tile", {c.input(0)}, [&](te::Builder& t, Tensors in) {
    return t.compute("tile", shape, [&](Axes axes) {
      std::vector<ir::Expr> at;
      for (size_t d = 0; d < own.size(); ++d) {
        at.push_back(repeats[d] == 1 ? ir::Expr(axes[d]) : ir::floor_mod(axes[d], own[d]));
      }
      return ir::load(in[0], at);
    });
  })};
}

constexpr Row kSelectRows[] = {
    {"", "Concat", 1, convert_concat}, {"", "Expand", 8, convert_expand},
    {"", "Slice", 1, convert_slice},   {"", "Split", 1, convert_split},
    {"", "Tile", 1, convert_tile},     {"", "Trilu", 14, convert_trilu},
};

}  // namespace

std::span<const Row> rows_select() { return kSelectRows; }

}  // namespace tenon::onnx
