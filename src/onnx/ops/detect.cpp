// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression, whose output size depends on data and is therefore computed while the model is read,
// and MaxUnpool.
#include <algorithm>
#include <numeric>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

struct Box {
  double y0, x0, y1, x1;
  double area() const { return (y1 - y0) * (x1 - x0); }
};

Box read_box(const ir::Array& boxes, int64_t offset, bool by_center) {
  const double a = boxes.get_double(offset);
  const double b = boxes.get_double(offset + 1);
  const double c = boxes.get_double(offset + 2);
  const double d = boxes.get_double(offset + 3);
  if (by_center) {  // x, y, width, height
    return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  }
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) {
    return 0;
  }
  const double common = height * width;
  return common / (a.area() + b.area() - common);
}

struct Suppression {
  int64_t most = 0;
  double overlap = 0;
  std::optional<double> score;
};

// Positions of the boxes that stay, best first.
std::vector<int64_t> suppress(const std::vector<Box>& boxes, const std::vector<double>& scores,
                              const Suppression& limits) {
  std::vector<int64_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](int64_t i) { return scores[static_cast<size_t>(i)]; };
  const auto box = [&](int64_t i) -> const Box& { return boxes[static_cast<size_t>(i)]; };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return score(a) > score(b) || (score(a) == score(b) && a < b);
  });
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.most) {
      break;
    }
    const bool weak = limits.score && score(i) <= *limits.score;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
      return overlap(box(k), box(i)) > limits.overlap;
    });
    if (!weak && !covered) {
      kept.push_back(i);
    }
  }
  return kept;
}

std::vector<ValueId> convert_non_max_suppression(Convert& c) {
  const ir::Array& boxes = c.decisive(0, "the boxes");
  const ir::Array& scores = c.decisive(1, "the scores");
  const Shape& s = scores.shape();
  if (s.size() != 3 || boxes.shape() != Shape{s[0], s[2], 4}) {
    refuse("boxes of [batch, count, 4] and scores of [batch, classes, count] are needed");
  }
  Suppression limits;
  if (c.has_input(2)) limits.most = static_cast<int64_t>(c.constant_scalar(2, "the box count"));
  if (c.has_input(3)) limits.overlap = c.constant_scalar(3, "the overlap threshold");
  if (c.has_input(4)) limits.score = c.constant_scalar(4, "the score threshold");
  const bool by_center = c.int_or("center_point_box", 0) != 0;
  std::vector<int64_t> rows;
  for (int64_t n = 0; n < s[0]; ++n) {
    std::vector<Box> batch;
    for (int64_t i = 0; i < s[2]; ++i) {
      batch.push_back(read_box(boxes, (n * s[2] + i) * 4, by_center));
    }
    for (int64_t k = 0; k < s[1]; ++k) {
      std::vector<double> values;
      for (int64_t i = 0; i < s[2]; ++i) {
        values.push_back(scores.get_double((n * s[1] + k) * s[2] + i));
      }
      for (const int64_t i : suppress(batch, values, limits)) {
        rows.insert(rows.end(), {n, k, i});
      }
    }
  }
  const ValueId flat = c.b().ints(rows);
  return {c.b().reshape(flat, {static_cast<int64_t>(rows.size()) / 3, 3})};
}

// The shape whose flat positions the indices of MaxPool count.
Shape unpooled_shape(Convert& c) {
  Shape shape = c.shape(0);
  const size_t spatial = shape.size() < 3 ? 0 : shape.size() - 2;
  const Shape kernel = c.ints_or("kernel_shape", {});
  const Shape stride = c.ints_or("strides", Shape(spatial, 1));
  const Shape pads = c.ints_or("pads", Shape(2 * spatial, 0));
  if (spatial == 0 || kernel.size() != spatial || stride.size() != spatial ||
      pads.size() != 2 * spatial || c.shape(1) != shape) {
    refuse("the shapes of the input, the indices and the kernel do not fit each other");
  }
  for (size_t d = 0; d < spatial; ++d) {
    int64_t& extent = shape[d + 2];
    extent = (extent - 1) * stride[d] + kernel[d] - pads[d] - pads[spatial + d];
  }
  if (count_elements(shape) == 0) {
    refuse("the output has no elements");
  }
  return shape;
}

// Of the elements of each plane the last one whose index says so lands at a position, 0 where there is none.
te::Tensor unpool(te::Builder& b, const te::Tensor& x, const te::Tensor& index,
                  const Shape& shape) {
  const Shape spatial(x.shape().begin() + 2, x.shape().end());
  const int64_t count = count_elements(spatial);
  const auto flat = [](std::span<const ir::Var> axes, const Shape& extents) {
    Expr offset = 0;
    for (size_t d = 0; d < axes.size(); ++d) offset = offset * extents[d] + axes[d];
    return offset;
  };
  const te::Tensor from =
      b.reduce("unpool.from", shape, ir::BinaryOp::kMax, spatial, [&](Axes at, Axes k) -> Expr {
        std::vector<Expr> read{at[0], at[1]};
        read.insert(read.end(), k.begin(), k.end());
        const Expr hit = ir::eq(ir::cast(ir::kI64, ir::load(index, read)), flat(at, shape));
        return ir::select(hit, flat(k, spatial), ir::make_int(ir::kI64, -1));
      });
  const te::Tensor planes = te::reshape(b, "unpool.planes", x, {x.shape()[0], x.shape()[1], count});
  return b.compute("unpool", shape, [&](Axes at) {
    const Expr source = ir::load(from, {at.begin(), at.end()});
    return ir::select(ir::lt(source, 0), ir::zero_of(x.dtype()),
                      ir::load(planes, {at[0], at[1], ir::min(ir::max(source, 0), count - 1)}));
  });
}

std::vector<ValueId> convert_max_unpool(Convert& c) {
  const Shape shape = unpooled_shape(c);
  Shape wanted = shape;
  if (c.has_input(2)) {
    wanted = c.constant_ints(2, "the output shape");
  }
  Shape after;
  for (size_t d = 0; d < shape.size() && wanted.size() == shape.size(); ++d) {
    after.push_back(wanted[d] - shape[d]);
  }
  if (after.size() != shape.size() ||
      std::any_of(after.begin(), after.end(), [](int64_t v) { return v < 0; })) {
    refuse("output_shape is smaller than the kernel, the strides and the pads make it");
  }
  return {c.b().compute("max_unpool", {c.input(0), c.input(1)}, [&](te::Builder& b, Tensors in) {
    const te::Tensor y = unpool(b, in[0], in[1], shape);
    return wanted == shape ? y : te::pad(b, "max_unpool", y, Shape(shape.size(), 0), after);
  })};
}

constexpr Row kDetectRows[] = {
    {"", "MaxUnpool", 9, convert_max_unpool},
    {"", "NonMaxSuppression", 10, convert_non_max_suppression},
};

}  // namespace

std::span<const Row> rows_detect() { return kDetectRows; }

}  // namespace tenon::onnx
