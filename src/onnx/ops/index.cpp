// SPDX-License-Identifier: Apache-2.0
// Reading by index, and operators whose result is a place: ArgMax, TopK, OneHot; CumSum.
#include <algorithm>

#include "onnx/ops/emit.h"
#include "onnx/ops/inside.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

void require_index(ir::DType t) {
  if (!t.is_int()) {
    refuse("indices are {}, not integers", ir::to_string(t));
  }
}

// A result without elements, whatever the operands are; nothing if there are elements. Reading from an
// operand without elements is refused.
std::optional<ValueId> empty_result(Convert& c, const Shape& shape) {
  if (count_elements(shape) == 0) {
    return c.b().empty(c.dtype(0), shape);
  }
  if (is_empty(c, c.input(0))) {
    refuse("an operand without elements is read");
  }
  return std::nullopt;
}

std::vector<ValueId> convert_gather(Convert& c) {
  require_index(c.dtype(1));
  const int64_t axis = Convert::axis(c.int_or("axis", 0), c.rank(0));
  Shape shape = c.shape(0);
  const Shape index = c.shape(1);
  shape.insert(shape.erase(shape.begin() + axis), index.begin(), index.end());
  if (const auto none = empty_result(c, shape)) {
    return {*none};
  }
  require_inside(c.b().data(c.input(1)), c.shape(0)[static_cast<size_t>(axis)], "index");
  return {c.b().compute("gather", {c.input(0), c.input(1)}, [&](te::Builder& t, Tensors in) {
    return te::gather(t, "gather", in[0], in[1], axis);
  })};
}

// out[p] = data[p with index[p] at the axis]
ValueId gather_elements(Convert& c, ValueId data, ValueId index, size_t axis) {
  return c.b().compute("gather_elements", {data, index}, [&](te::Builder& t, Tensors in) {
    return t.compute("gather_elements", in[1].shape(), [&](Axes axes) {
      std::vector<Expr> at(axes.begin(), axes.end());
      at[axis] = clamped(ir::load(in[1], at), in[0].shape()[axis]);
      return ir::load(in[0], at);
    });
  });
}

std::vector<ValueId> convert_gather_elements(Convert& c) {
  require_index(c.dtype(1));
  const auto axis = static_cast<size_t>(Convert::axis(c.int_or("axis", 0), c.rank(0)));
  if (c.rank(1) != c.rank(0)) {
    refuse("indices of rank {} for an operand of rank {}", c.rank(1), c.rank(0));
  }
  for (size_t d = 0; d < c.shape(0).size(); ++d) {
    if (d != axis && c.shape(1)[d] > c.shape(0)[d]) {
      refuse("indices have extent {} in dimension {}, the operand {}", c.shape(1)[d], d,
             c.shape(0)[d]);
    }
  }
  if (const auto none = empty_result(c, c.shape(1))) {
    return {*none};
  }
  require_inside(c.b().data(c.input(1)), c.shape(0)[axis], "index");
  return {gather_elements(c, c.input(0), c.input(1), axis)};
}

std::vector<ValueId> convert_gather_nd(Convert& c) {
  require_index(c.dtype(1));
  const Shape data = c.shape(0);
  const Shape index = c.shape(1);
  const int64_t batch = c.int_or("batch_dims", 0);
  const int64_t width = index.empty() ? 0 : index.back();
  if (index.empty() || batch < 0 || width < 1 || batch >= c.rank(1) || batch + width > c.rank(0)) {
    refuse("indices of width {} after {} batch dimensions for an operand of rank {}", width, batch,
           data.size());
  }
  if (!std::equal(data.begin(), data.begin() + batch, index.begin())) {
    refuse("the batch dimensions differ");
  }
  Shape shape(index.begin(), index.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + width, data.end());
  if (const auto none = empty_result(c, shape)) {
    return {*none};
  }
  require_inside(c.b().data(c.input(1)), {data.begin() + batch, data.begin() + batch + width},
                 "index");
  return {c.b().compute("gather_nd", {c.input(0), c.input(1)}, [&](te::Builder& t, Tensors in) {
    return t.compute("gather_nd", shape, [&](Axes axes) {
      const size_t tuple = index.size() - 1;
      std::vector<Expr> at(axes.begin(), axes.begin() + batch);
      for (int64_t k = 0; k < width; ++k) {
        std::vector<Expr> place(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(tuple));
        place.emplace_back(k);
        at.push_back(clamped(ir::load(in[1], place), data[static_cast<size_t>(batch + k)]));
      }
      at.insert(at.end(), axes.begin() + static_cast<std::ptrdiff_t>(tuple), axes.end());
      return ir::load(in[0], at);
    });
  })};
}

