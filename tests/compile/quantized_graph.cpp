// SPDX-License-Identifier: Apache-2.0
#include "compile/quantized_graph.h"

#include <cmath>
#include <functional>

#include "graph/builder.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

// Scale and zero point of a tensor.
struct Parameters {
  std::vector<double> scales;  // one, or one for each channel
  std::vector<int64_t> zeros;
  ir::DType type;
};

class Draw {
 public:
  Draw(Rng& rng, Graph& g, const QuantizedDraw& options) : rng_(rng), b_(g), options_(options) {}

  void run() {
    const bool image = below(3) > 0;
    ValueId x = image ? b_.input("x", ir::kF32, image_shape())
                      : b_.input("x", ir::kF32, {rng_.between(1, 9), rng_.between(1, 40)});
    Stored s = store(x, 4);
    for (int i = 0; i < options_.layers; ++i) {
      s = stored_function(s);
      s = image ? layer(s) : product(s);
    }
    if (options_.exact) s = stored_function(s);  // else a step of the layer could become two
    const bool real = below(3) == 0;
    b_.graph().add_output(real ? load(s) : s.v, "y");
  }

 private:
  struct Stored {
    ValueId v;
    Parameters p;
  };

  uint64_t below(int64_t n) { return static_cast<uint64_t>(rng_.between(0, n - 1)); }

  Shape image_shape() {
    const int64_t channels[] = {1, 3, 4, 5, 8, 12, 16, 20};
    return {rng_.between(1, 2), channels[below(8)], rng_.between(3, 9), rng_.between(3, 9)};
  }

  double scale(double about) {
    const double power = std::exp2(std::round(std::log2(about)));
    return options_.exact
               ? power
               : static_cast<double>(static_cast<float>(power * (0.7 + 0.6 * rng_.unit())));
  }

  Parameters parameters(double about, ir::DType type, bool symmetric) {
    const int64_t zero = symmetric ? 0 : rng_.between(ir::lowest_int(type), ir::highest_int(type));
    return {{scale(about)}, {zero}, type};
  }

