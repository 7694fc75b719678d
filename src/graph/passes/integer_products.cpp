// SPDX-License-Identifier: Apache-2.0
//   conv(dequantize(x), dequantize(w))  ->  f32(conv(x, w') + c[k]) * m[k]
// with w' the weights without their zero points in i8, c[k] = -zero of x * sum of w'[k], and m[k] both scales. The image
// is padded by the zero point of x, so that padding counts as 0. Products of matrices likewise. The sum of integers is
// exact. A depthwise convolution has few products in a sum and nothing to gain from sums of four: it takes its weights in
// f32, in which these integers are exact too. Where whole multiples of m[k] are added and the result is quantised, all of it is one map:
//   quantize(relu(f32(sum + c[k]) * m[k] + b[k] * m[k]))  ->  saturated(f32(sum + c[k] + b[k]) * (m[k] / scale))
#include <cmath>
#include <limits>
#include <optional>

#include "graph/classify.h"
#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/stored.h"
#include "te/quantize.h"

namespace tenon::graph {
namespace {

constexpr int64_t kMostSum = int64_t{1} << 30;  // what a sum may reach, corrections included
constexpr int64_t kMostProduct = 255 * 128;
constexpr int64_t kMostExact = int64_t{1} << 23;  // sums of two such integers are exact in f32

bool is_byte(ir::DType t) { return t.is_int() && t.bits == 8; }

// A sum of integers becomes f32(sum + shift[k]) * factor[k].
struct Affine {
  ir::DType type;             // of the sum: i32, or f32 that holds integers
  std::vector<double> shift;  // whole
  std::vector<double> factor;
  Shape shape;  // to which both broadcast beside the sum
};

// min(v, limit) or max(v, limit).
struct Clamp {
  bool least;  // the smaller one is taken
  double limit;
};

// The clamps of a map of one input, from the first to the last; nothing if it is anything else.
std::optional<std::vector<Clamp>> clamps_of(const ir::Expr& e) {
  if (e.as<ir::Load>() != nullptr) return std::vector<Clamp>();
  const auto* b = e.as<ir::Binary>();
  const auto* limit = b == nullptr ? nullptr : b->b.as<ir::FloatImm>();
  const bool least = b != nullptr && b->op == ir::BinaryOp::kMin;
  if (limit == nullptr || (!least && b->op != ir::BinaryOp::kMax)) return std::nullopt;
  auto before = clamps_of(b->a);
  if (before) before->push_back({least, limit->value});
  return before;
}

class IntegerProducts : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    return each_node([&](size_t n) {
      const Op& op = g_.nodes[n].op;
      if (const auto* c = std::get_if<Conv>(&op)) return conv(n, *c);
      if (const auto* m = std::get_if<MatMul>(&op)) return product(n, *m);
      return false;
    });
  }

 private:
  // An operand (x - zero) * scale of 8-bit numbers, its parameters known.
  struct Operand {
    ValueId x;
    const ir::Array* scale;
    const ir::Array* zero;  // null: 0
  };

  std::optional<Operand> operand(ValueId v) const {
    const Node* p = producer(v);
    const auto* d = p == nullptr ? nullptr : std::get_if<Dequantize>(&p->op);
    if (d == nullptr || d->to != ir::kF32 || !is_byte(value(p->inputs[0]).dtype))
      return std::nullopt;
    for (size_t i = 1; i < p->inputs.size(); ++i) {
      if (!value(p->inputs[i]).constant()) return std::nullopt;
    }
    const ir::Array* zero = p->inputs.size() > 2 ? value(p->inputs[2]).data.get() : nullptr;
    return Operand{p->inputs[0], value(p->inputs[1]).data.get(), zero};
  }

  static bool per_tensor(const Operand& o) {
    return o.scale->elements() == 1 && (o.zero == nullptr || o.zero->elements() == 1);
  }

  // Weights whose output channels are dimension `axis`.
  struct Weights {
    ValueId w;
    std::vector<double> scales;
    std::vector<int64_t> sums;
  };

  std::optional<Weights> weights(ValueId v, size_t axis) {
    const auto o = operand(v);
    if (!o || !value(o->x).constant()) return std::nullopt;
    const ir::Array& w = *value(o->x).data;
    const auto scales = per_channel(*o->scale, w.shape(), axis);
    const auto count = static_cast<size_t>(w.shape()[axis]);
    const auto zeros =
        o->zero == nullptr ? std::vector<double>(count, 0) : per_channel(*o->zero, w.shape(), axis);
    if (!scales || !zeros || w.elements() / w.shape()[axis] > kMostSum / kMostProduct)
      return std::nullopt;
    std::optional<ir::Array> made = centred(w, *zeros, axis);
    if (!made) return std::nullopt;
    Weights out{-1, *scales, channel_sums(*made, axis)};
    const Value given = value(o->x);
    out.w = add_value({given.name + ".centred", ir::kI8, given.shape,
                       std::make_shared<const ir::Array>(std::move(*made))});
    return out;
  }

