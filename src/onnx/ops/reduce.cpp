// SPDX-License-Identifier: Apache-2.0
// Reduce* along constant axes, Softmax, LogSoftmax, Hardmax.
#include <algorithm>
#include <limits>

#include "onnx/ops/emit.h"
#include "te/ops/detail.h"

namespace tenon::onnx {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Intrinsic;

// combine over the elements of before(x), then after(result, number of elements).
struct Reduction {
  BinaryOp combiner = BinaryOp::kAdd;
  Expr (*before)(const Expr& x) = nullptr;
  Expr (*after)(const Expr& sum, int64_t count) = nullptr;
  double nothing = 0;  // the result over no elements
};

Expr absolute(const Expr& x) { return x.dtype().is_signed() ? ir::call(Intrinsic::kAbs, {x}) : x; }
Expr square(const Expr& x) { return x * x; }

// Of integers by way of f64, rounded towards zero at the end.
template <Intrinsic fn>
Expr through(const Expr& sum, int64_t) {
  if (sum.dtype().is_float()) {
    return ir::call(fn, {sum});
  }
  return ir::cast(sum.dtype(), ir::call(fn, {ir::cast(ir::kF64, sum)}));
}

Expr mean(const Expr& sum, int64_t count) { return sum / number(sum, static_cast<double>(count)); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr Reduction kSum{BinaryOp::kAdd, nullptr, nullptr, 0};
constexpr Reduction kMean{BinaryOp::kAdd, nullptr, mean, kNan};
constexpr Reduction kProd{BinaryOp::kMul, nullptr, nullptr, 1};
constexpr Reduction kMax{BinaryOp::kMax, nullptr, nullptr, -kInfinity};
constexpr Reduction kMin{BinaryOp::kMin, nullptr, nullptr, kInfinity};
constexpr Reduction kL1{BinaryOp::kAdd, absolute, nullptr, 0};
constexpr Reduction kL2{BinaryOp::kAdd, square, through<Intrinsic::kSqrt>, 0};
constexpr Reduction kSumSquare{BinaryOp::kAdd, square, nullptr, 0};
constexpr Reduction kLogSum{BinaryOp::kAdd, nullptr, through<Intrinsic::kLog>, -kInfinity};

// Which dimensions go, and the shapes around.
struct Region {
  std::vector<int64_t> axes;  // sorted
  Shape kept, shape;          // with extents of 1, and as asked for
  int64_t count = 1;          // elements that become one
};

// Nothing: the operand is passed on.
std::optional<Region> region_of(Convert& c) {
  Region r;
  r.axes = normalized_axes(ints_attribute_or_input(c, "axes", 1), c.rank(0));
  if (r.axes.empty()) {
    if (c.int_or("noop_with_empty_axes", 0) != 0) {
      return std::nullopt;
    }
    for (int64_t d = 0; d < c.rank(0); ++d) {
      r.axes.push_back(d);
    }
  }
  const bool keep = c.int_or("keepdims", 1) != 0;
  Shape gone;
  for (int64_t d = 0; d < c.rank(0); ++d) {
    const int64_t extent = c.shape(0)[static_cast<size_t>(d)];
    const bool goes = std::binary_search(r.axes.begin(), r.axes.end(), d);
    gone.push_back(goes ? extent : 1);
    r.kept.push_back(goes ? 1 : extent);
    if (!goes || keep) {
      r.shape.push_back(goes ? 1 : extent);
    }
  }
  r.count = count_elements(gone);
  return r;
}

ir::DType reduced_type(BinaryOp combiner, ir::DType t) {
  const bool grows = combiner == BinaryOp::kAdd || combiner == BinaryOp::kMul;
  return grows ? te::detail::sum_type(t) : t;
}

// `dims` are the extents of the reduced dimensions, `read` the element at a place of the operand.
te::Tensor reduce(te::Builder& t, const std::string& name, const te::Tensor& x, const Region& r,
                  BinaryOp combiner,
                  const std::function<Expr(const std::vector<Expr>&, Axes)>& body) {
  Shape dims;
  for (const int64_t a : r.axes) {
    dims.push_back(x.shape()[static_cast<size_t>(a)]);
  }
  return t.reduce(name, r.kept, combiner, dims, [&](Axes at, Axes k) {
    std::vector<Expr> place(at.begin(), at.end());
    for (size_t i = 0; i < r.axes.size(); ++i) {
      place[static_cast<size_t>(r.axes[i])] = k[i];
    }
    return body(place, at);
  });
}

te::Tensor apply(te::Builder& t, const std::string& name, const te::Tensor& x, const Region& r,
                 const Reduction& kind) {
  const ir::DType type = reduced_type(kind.combiner, x.dtype());
  const bool more = kind.after != nullptr || type != x.dtype();
  const te::Tensor all = reduce(t, more ? name + ".all" : name, x, r, kind.combiner,
                                [&](const std::vector<Expr>& place, Axes) {
                                  const Expr v = ir::cast(type, ir::load(x, place));
                                  return kind.before != nullptr ? kind.before(v) : v;
                                });
  if (!more) {
    return all;
  }
  return te::elementwise(t, name, {all}, [&](Args v) {
    const Expr result = kind.after != nullptr ? kind.after(v[0], r.count) : v[0];
    return ir::cast(x.dtype(), result);
  });
}

// The identity operation where no axis is named, which still applies what stands around the sum.
ValueId elementwise_only(Convert& c, const Reduction& kind) {
  if (kind.before == nullptr && kind.after == nullptr) {
    return c.input(0);
  }
  return c.b().elementwise(label_of(c), {c.input(0)}, [&](Args v) {
    return in_wide(v[0], [&](const Expr& x) {
      const Expr y = kind.before != nullptr ? kind.before(x) : x;
      return kind.after != nullptr ? kind.after(y, 1) : y;
    });
  });
}

ValueId over_nothing(Convert& c, const Region& r, double value) {
  return filled(c, c.dtype(0), r.shape, value);
}

// Any and all are what Max and Min of bool mean; of floats a NaN is the result.
Reduction for_type(Reduction kind, ir::DType t) {
  if (t.is_float() && kind.combiner == BinaryOp::kMax) kind.combiner = maximum_of(t);
  if (t.is_float() && kind.combiner == BinaryOp::kMin) kind.combiner = minimum_of(t);
  if (t.is_bool()) {
    if (kind.combiner != BinaryOp::kMax && kind.combiner != BinaryOp::kMin) {
      refuse("the operand is bool");
    }
    kind.combiner = kind.combiner == BinaryOp::kMax ? BinaryOp::kOr : BinaryOp::kAnd;
    kind.nothing = kind.combiner == BinaryOp::kOr ? 0 : 1;
  }
  return kind;
}

template <const Reduction& kGiven>
std::vector<ValueId> convert_reduce(Convert& c) {
  const Reduction kind = for_type(kGiven, c.dtype(0));
  const std::optional<Region> r = region_of(c);
  if (!r || r->axes.empty()) {
    return {elementwise_only(c, kind)};
  }
  if (count_elements(r->kept) == 0) {
    return {c.b().empty(c.dtype(0), r->shape)};
  }
  if (is_empty(c, c.input(0))) {
    return {over_nothing(c, *r, kind.nothing)};
  }
  const ValueId kept = c.b().compute(label_of(c), {c.input(0)}, [&](te::Builder& t, Tensors in) {
    return apply(t, label_of(c), in[0], *r, kind);
  });
  return {c.b().reshape(kept, r->shape)};
}

// log(sum(exp(x - max))) + max, so that nothing overflows.
te::Tensor log_sum_exp(te::Builder& t, const te::Tensor& x, const Region& r) {
  const ir::DType type = x.dtype().is_float() ? wide(x.dtype()) : ir::kF64;
  const auto value = [&](const std::vector<Expr>& place) {
    return ir::cast(type, ir::load(x, place));
  };
  const te::Tensor top = reduce(t, "logsumexp.max", x, r, BinaryOp::kMax,
                                [&](const std::vector<Expr>& place, Axes) { return value(place); });
  const auto finite_top = [&](Axes at) {
    const Expr m = ir::load(top, {at.begin(), at.end()});
    return ir::select(ir::call(Intrinsic::kIsInf, {m}), ir::zero_of(type), m);
  };
  const te::Tensor sum = reduce(t, "logsumexp.sum", x, r, BinaryOp::kAdd,
                                [&](const std::vector<Expr>& place, Axes at) {
                                  return ir::call(Intrinsic::kExp, {value(place) - finite_top(at)});
                                });
  return t.compute("logsumexp", r.kept, [&](Axes at) {
    const Expr s = ir::load(sum, {at.begin(), at.end()});
    return ir::cast(x.dtype(), ir::call(Intrinsic::kLog, {s}) + finite_top(at));
  });
}

std::vector<ValueId> convert_log_sum_exp(Convert& c) {
  const std::optional<Region> r = region_of(c);
  if (!r || r->axes.empty()) {
    return {c.input(0)};
  }
  if (count_elements(r->kept) == 0) {
    return {c.b().empty(c.dtype(0), r->shape)};
  }
  if (is_empty(c, c.input(0))) {
    return {over_nothing(c, *r, -kInfinity)};
  }
  const ValueId kept = c.b().compute("logsumexp", {c.input(0)}, [&](te::Builder& t, Tensors in) {
    return log_sum_exp(t, in[0], *r);
  });
  return {c.b().reshape(kept, r->shape)};
}

// ---- along rows ------------------------------------------------------------------------------

using OnRows = te::Tensor (*)(te::Builder&, const te::Tensor&);  // works on the last dimension

// Before opset 13 everything from the axis on was one row; now the row lies along the axis.
ValueId on_rows(Convert& c, const std::string& label, OnRows fn) {
  const ValueId x = c.input(0);
  if (is_empty(c, x)) {
    return x;
  }
  const Shape shape = c.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const bool flattens = c.opset() < 13;
  const int64_t axis =
      rank == 0 ? 0
                : Convert::axis(c.int_or("axis", flattens ? 1 : -1), std::max<int64_t>(rank, 1));
  const auto rows = [&](ValueId v) {
    return c.b().compute(label, {v}, [&](te::Builder& t, Tensors in) { return fn(t, in[0]); });
  };
  if (rank == 0 || (flattens && axis < rank - 1)) {
    const int64_t outer = count_elements({shape.begin(), shape.begin() + axis});
    const int64_t inner = count_elements({shape.begin() + axis, shape.end()});
    return c.b().reshape(rows(c.b().reshape(x, {outer, inner})), shape);
  }
  std::vector<int64_t> swapped;
  for (int64_t d = 0; d < rank; ++d) {
    swapped.push_back(d == axis ? rank - 1 : d == rank - 1 ? axis : d);
  }
  return c.b().transpose(rows(c.b().transpose(x, swapped)), swapped);
}

te::Tensor softmax(te::Builder& t, const te::Tensor& x) { return te::softmax(t, "softmax", x); }

// What the stages over rows share: the shape without the last dimension, and reads.
struct RowReads {
  te::Tensor x;
  Shape outer;
  ir::DType type;

  explicit RowReads(const te::Tensor& t)
      : x(t), outer(t.shape().begin(), t.shape().end() - 1), type(wide(t.dtype())) {}
  int64_t length() const { return x.shape().back(); }
  Expr element(Axes row, const Expr& j) const {
    std::vector<Expr> at(row.begin(), row.end());
    at.push_back(j);
    return ir::cast(type, ir::load(x, at));
  }
  Expr of_row(const te::Tensor& t, Axes row) const {
    return ir::load(t, {row.begin(), row.begin() + static_cast<std::ptrdiff_t>(outer.size())});
  }
};

te::Tensor log_softmax(te::Builder& t, const te::Tensor& x) {
  const RowReads rows(x);
  const te::Tensor top = t.reduce("logsoftmax.max", rows.outer, BinaryOp::kMax, {rows.length()},
                                  [&](Axes i, Axes j) { return rows.element(i, j[0]); });
  const te::Tensor sum =
      t.reduce("logsoftmax.sum", rows.outer, BinaryOp::kAdd, {rows.length()}, [&](Axes i, Axes j) {
        return ir::call(Intrinsic::kExp, {rows.element(i, j[0]) - rows.of_row(top, i)});
      });
  const te::Tensor shift = t.compute("logsoftmax.shift", rows.outer, [&](Axes i) {
    return rows.of_row(top, i) + ir::call(Intrinsic::kLog, {rows.of_row(sum, i)});
  });
  return t.compute("logsoftmax", x.shape(), [&](Axes at) {
    const Expr v = rows.element(at.first(rows.outer.size()), at.back());
    return ir::cast(x.dtype(), v - rows.of_row(shift, at));
  });
}

te::Tensor hardmax(te::Builder& t, const te::Tensor& x) {
  const RowReads rows(x);
  const te::Tensor top = t.reduce("hardmax.max", rows.outer, maximum_of(rows.type), {rows.length()},
                                  [&](Axes i, Axes j) { return rows.element(i, j[0]); });
  const te::Tensor first =
      t.reduce("hardmax.first", rows.outer, BinaryOp::kMin, {rows.length()}, [&](Axes i, Axes j) {
        return ir::select(is_extreme(rows.element(i, j[0]), rows.of_row(top, i)), j[0],
                          rows.length());
      });
  return t.compute("hardmax", x.shape(), [&](Axes at) {
    return ir::select(ir::eq(at.back(), rows.of_row(first, at)), ir::make_const(x.dtype(), 1),
                      ir::zero_of(x.dtype()));
  });
}

// Softmax, or its logarithm, along another dimension than the last one, in place: what is one number
// for each row has extent 1 there.
te::Tensor softmax_across(te::Builder& t, const te::Tensor& x, size_t axis, bool logarithm) {
  const ir::DType type = wide(x.dtype());
  const int64_t length = x.shape()[axis];
  Shape kept = x.shape();
  kept[axis] = 1;
  const auto at = [&](const te::Tensor& from, Axes i, const Expr& j) {
    std::vector<Expr> all(i.begin(), i.end());
    all[axis] = j;
    return ir::cast(type, ir::load(from, all));
  };
  const te::Tensor top = t.reduce("softmax.max", kept, BinaryOp::kMax, {length},
                                  [&](Axes i, Axes j) { return at(x, i, j[0]); });
  const auto power = [&](Axes i, const Expr& j) {
    return ir::call(Intrinsic::kExp, {at(x, i, j) - at(top, i, 0)});
  };
  if (logarithm) {
    const te::Tensor sum = t.reduce("softmax.sum", kept, BinaryOp::kAdd, {length},
                                    [&](Axes i, Axes j) { return power(i, j[0]); });
    const te::Tensor shift = t.compute("softmax.shift", kept, [&](Axes i) {
      return at(top, i, i[axis]) + ir::call(Intrinsic::kLog, {at(sum, i, i[axis])});
    });
    return t.compute("logsoftmax", x.shape(), [&](Axes i) {
      return ir::cast(x.dtype(), at(x, i, i[axis]) - at(shift, i, 0));
    });
  }
  const te::Tensor e =
      t.compute("softmax.exp", x.shape(), [&](Axes i) { return power(i, i[axis]); });
  const te::Tensor sum = t.reduce("softmax.sum", kept, BinaryOp::kAdd, {length},
                                  [&](Axes i, Axes j) { return at(e, i, j[0]); });
  const te::Tensor inverse = t.compute("softmax.inverse", kept, [&](Axes i) {
    return ir::make_float(type, 1) / at(sum, i, i[axis]);
  });
  return t.compute("softmax", x.shape(), [&](Axes i) {
    return ir::cast(x.dtype(), at(e, i, i[axis]) * at(inverse, i, 0));
  });
}

template <OnRows fn, bool logarithm>
std::vector<ValueId> convert_softmax(Convert& c) {
  require_float(c.dtype(0));
  const auto rank = static_cast<int64_t>(c.shape(0).size());
  const int64_t axis = rank < 2 ? 0 : Convert::axis(c.int_or("axis", -1), rank);
  if (c.opset() < 13 || axis + 1 >= rank || is_empty(c, c.input(0)))
    return {on_rows(c, label_of(c), fn)};
  return {c.b().compute(label_of(c), {c.input(0)}, [&](te::Builder& t, Tensors in) {
    return softmax_across(t, in[0], static_cast<size_t>(axis), logarithm);
  })};
}

template <OnRows fn>
std::vector<ValueId> convert_rows(Convert& c) {
  require_float(c.dtype(0));
  return {on_rows(c, label_of(c), fn)};
}

constexpr Row kReduceRows[] = {
    {"", "Hardmax", 1, convert_rows<hardmax>},
    {"", "LogSoftmax", 1, convert_softmax<log_softmax, true>},
    {"", "ReduceL1", 1, convert_reduce<kL1>},
    {"", "ReduceL2", 1, convert_reduce<kL2>},
    {"", "ReduceLogSum", 1, convert_reduce<kLogSum>},
    {"", "ReduceLogSumExp", 1, convert_log_sum_exp},
    {"", "ReduceMax", 1, convert_reduce<kMax>},
    {"", "ReduceMean", 1, convert_reduce<kMean>},
    {"", "ReduceMin", 1, convert_reduce<kMin>},
    {"", "ReduceProd", 1, convert_reduce<kProd>},
    {"", "ReduceSum", 1, convert_reduce<kSum>},
    {"", "ReduceSumSquare", 1, convert_reduce<kSumSquare>},
    {"", "Softmax", 1, convert_softmax<softmax, false>},
};

}  // namespace

std::span<const Row> rows_reduce() { return kReduceRows; }

}  // namespace tenon::onnx