  ValueId constant(ir::DType t, const Shape& shape, const std::function<double(int64_t)>& at) {
    ir::Array a(t, shape);
    for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, at(i));
    return b_.constant(std::move(a));
  }
  // Parameters are shaped as importers do for a tensor whose channels are at `axis`.
  std::vector<ValueId> constants(const Parameters& p, size_t rank, size_t axis) {
    Shape shape;
    if (p.scales.size() > 1) {
      shape.assign(rank - axis, 1);
      shape[0] = static_cast<int64_t>(p.scales.size());
    }
    std::vector<ValueId> out{
        constant(ir::kF32, shape, [&](int64_t i) { return p.scales[static_cast<size_t>(i)]; })};
    out.push_back(constant(p.type, shape, [&](int64_t i) {
      return static_cast<double>(p.zeros[static_cast<size_t>(i)]);
    }));
    return out;
  }

  Stored store(ValueId x, double range) {
    const ir::DType type = below(3) == 0 ? ir::kI8 : ir::kU8;
    Parameters p = parameters(range / 128, type, below(3) == 0);
    std::vector<ValueId> in{x};
    for (const ValueId v : constants(p, 1, 0)) in.push_back(v);
    return {b_.add("quantize", Quantize{type, ir::kF32}, in), p};
  }

  ValueId load(const Stored& s, size_t axis = 0) {
    std::vector<ValueId> in{s.v};
    for (const ValueId v : constants(s.p, b_.shape(s.v).size(), axis)) in.push_back(v);
    return b_.add("dequantize", Dequantize{ir::kF32}, in);
  }

  Stored weights(const Shape& shape, size_t axis) {
    const ir::DType type = below(4) == 0 ? ir::kU8 : ir::kI8;
    const bool per_channel = below(2) == 0;
    const auto count = static_cast<size_t>(per_channel ? shape[axis] : 1);
    Parameters p{{}, {}, type};
    const bool narrow = below(4) > 0;  // without their zero points they fit 8 signed bits
    for (size_t i = 0; i < count; ++i) {
      p.scales.push_back(scale(0.02 * (1 + rng_.unit())));
      p.zeros.push_back(type == ir::kU8 ? (narrow ? 128 : rng_.between(100, 150))
                                        : (narrow ? 0 : rng_.between(-3, 3)));
    }
    const ValueId w = constant(type, shape, [&](int64_t) {
      return static_cast<double>(rng_.between(ir::lowest_int(type), ir::highest_int(type)));
    });
    return {w, p};
  }

  // A bias in i32 with the scale of the sum, a real one, or none.
  ValueId biased(ValueId y, const Parameters& x, const Parameters& w, size_t axis) {
    const uint64_t kind = below(3);
    if (kind == 0) return y;
    Shape shape(b_.shape(y).size() - axis, 1);
    shape[0] = b_.shape(y)[axis];
    const auto of = [&](int64_t i) {
      return w.scales.size() > 1 ? w.scales[static_cast<size_t>(i)] : w.scales[0];
    };
    const ValueId bias = constant(ir::kF32, shape, [&](int64_t i) {
      const float unit = static_cast<float>(x.scales[0]) * static_cast<float>(of(i));
      const auto whole = static_cast<float>(rng_.between(-2000, 2000));
      return static_cast<double>(kind == 1 || options_.exact ? whole * unit : whole * 0.0017F);
    });
    return b_.elementwise("bias", {y, bias}, [](Exprs e) { return e[0] + e[1]; });
  }

  ValueId activated(ValueId y) {
    const uint64_t kind = below(4);
    if (kind > 1) return y;
    return b_.elementwise("relu", {y}, [&](Exprs e) {
      const ir::Expr low = ir::max(e[0], ir::zero_of(ir::kF32));
      return kind == 0 ? low : ir::min(low, ir::make_float(ir::kF32, 6));
    });
  }

  // A function of each number alone, as quantisers write it: sigmoid(x), or x * sigmoid(x) with its steps in 8 bits.
  Stored stored_function(const Stored& x) {
    const uint64_t kind = below(6);
    if (kind > 1) return x;
    const ValueId real = load(x);
    const Stored gate =
        store(b_.elementwise("sigmoid", {real},
                             [](Exprs e) { return ir::call(ir::Intrinsic::kSigmoid, {e[0]}); }),
              1);
    if (kind == 0) return gate;
    const ValueId product = b_.elementwise("mul", {below(2) == 0 ? real : load(x), load(gate)},
                                           [](Exprs e) { return e[0] * e[1]; });
    return store(product, 4);
  }

  te::ConvParams windows(const Shape& x, const Shape& kernel) {
    te::ConvParams p;
    for (size_t d = 0; d < 2; ++d) {
      p.stride.push_back(rng_.between(1, 2));
      p.dilation.push_back(kernel[d] > 1 && x[2 + d] > 4 ? rng_.between(1, 2) : 1);
      p.pad_before.push_back(rng_.between(0, kernel[d] / 2));
      p.pad_after.push_back(rng_.between(0, kernel[d] / 2));
    }
    return p;
  }

  Stored conv(const Stored& x) {
    const Shape in = b_.shape(x.v);
    const int64_t sizes[] = {1, 1, 3};
    const Shape kernel{std::min(in[2], sizes[below(3)]), std::min(in[3], sizes[below(3)])};
    te::ConvParams p = windows(in, kernel);
    for (size_t d = 0; d < 2; ++d) {
      if ((kernel[d] - 1) * p.dilation[d] + 1 > in[2 + d]) p.dilation[d] = 1;
    }
    const int64_t outs[] = {1, 4, 8, 10, 16, 24, 33};
    int64_t out = outs[below(7)];
    if (below(3) == 0) {
      p.groups = in[1];
      out = in[1];
    } else if (in[1] % 8 == 0 && below(4) == 0) {
      p.groups = 2;
      out = 16;
    }
    const Stored w = weights({out, in[1] / p.groups, kernel[0], kernel[1]}, 0);
    const ValueId y = b_.add("conv", Conv{p}, {load(x), load(w)});
    return store(activated(biased(y, x.p, w.p, 1)), 6);
  }

  Stored layer(const Stored& x) {
    const Shape shape = b_.shape(x.v);
    switch (below(6)) {
      case 0: {  // the larger of neighbours
        if (shape[2] < 2 || shape[3] < 2) return conv(x);
        const ValueId y =
            b_.compute("pool", {load(x)}, [&](te::Builder& t, std::span<const te::Tensor> in) {
              return te::pool(t, "pool", in[0], te::Pool::kMax, {2, 2},
                              {{1, 1}, {1, 0}, {0, 1}, {1, 1}});
            });
        return store(y, 4);
      }
      case 2: {  // the mean of each channel
        const ValueId y =
            b_.compute("mean", {load(x)}, [&](te::Builder& t, std::span<const te::Tensor> in) {
              const te::Tensor sum =
                  te::reduce_dims(t, "mean.sum", in[0], ir::BinaryOp::kAdd, {2, 3}, true);
              const auto count = static_cast<double>(shape[2] * shape[3]);
              return te::elementwise(t, "mean", {sum}, [&](Exprs e) {
                return e[0] / ir::make_float(ir::kF32, count);
              });
            });
        return store(y, 4);
      }
      case 1: {  // a residual: the sum of two
        const Stored y = conv(x);
        if (b_.shape(y.v) != shape) return y;
        return store(b_.elementwise("add", {load(x), load(y)}, [](Exprs e) { return e[0] + e[1]; }),
                     8);
      }
      default:
        return conv(x);
    }
  }

  Stored product(const Stored& x) {
    const int64_t inner = b_.shape(x.v)[1];
    const int64_t outs[] = {1, 3, 8, 16, 20, 33};
    const int64_t out = outs[below(6)];
    const bool turned = below(2) == 0;
    const size_t axis = turned ? 0 : 1;
    const Stored w = weights(turned ? Shape{out, inner} : Shape{inner, out}, axis);
    const ValueId y = b_.add("matmul", MatMul{false, turned}, {load(x), load(w, axis)});
    return store(activated(biased(y, x.p, w.p, 1)), 6);
  }

  Rng& rng_;
  GraphBuilder b_;
  QuantizedDraw options_;
};

}  // namespace

Graph random_quantized(Rng& rng, const QuantizedDraw& draw) {
  Graph g;
  Draw(rng, g, draw).run();
  g.compact();
  return g;
}

}  // namespace tenon::graph