  bool conv(size_t at, const Conv& given) {
    const Node n = g_.nodes[at];
    const auto x = operand(n.inputs[0]);
    if (!x || !per_tensor(*x) || value(x->x).constant()) return false;
    const auto w = weights(n.inputs[1], 0);
    if (!w) return false;
    Conv op = given;
    op.params.pad_value = zero_of(*x);
    Shape along(shape(n.outputs[0]).size() - 1, 1);
    along[0] = shape(n.outputs[0])[1];
    rewrite(at, op, *x, *w, along);
    return true;
  }

  // One input channel for each output, and so few taps that all sums are small.
  bool is_depthwise(const Op& op, const Weights& w) const {
    const auto* c = std::get_if<Conv>(&op);
    const Shape& s = shape(w.w);
    if (c == nullptr || c->params.groups != s[0] || s[1] != 1) return false;
    int64_t taps = 1;
    for (size_t d = 2; d < s.size(); ++d) taps *= s[d];
    return taps * kMostProduct < kMostExact;
  }

  ValueId in_f32(ValueId w) {
    const Value given = value(w);
    ir::Array a(ir::kF32, given.shape);
    for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, given.data->get_double(i));
    return add_value(
        {given.name, ir::kF32, given.shape, std::make_shared<const ir::Array>(std::move(a))});
  }

  // A third input says how many of the products are summed, for which the correction would differ.
  bool product(size_t at, const MatMul& op) {
    const Node n = g_.nodes[at];
    const auto x = operand(n.inputs[0]);
    if (!x || !per_tensor(*x) || n.inputs.size() != 2 || value(x->x).constant()) return false;
    if (shape(n.inputs[1]).size() != 2) return false;
    const auto w = weights(n.inputs[1], op.trans_b ? 0 : 1);
    if (!w) return false;
    rewrite(at, op, *x, *w, {shape(n.outputs[0]).back()});
    return true;
  }

  static int64_t zero_of(const Operand& x) {
    return x.zero == nullptr ? 0 : static_cast<int64_t>(x.zero->get_double(0));
  }

  void rewrite(size_t at, const Op& op, const Operand& x, const Weights& w, Shape along) {
    const auto scale = static_cast<float>(x.scale->get_double(0));
    const bool depthwise = is_depthwise(op, w);
    Affine a;
    a.type = depthwise ? ir::kF32 : ir::kI32;
    a.shape = std::move(along);
    for (size_t k = 0; k < w.scales.size(); ++k) {
      a.shift.push_back(static_cast<double>(-zero_of(x) * w.sums[k]));
      a.factor.push_back(static_cast<double>(scale * static_cast<float>(w.scales[k])));
    }
    const Node n = g_.nodes[at];
    const ValueId sum = add_value({n.label + ".sum", a.type, shape(n.outputs[0]), nullptr});
    add_node({op, {x.x, depthwise ? in_f32(w.w) : w.w}, {sum}, n.label, n.nodes, n.segment});
    finish(at, sum, a);
  }

  // Node `at` computed the real sum. What follows it is taken in while that keeps the value, up to a Quantize.
  void finish(size_t at, ValueId sum, Affine a) {
    size_t last = at;
    while (const auto next = bias_behind(last, a)) last = *next;
    size_t clamped = last;
    std::vector<Clamp> clamps;
    while (const auto next = clamps_behind(clamped, clamps)) clamped = *next;
    const auto reader = only_reader(g_.nodes[clamped].outputs[0]);
    const Node* behind = reader ? &g_.nodes[*reader] : nullptr;
    const auto* q = behind == nullptr ? nullptr : std::get_if<Quantize>(&behind->op);
    if (q != nullptr && q->precision == ir::kF32 && is_byte(q->to) && quantizes_alike(*behind)) {
      requantize(*reader, sum, a, clamps, *q);
    } else {
      replace(last, "dequantize", sum, a, [](ir::Expr v) { return v; });
    }
  }

  bool quantizes_alike(const Node& n) const {
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (!value(n.inputs[i]).constant() || value(n.inputs[i]).elements() != 1) return false;
    }
    return true;
  }

  std::optional<size_t> clamps_behind(size_t at, std::vector<Clamp>& clamps) const {
    const auto reader = only_reader(g_.nodes[at].outputs[0]);
    const auto* c = reader ? std::get_if<Compute>(&g_.nodes[*reader].op) : nullptr;
    if (c == nullptr || c->dag->ops.size() != 1 || g_.nodes[*reader].inputs.size() != 1 ||
        classify(*c->dag) != Kind::kMap)
      return std::nullopt;
    const auto more = clamps_of(c->dag->ops[0]->body);
    if (!more) return std::nullopt;
    clamps.insert(clamps.end(), more->begin(), more->end());
    return reader;
  }

  void requantize(size_t at, ValueId sum, Affine a, const std::vector<Clamp>& clamps, Quantize q) {
    const Node n = g_.nodes[at];
    const auto scale = static_cast<float>(value(n.inputs[1]).data->get_double(0));
    for (double& f : a.factor) f = static_cast<double>(static_cast<float>(f) / scale);
    const double zero = n.inputs.size() > 2 ? value(n.inputs[2]).data->get_double(0) : 0;
    replace(at, "requantize", sum, a, [&](ir::Expr v) {
      for (const Clamp& c : clamps) {
        // Beyond the range of the integers nothing is left to clamp.
        if (!c.least && c.limit == 0 && zero == static_cast<double>(ir::lowest_int(q.to))) continue;
        const ir::Expr limit = ir::make_float(ir::kF32, c.limit / static_cast<double>(scale));
        v = c.least ? ir::min(v, limit) : ir::max(v, limit);
      }
      return te::saturated(v, zero == 0 ? ir::Expr() : ir::make_const(q.to, zero), q.to);
    });
  }

  // Node `at` becomes fn(f32(sum + shift) * factor).
  void replace(size_t at, const std::string& label, ValueId sum, const Affine& a,
               const std::function<ir::Expr(ir::Expr)>& fn) {
    const ValueId shift = constant("shift", a.type, a.shift, a.shape);
    const ValueId factor = constant("factor", ir::kF32, a.factor, a.shape);
    te::Builder b;
    std::vector<te::Tensor> in;
    for (const ValueId v : {sum, shift, factor}) {
      in.push_back(b.input("x" + std::to_string(in.size()), value(v).dtype, shape(v)));
    }
    b.output(te::elementwise(b, label, in, [&](std::span<const ir::Expr> v) {
      return fn(ir::cast(ir::kF32, v[0] + v[1]) * v[2]);
    }));
    g_.nodes[at].op = Compute{std::make_shared<const te::ComputeDag>(b.finish(label))};
    g_.nodes[at].label = label;
    set_inputs(at, {sum, shift, factor});
  }

  ValueId constant(const std::string& name, ir::DType t, const std::vector<double>& v,
                   const Shape& shape) {
    ir::Array a(t, shape);
    for (size_t i = 0; i < v.size(); ++i) a.set_double(static_cast<int64_t>(i), v[i]);
    return add_value({name, t, shape, std::make_shared<const ir::Array>(std::move(a))});
  }

  // The reader of node `at`, if it adds a constant that is a whole multiple of the factor in every channel; the multiples
  // are then part of the shift.
  std::optional<size_t> bias_behind(size_t at, Affine& a) const {
    const ValueId y = g_.nodes[at].outputs[0];
    const auto reader = only_reader(y);
    if (!reader) return std::nullopt;
    const Node& n = g_.nodes[*reader];
    const auto added = added_constant(n, y);
    if (!added || shape(n.outputs[0]) != shape(y)) return std::nullopt;
    const size_t axis = shape(y).size() - a.shape.size();
    const auto bias = per_channel(*value(*added).data, shape(y), axis);
    if (!bias) return std::nullopt;
    std::vector<double> shift = a.shift;
    const auto most = static_cast<double>(a.type == ir::kF32 ? kMostExact : kMostSum / 2);
    for (size_t k = 0; k < shift.size(); ++k) {
      const double times = std::nearbyint((*bias)[k] / a.factor[k]);
      const float again = static_cast<float>(times) * static_cast<float>(a.factor[k]);
      shift[k] += times;
      if (!(std::abs(shift[k]) < most) || again != static_cast<float>((*bias)[k]))
        return std::nullopt;
    }
    a.shift = std::move(shift);
    return reader;
  }

  // The constant c where n is y + c.
  std::optional<ValueId> added_constant(const Node& n, ValueId y) const {
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || c->dag->ops.size() != 1 || n.inputs.size() != 2) return std::nullopt;
    const auto* sum = c->dag->ops[0]->body.as<ir::Binary>();
    if (sum == nullptr || sum->op != ir::BinaryOp::kAdd || sum->a.as<ir::Load>() == nullptr ||
        sum->b.as<ir::Load>() == nullptr)
      return std::nullopt;
    const ValueId other = n.inputs[0] == y ? n.inputs[1] : n.inputs[0];
    return value(other).constant() ? std::optional(other) : std::nullopt;
  }
};

}  // namespace

void integer_products(Graph& g, const PassContext&) {
  if (IntegerProducts(g).run()) g.compact();
}

}  // namespace tenon::graph