std::vector<ValueId> convert_one_hot(Convert& c) {
  const double given = c.constant_scalar(1, "the depth");
  if (!(given >= 0 && given <= static_cast<double>(te::kMaxExtent / 2))) {
    refuse("a depth of {}", given);
  }
  const auto depth = static_cast<int64_t>(given);
  Shape shape = c.shape(0);
  const auto axis = static_cast<size_t>(Convert::axis(c.int_or("axis", -1), c.rank(0) + 1));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  if (c.shape(2) != Shape{2}) {
    refuse("the values are not two numbers");
  }
  if (count_elements(shape) == 0) {
    return {c.b().empty(c.dtype(2), shape)};
  }
  return {c.b().compute("one_hot", {c.input(0), c.input(2)}, [&](te::Builder& t, Tensors in) {
    return t.compute("one_hot", shape, [&](Axes axes) {
      std::vector<Expr> at(axes.begin(), axes.end());
      at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
      const Expr hot = ir::eq(wrapped(ir::load(in[0], at), depth), axes[axis]);
      return ir::select(hot, ir::load(in[1], {1}), ir::load(in[1], {0}));
    });
  })};
}

// ---- places of extremes ----------------------------------------------------------------------

// The shape with `axis` reduced away, and reads along it.
struct Line {
  size_t axis;
  Shape whole, rest;

  Line(const Shape& shape, int64_t a) : axis(static_cast<size_t>(a)), whole(shape), rest(shape) {
    rest.erase(rest.begin() + a);
  }
  int64_t length() const { return whole[axis]; }
  // The element k of the line through `at`, which are the indices of the other dimensions.
  Expr read(const te::Tensor& x, Axes at, const Expr& k) const {
    std::vector<Expr> all(at.begin(), at.end());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(axis), k);
    return ir::load(x, all);
  }
};

template <bool kLargest>
std::vector<ValueId> convert_arg(Convert& c) {
  const Line line(c.shape(0), Convert::axis(c.int_or("axis", 0), c.rank(0)));
  const bool last = c.int_or("select_last_index", 0) != 0;
  Shape kept = line.whole;
  kept[line.axis] = 1;
  const Shape shape = c.int_or("keepdims", 1) != 0 ? kept : line.rest;
  if (count_elements(shape) == 0) {
    return {c.b().empty(ir::kI64, shape)};
  }
  if (line.length() == 0) {
    refuse("the axis has no elements");
  }
  const ValueId places = c.b().compute(label_of(c), {c.input(0)}, [&](te::Builder& t, Tensors in) {
    const std::string name = label_of(c);
    const auto combiner = kLargest ? maximum_of(in[0].dtype()) : minimum_of(in[0].dtype());
    const te::Tensor best = t.reduce(name + ".best", line.rest, combiner, {line.length()},
                                     [&](Axes at, Axes k) { return line.read(in[0], at, k[0]); });
    const te::Tensor found =
        t.reduce(name + ".place", line.rest, last ? ir::BinaryOp::kMax : ir::BinaryOp::kMin,
                 {line.length()}, [&](Axes at, Axes k) {
                   const Expr same = is_extreme(line.read(in[0], at, k[0]),
                                                ir::load(best, {at.begin(), at.end()}));
                   return ir::select(same, k[0], last ? Expr(0) : Expr(line.length() - 1));
                 });
    return found;
  });
  return {c.b().reshape(places, shape)};
}

// What TopK sorts by: elements that are numbers, and which of equal ones comes first.
struct SortKeys {
  te::Tensor value, turn;
};

