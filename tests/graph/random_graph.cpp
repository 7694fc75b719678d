// SPDX-License-Identifier: Apache-2.0
#include "graph/random_graph.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/builder.h"

namespace tenon::graph {

ir::Array random_array(Rng& rng, ir::DType t, const Shape& shape) {
  ir::Array a(t, shape);
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set_double(i, static_cast<double>(rng.between(-8, 8)) / 8);
  }
  return a;
}

std::vector<ir::Array> random_inputs(Rng& rng, const Graph& g) {
  std::vector<ir::Array> in;
  for (const ValueId v : g.inputs)
    in.push_back(random_array(rng, g.value(v).dtype, g.value(v).shape));
  return in;
}

Difference compare(const std::vector<ir::Array>& expected, const std::vector<ir::Array>& actual) {
  Difference worst;
  for (size_t o = 0; o < expected.size(); ++o) {
    double most = 1;
    for (int64_t i = 0; i < expected[o].elements(); ++i) {
      most = std::max(most, std::abs(expected[o].get_double(i)));
    }
    for (int64_t i = 0; i < expected[o].elements(); ++i) {
      const double e = expected[o].get_double(i);
      const double a = actual[o].get_double(i);
      const double error = std::isnan(e) == std::isnan(a) ? std::abs(e - a) / most : 1e30;
      if (error > worst.error) {
        worst = {error, fmt::format("output {} element {}: expected {} got {}", o, i, e, a)};
      }
    }
  }
  return worst;
}

namespace {

using Exprs = std::span<const ir::Expr>;

class Maker {
 public:
  explicit Maker(Rng& rng) : rng_(rng), b_(g_) {}

  Graph run(int nodes) {
    const int64_t c = rng_.pick<int64_t>({1, 3, 4, 8, 16, 5});
    values_.push_back(b_.input("image", ir::kF32,
                               {rng_.between(1, 2), c, rng_.between(3, 7), rng_.between(3, 7)}));
    if (rng_.chance(0.5)) {
      values_.push_back(b_.input("matrix", ir::kF32, {rng_.between(1, 5), rng_.between(1, 9)}));
    }
    for (int i = 0; i < nodes; ++i) {
      b_.begin(fmt::format("node_{}", i));
      step(values_[static_cast<size_t>(
          rng_.between(std::max<int64_t>(0, static_cast<int64_t>(values_.size()) - 4),
                       static_cast<int64_t>(values_.size()) - 1))]);
    }
    finish();
    return std::move(g_);
  }

 private:
  void finish() {
    const auto readers = g_.readers();
    for (const ValueId v : values_) {
      const bool unread = readers[static_cast<size_t>(v)].empty();
      if (unread || rng_.chance(0.1)) g_.add_output(v, fmt::format("out{}", g_.outputs.size()));
    }
  }

  ValueId weight(Shape shape) { return b_.constant(random_array(rng_, ir::kF32, shape), "w"); }

  void step(ValueId x) {
    const Shape s = b_.shape(x);
    const size_t rank = s.size();
    if (b_.value(x).elements() > 4000) return;
    switch (rng_.between(0, 9)) {
      case 0:
      case 1:
        if (rank == 4) convolution(x);
        break;
      case 2:
        if (rank >= 2) product(x);
        break;
      case 3:
        chain(x);
        break;
      case 4:
        residual(x);
        break;
      case 5:
        move(x);
        break;
      case 6:
        if (rank >= 2) rows(x);
        break;
      case 7:
        if (rank == 4) pooling(x);
        break;
      case 8:
        join(x);
        break;
      default:
        scale(x);
    }
  }

  void convolution(ValueId x) {
    const Shape s = b_.shape(x);
    const int64_t r = rng_.between(1, std::min<int64_t>({3, s[2], s[3]}));
    const bool depthwise = rng_.chance(0.3);
    const int64_t k = depthwise ? s[1] : rng_.pick<int64_t>({1, 4, 8, 16, 6});
    te::ConvParams p;
    p.stride = {rng_.between(1, 2), rng_.between(1, 2)};
    p.pad_before = {r / 2, r / 2};
    p.pad_after = {r / 2, rng_.between(0, r / 2)};
    p.groups = depthwise ? s[1] : 1;
    ValueId y = b_.add("conv", Conv{p}, {x, weight({k, s[1] / p.groups, r, r})});
    if (rng_.chance(0.6)) {
      y = b_.elementwise("add", {y, weight({k, 1, 1})}, [](Exprs e) { return e[0] + e[1]; });
    }
    if (rng_.chance(0.5)) {
      y = b_.elementwise("batch_norm", {y, weight({k, 1, 1}), weight({k, 1, 1})},
                         [](Exprs e) { return e[0] * e[1] + e[2]; });
    }
    values_.push_back(y);
  }

  void product(ValueId x) {
    const Shape s = b_.shape(x);
    const int64_t n = rng_.pick<int64_t>({1, 3, 8, 16, 17});
    const bool trans = rng_.chance(0.3);
    const Shape w = trans ? Shape{n, s.back()} : Shape{s.back(), n};
    ValueId y = b_.add("matmul", MatMul{false, trans}, {x, weight(w)});
    if (rng_.chance(0.5)) {
      y = b_.elementwise("add", {y, weight({n})}, [](Exprs e) { return e[0] + e[1]; });
    }
    values_.push_back(y);
    if (rng_.chance(0.3)) values_.push_back(b_.add("matmul", MatMul{false, true}, {y, y}));
  }