// NaN is larger than any number: it becomes an infinity, and its turn comes before (or, among the
// smallest, after) those of the infinities that there are.
SortKeys sort_keys(te::Builder& t, const te::Tensor& x, const Line& line, bool largest) {
  const int64_t behind = largest ? -line.length() : line.length();
  const auto turn = [&](Axes at) -> Expr { return ir::cast(ir::kI32, at[line.axis]); };
  if (!x.dtype().is_float()) {
    return {x, t.compute("topk.turn", line.whole, turn)};
  }
  const auto if_nan = [&](Axes at, const Expr& nan, const Expr& number) {
    const Expr own = ir::load(x, {at.begin(), at.end()});
    return ir::select(ir::call(ir::Intrinsic::kIsNan, {own}), nan, number);
  };
  const te::Tensor value = t.compute("topk.value", line.whole, [&](Axes at) {
    return if_nan(at, ir::identity_of(ir::BinaryOp::kMin, x.dtype()),
                  ir::load(x, {at.begin(), at.end()}));
  });
  return {value, t.compute("topk.turn", line.whole, [&](Axes at) {
            return if_nan(at, turn(at) + ir::make_int(ir::kI32, behind), turn(at));
          })};
}

// Element i comes at the place that equals the number of elements before it in the order.
ValueId top_places(Convert& c, const Line& line, const Shape& shape, bool largest) {
  return c.b().compute("topk", {c.input(0)}, [&](te::Builder& t, Tensors in) {
    const SortKeys keys = sort_keys(t, in[0], line, largest);
    const te::Tensor rank = t.reduce(
        "topk.rank", line.whole, ir::BinaryOp::kAdd, {line.length()}, [&](Axes at, Axes k) {
          std::vector<ir::Var> others(at.begin(), at.end());
          others.erase(others.begin() + static_cast<std::ptrdiff_t>(line.axis));
          const auto own = [&](const te::Tensor& x) { return ir::load(x, {at.begin(), at.end()}); };
          const auto other = [&](const te::Tensor& x) { return line.read(x, others, k[0]); };
          const Expr better = largest ? ir::lt(own(keys.value), other(keys.value))
                                      : ir::lt(other(keys.value), own(keys.value));
          const Expr earlier = ir::logical_and(ir::eq(own(keys.value), other(keys.value)),
                                               ir::lt(other(keys.turn), own(keys.turn)));
          return ir::select(ir::logical_or(better, earlier), ir::make_int(ir::kI32, 1),
                            ir::make_int(ir::kI32, 0));
        });
    return t.reduce("topk.place", shape, ir::BinaryOp::kMax, {line.length()}, [&](Axes at, Axes k) {
      std::vector<ir::Var> others(at.begin(), at.end());
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(line.axis));
      const Expr place = ir::cast(ir::kI64, line.read(rank, others, k[0]));
      return ir::select(ir::eq(place, at[line.axis]), k[0], 0);
    });
  });
}

std::vector<ValueId> convert_top_k(Convert& c) {
  const int64_t k = c.opset() < 10 ? c.int_or("k", -1) : constant_int(c, 1, "how many to keep");
  const Line line(c.shape(0), Convert::axis(c.int_or("axis", -1), c.rank(0)));
  if (k < 0 || k > line.length()) {
    refuse("{} of {} elements are wanted", k, line.length());
  }
  if (c.dtype(0).is_bool()) {
    refuse("the operand is bool");
  }
  Shape shape = line.whole;
  shape[line.axis] = k;
  if (count_elements(shape) == 0) {
    return {c.b().empty(c.dtype(0), shape), c.b().empty(ir::kI64, shape)};
  }
  const ValueId places = top_places(c, line, shape, c.int_or("largest", 1) != 0);
  return {gather_elements(c, c.input(0), places, line.axis), places};
}

// ---- running sums ----------------------------------------------------------------------------

// Lines up to this length are summed from their start for each element; longer ones by blocks.
constexpr int64_t kShortLine = 64;

// Sums along a line in the order of summing: position 0 is the last element if reversed.
class RunningSum {
 public:
  RunningSum(Convert& c, Line line)
      : line_(std::move(line)),
        exclusive_(c.int_or("exclusive", 0) != 0),
        reverse_(c.int_or("reverse", 0) != 0) {}