  // x * sigmoid(x), clip, and other short chains with a value that is read twice.
  void chain(ValueId x) {
    const ir::DType t = b_.dtype(x);
    const auto number = [t](double v) { return ir::make_float(t, v); };
    const ValueId a = b_.elementwise(
        "sigmoid", {x}, [](Exprs e) { return ir::call(ir::Intrinsic::kSigmoid, {e[0]}); });
    const ValueId y = rng_.chance(0.5)
                          ? b_.elementwise("mul", {x, a}, [](Exprs e) { return e[0] * e[1]; })
                          : b_.elementwise("clip", {x}, [&](Exprs e) {
                              return ir::min(ir::max(e[0], number(0)), number(0.5));
                            });
    values_.push_back(rng_.chance(0.5) ? a : y);
  }

  void residual(ValueId x) {
    for (const ValueId other : values_) {
      if (other == x || b_.shape(other) != b_.shape(x)) continue;
      const ValueId y = b_.elementwise("add", {x, other}, [](Exprs e) { return e[0] + e[1]; });
      values_.push_back(b_.elementwise(
          "relu", {y}, [](Exprs e) { return ir::max(e[0], ir::make_float(ir::kF32, 0)); }));
      return;
    }
  }

  void move(ValueId x) {
    const Shape s = b_.shape(x);
    std::vector<int64_t> perm(s.size());
    for (size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<int64_t>(d);
    for (size_t d = perm.size(); d > 1; --d) {
      std::swap(perm[d - 1],
                perm[static_cast<size_t>(rng_.between(0, static_cast<int64_t>(d) - 1))]);
    }
    const ValueId y = b_.transpose(x, perm);
    values_.push_back(y);
    if (rng_.chance(0.3)) {
      std::vector<int64_t> back(perm.size());
      for (size_t d = 0; d < perm.size(); ++d)
        back[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
      values_.push_back(b_.transpose(y, back));
    } else if (rng_.chance(0.5)) {
      values_.push_back(b_.reshape(y, {b_.shape(y)[0], b_.value(y).elements() / b_.shape(y)[0]}));
    }
  }

  // Layer norm from single operators, or a softmax. Epsilon is large: rows are short, and dividing by a tiny
  // deviation would make any rounding look like an error.
  void rows(ValueId x) {
    if (rng_.chance(0.4)) {
      values_.push_back(
          b_.compute("softmax", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
            return te::softmax(t, "softmax", in[0]);
          }));
      return;
    }
    const int64_t n = b_.shape(x).back();
    const auto mean = [&](ValueId v) {
      const ValueId sum =
          b_.compute("sum", {v}, [](te::Builder& t, std::span<const te::Tensor> in) {
            return te::reduce_dims(t, "sum", in[0], ir::BinaryOp::kAdd, {-1}, true);
          });
      return b_.elementwise("mean", {sum}, [&](Exprs e) {
        return e[0] * ir::make_float(ir::kF32, 1.0 / static_cast<double>(n));
      });
    };
    const ValueId d = b_.elementwise("sub", {x, mean(x)}, [](Exprs e) { return e[0] - e[1]; });
    const ValueId v = mean(b_.elementwise("square", {d}, [](Exprs e) { return e[0] * e[0]; }));
    const ValueId r = b_.elementwise("sqrt", {v}, [](Exprs e) {
      return ir::call(ir::Intrinsic::kSqrt, {e[0] + ir::make_float(ir::kF32, 0.5)});
    });
    const ValueId y = b_.elementwise("div", {d, r}, [](Exprs e) { return e[0] / e[1]; });
    values_.push_back(b_.elementwise("scale", {y, weight({n}), weight({n})},
                                     [](Exprs e) { return e[0] * e[1] + e[2]; }));
  }

  void pooling(ValueId x) {
    const Shape s = b_.shape(x);
    const bool global = rng_.chance(0.4);
    const std::vector<int64_t> kernel =
        global ? std::vector<int64_t>{s[2], s[3]}
               : std::vector<int64_t>{std::min<int64_t>(2, s[2]), std::min<int64_t>(3, s[3])};
    te::ConvParams p;
    if (!global) p.stride = {rng_.between(1, 2), rng_.between(1, 2)};
    const te::Pool kind = rng_.chance(0.5) ? te::Pool::kMax : te::Pool::kAverage;
    values_.push_back(b_.compute("pool", {x}, [&](te::Builder& t, std::span<const te::Tensor> in) {
      return te::pool(t, "pool", in[0], kind, kernel, p);
    }));
  }

  void join(ValueId x) {
    const auto dim = rng_.between(0, static_cast<int64_t>(b_.shape(x).size()) - 1);
    if (rng_.chance(0.5)) {
      values_.push_back(
          b_.compute("concat", {x, x}, [&](te::Builder& t, std::span<const te::Tensor> in) {
            return te::concat(t, "concat", {in[0], in[1]}, dim);
          }));
      return;
    }
    Shape shape = b_.shape(x);
    std::vector<int64_t> begin(shape.size(), 0);
    begin[static_cast<size_t>(dim)] = shape[static_cast<size_t>(dim)] / 2;
    shape[static_cast<size_t>(dim)] -= begin[static_cast<size_t>(dim)];
    values_.push_back(b_.compute("slice", {x}, [&](te::Builder& t, std::span<const te::Tensor> in) {
      return te::slice(t, "slice", in[0], begin, shape);
    }));
  }

  void scale(ValueId x) {
    const ValueId k = b_.scalar(ir::kF32, static_cast<double>(rng_.between(1, 4)) / 4);
    values_.push_back(b_.elementwise("mul", {x, k}, [](Exprs e) { return e[0] * e[1]; }));
  }

  Rng& rng_;
  Graph g_;
  GraphBuilder b_;
  std::vector<ValueId> values_;
};

}  // namespace

Graph random_graph(Rng& rng, int nodes) { return Maker(rng).run(nodes); }

}  // namespace tenon::graph