  te::Tensor operator()(te::Builder& t, const te::Tensor& x) const {
    const int64_t n = line_.length();
    if (n <= kShortLine) {
      return t.reduce("cumsum", line_.whole, ir::BinaryOp::kAdd, {n},
                      [&](Axes at, Axes k) { return masked(x, at, k[0], position(at), k[0]); });
    }
    return by_blocks(t, x);
  }

 private:
  Expr place(const Expr& position) const {
    return reverse_ ? Expr(line_.length() - 1) - position : position;
  }
  Expr position(Axes at) const { return place(at[line_.axis]); }

  // The element at `source` in summing order, if number k belongs to the sum that ends at `limit`.
  Expr masked(const te::Tensor& x, Axes at, const Expr& k, const Expr& limit,
              const Expr& source) const {
    std::vector<Expr> all(at.begin(), at.end());
    all[line_.axis] = place(source);
    const Expr value = ir::cast(wide(x.dtype()), ir::load(x, all));
    const Expr counted = exclusive_ ? ir::lt(k, limit) : ir::le(k, limit);
    return ir::select(counted, value, ir::zero_of(value.dtype()));
  }

  te::Tensor by_blocks(te::Builder& t, const te::Tensor& x) const {
    const int64_t n = line_.length();
    int64_t block = kShortLine;
    while (block * block < n) {
      block *= 2;
    }
    const int64_t blocks = (n + block - 1) / block;
    Shape sums_shape = line_.whole;
    sums_shape[line_.axis] = blocks;
    const ir::DType type = wide(x.dtype());
    const te::Tensor sums =
        t.reduce("cumsum.blocks", sums_shape, ir::BinaryOp::kAdd, {block}, [&](Axes at, Axes k) {
          const Expr from = at[line_.axis] * Expr(block) + k[0];
          std::vector<Expr> all(at.begin(), at.end());
          all[line_.axis] = place(from);
          return ir::select(ir::lt(from, n), ir::cast(type, ir::load(x, all)), ir::zero_of(type));
        });
    const te::Tensor before =
        t.reduce("cumsum.before", sums_shape, ir::BinaryOp::kAdd, {blocks}, [&](Axes at, Axes k) {
          std::vector<Expr> all(at.begin(), at.end());
          all[line_.axis] = k[0];
          return ir::select(ir::lt(k[0], at[line_.axis]), ir::load(sums, all), ir::zero_of(type));
        });
    const te::Tensor inside =
        t.reduce("cumsum.inside", line_.whole, ir::BinaryOp::kAdd, {block}, [&](Axes at, Axes k) {
          const Expr p = position(at);
          const Expr from = ir::floor_div(p, block) * Expr(block) + k[0];
          return masked(x, at, k[0], ir::floor_mod(p, block), ir::min(from, n - 1));
        });
    return t.compute("cumsum", line_.whole, [&](Axes at) {
      std::vector<Expr> all(at.begin(), at.end());
      all[line_.axis] = ir::floor_div(position(at), block);
      return ir::load(inside, {at.begin(), at.end()}) + ir::load(before, all);
    });
  }

  Line line_;
  bool exclusive_, reverse_;
};

std::vector<ValueId> convert_cum_sum(Convert& c) {
  const int64_t axis = constant_int(c, 1, "the axis");
  if (is_empty(c, c.input(0))) {
    return {c.input(0)};
  }
  const RunningSum sum(c, Line(c.shape(0), Convert::axis(axis, c.rank(0))));
  const ValueId wide_sum = c.b().compute("cumsum", {c.input(0)},
                                         [&](te::Builder& t, Tensors in) { return sum(t, in[0]); });
  return {c.b().cast(wide_sum, c.dtype(0))};
}

constexpr Row kIndexRows[] = {
    {"", "ArgMax", 1, convert_arg<true>},
    {"", "ArgMin", 1, convert_arg<false>},
    {"", "CumSum", 11, convert_cum_sum},
    {"", "Gather", 1, convert_gather},
    {"", "GatherElements", 11, convert_gather_elements},
    {"", "GatherND", 11, convert_gather_nd},
    {"", "OneHot", 9, convert_one_hot},
    {"", "TopK", 1, convert_top_k},
};

}  // namespace

std::span<const Row> rows_index() { return kIndexRows; }

}  // namespace tenon::onnx
