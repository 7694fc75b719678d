// SPDX-License-Identifier: Apache-2.0
// Attention as an operator: two products with a mask and a softmax between them, as the standard spells it out.
//
//   Y = softmax(cap(scale * Q K^T) + mask) V
#include "onnx/ops/attention.h"

#include <cmath>
#include <limits>

#include "onnx/ops/emit.h"
#include "onnx/ops/linear.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

// All of rank 4: [batch, heads, length, size]. Keys and values have what a cache held before in front of them.
struct Operands {
  ValueId q, k, v;
  int64_t batch, heads, kv_heads, rows, keys;  // rows: queries
  int64_t past = 0;
};

// [batch, length, heads * size] by heads; a tensor of four dimensions as it is.
ValueId by_heads(Convert& c, size_t input, const char* attribute) {
  const Shape s = c.shape(input);
  if (s.size() == 4) return c.input(input);
  const int64_t heads = c.int_or(attribute, 0);
  if (heads < 1 || s[2] % heads != 0) {
    refuse("{} elements do not divide into {} heads, which '{}' says", s[2], heads, attribute);
  }
  const ValueId apart = c.b().reshape(c.input(input), {s[0], s[1], heads, s[2] / heads});
  return c.b().transpose(apart, {0, 2, 1, 3});
}

ValueId behind_past(Convert& c, size_t past, ValueId now) {
  if (!c.has_input(past) || is_empty(c, c.input(past))) return now;
  const Shape& before = c.shape(past);
  Shape fits = c.b().shape(now);
  if (before.size() == 4) fits[2] = before[2];
  if (before != fits) refuse("input {} does not fit the keys or values that follow it", past);
  require_same_type(c, {now, c.input(past)});
  return join(c.b(), {c.input(past), now}, 2);
}

Operands read_operands(Convert& c) {
  for (size_t i = 0; i < 3; ++i) {
    require_float(c.dtype(i));
    if (c.rank(i) != c.rank(0) || (c.rank(i) != 3 && c.rank(i) != 4)) {
      refuse("an operand of {} dimensions; all three have 3, or all have 4", c.rank(i));
    }
    if (is_empty(c, c.input(i))) refuse("an operand without elements");
  }
  require_same_type(c, {c.input(0), c.input(1), c.input(2)});
  if (c.has_input(4) != c.has_input(5)) refuse("past keys and past values come together");
  if (c.has_input(6) && c.has_input(4)) refuse("lengths of keys beside past keys");
  for (const char* window : {"left_window_size", "right_window_size"}) {
    if (c.int_or(window, -1) != -1) refuse("'{}' is of a later opset", window);
  }
  Operands o{};
  o.q = by_heads(c, 0, "q_num_heads");
  o.k = behind_past(c, 4, by_heads(c, 1, "kv_num_heads"));
  o.v = behind_past(c, 5, by_heads(c, 2, "kv_num_heads"));
  const Shape q = c.b().shape(o.q), k = c.b().shape(o.k), v = c.b().shape(o.v);
  if (k[0] != q[0] || v[0] != q[0] || k[3] != q[3] || v[1] != k[1] || v[2] != k[2] ||
      q[1] % k[1] != 0) {
    refuse("queries {}x{}x{}x{}, keys {}x{}x{}x{} and values {}x{}x{}x{} do not fit each other",
           q[0], q[1], q[2], q[3], k[0], k[1], k[2], k[3], v[0], v[1], v[2], v[3]);
  }
  o.batch = q[0], o.heads = q[1], o.kv_heads = k[1], o.rows = q[2], o.keys = k[2];
  o.past = c.has_input(4) && c.rank(4) == 4 ? c.shape(4)[2] : 0;
  return o;
}

// Several heads of queries may share one of keys: they have a dimension of their own then, which keys are broadcast to.
bool shares(const Operands& o) { return o.heads != o.kv_heads; }

ValueId with_shared(Convert& c, const Operands& o, ValueId v, int64_t shared) {
  if (!shares(o)) return v;
  const Shape s = c.b().shape(v);
  return c.b().reshape(v, {s[0], o.kv_heads, shared, s[2], s[3]});
}

ValueId without_shared(Convert& c, const Operands& o, ValueId v) {
  const Shape s = c.b().shape(v);
  return shares(o) ? c.b().reshape(v, {o.batch, o.heads, s[3], s[4]}) : v;
}

ValueId times(Convert& c, ValueId x, double factor) {
  return c.b().elementwise("attention.scale", {x}, [&](Args v) {
    return in_wide(v[0], [&](const Expr& e) { return e * number(e, factor); });
  });
}

// Scaling the scores joins the work on them, and scaling queries does not; f16 has no room for scores that are not scaled.
ValueId scaled_scores(Convert& c, const Operands& o) {
  const double size = static_cast<double>(c.b().shape(o.q)[3]);
  const double scale = c.float_or("scale", 1 / std::sqrt(size));
  const bool first = c.dtype(0) == ir::kF16;
  const ValueId q = with_shared(c, o, first ? times(c, o.q, scale) : o.q, o.heads / o.kv_heads);
  const ValueId scores = multiply(c, q, with_shared(c, o, o.k, 1), graph::MatMul{false, true});
  return first ? scores : times(c, scores, scale);
}

ValueId capped(Convert& c, ValueId scores) {
  const double cap = c.float_or("softcap", 0);
  if (!(cap > 0)) return scores;
  return c.b().elementwise("attention.cap", {scores}, [&](Args x) {
    return in_wide(x[0], [&](const Expr& e) {
      return ir::call(ir::Intrinsic::kTanh, {e / number(e, cap)}) * number(e, cap);
    });
  });
}

// What is added to the scores: the mask that is given, and minus infinity where a key must not be looked at.
class Mask {
 public:
  Mask(Convert& c, const Operands& o) : o_(o), causal_(c.int_or("is_causal", 0) != 0) {
    full_ = {o.batch, o.heads, o.rows, o.keys};
    if (c.has_input(3)) read_mask(c);
    if (c.has_input(6)) read_lengths(c);
  }

  bool masks() const { return causal_ || mask_ >= 0 || lengths_ >= 0; }
  // A row in which no key may be looked at is possible.
  bool empties_rows() const { return mask_ >= 0 || lengths_ >= 0; }

  ValueId add(Convert& c, ValueId scores) const {
    if (!masks()) return scores;
    std::vector<ValueId> operands{scores};
    for (const ValueId v : {mask_, lengths_}) {
      if (v >= 0) operands.push_back(v);
    }
    return c.b().compute("attention.mask", operands, [&](te::Builder& t, Tensors in) {
      return t.compute("attention.mask", in[0].shape(), [&](Axes axes) {
        const ir::DType type = wide(in[0].dtype());
        const Expr none = ir::make_float(type, -std::numeric_limits<double>::infinity());
        const std::vector<Expr> at = place(axes);
        Expr sum = ir::cast(type, ir::load(in[0], {axes.begin(), axes.end()}));
        if (mask_ >= 0) sum = sum + given(in[1], at, none);
        const Expr length = lengths_ >= 0 ? ir::load(in.back(), {at[0]}) : Expr();
        if (causal_) sum = sum + allowed(ir::le(at[3], at[2] + offset(length)), none);
        if (lengths_ >= 0) sum = sum + allowed(ir::lt(at[3], length), none);
        return ir::cast(in[0].dtype(), sum);
      });
    });
  }

 private:
  // From opset 24 on the last dimension may be shorter; the keys behind it must not be looked at.
  void read_mask(Convert& c) {
    mask_ = c.input(3);
    Shape padded = c.shape(3);
    short_ = c.opset() >= 24 && !padded.empty() && padded.back() < o_.keys;
    if (short_) padded.back() = o_.keys;
    if (is_empty(c, mask_) || broadcast_shapes({padded, full_}) != full_) {
      refuse("the mask does not fit scores of {}x{}x{}x{}", full_[0], full_[1], full_[2], full_[3]);
    }
    if (!c.dtype(3).is_bool()) require_same_type(c, {c.input(0), mask_});
  }

  void read_lengths(Convert& c) {
    lengths_ = c.input(6);
    if (c.dtype(6) != ir::kI64 || c.shape(6) != Shape{o_.batch}) {
      refuse("the lengths of keys are no {} numbers of type i64", o_.batch);
    }
  }

  // Batch, head, query and key.
  std::vector<Expr> place(Axes axes) const {
    std::vector<Expr> at(axes.begin(), axes.end());
    if (at.size() == 4) return at;
    return {at[0], at[1] * Expr(o_.heads / o_.kv_heads) + at[2], at[3], at[4]};
  }

  // Keys in front of the first query.
  Expr offset(const Expr& length) const {
    return length.defined() ? length - Expr(o_.rows) : Expr(o_.past);
  }

  static Expr allowed(const Expr& condition, const Expr& none) {
    return ir::select(condition, ir::zero_of(none.dtype()), none);
  }

  Expr given(const te::Tensor& mask, const std::vector<Expr>& at, const Expr& none) const {
    const Shape& own = mask.shape();
    std::vector<Expr> from;
    for (size_t d = 0; d < own.size(); ++d) {
      from.push_back(own[d] == 1 ? Expr(0) : at[4 - own.size() + d]);
    }
    if (short_) from.back() = ir::min(at[3], own.back() - 1);
    const Expr m = ir::load(mask, from);
    const Expr value = m.dtype().is_bool() ? allowed(m, none) : ir::cast(none.dtype(), m);
    return short_ ? ir::select(ir::lt(at[3], own.back()), value, none) : value;
  }

  const Operands& o_;
  Shape full_;
  ValueId mask_ = -1, lengths_ = -1;
  bool causal_ = false, short_ = false;
};

// Rows of minus infinity become zeros, where a plain softmax has no number.
te::Tensor softmax_or_zeros(te::Builder& t, const te::Tensor& x) {
  const Shape& shape = x.shape();
  const Shape outer(shape.begin(), shape.end() - 1);
  const ir::DType type = wide(x.dtype());
  const auto own = [&](Axes i, const Expr& j) {
    std::vector<Expr> at(i.begin(), i.end());
    at.push_back(j);
    return ir::cast(type, ir::load(x, at));
  };
  const auto row = [](const te::Tensor& r, Axes a) {
    return ir::load(r, {a.begin(), a.end() - 1});
  };
  const Expr zero = ir::zero_of(type);
  const te::Tensor top = t.reduce("softmax.max", outer, ir::BinaryOp::kMax, {shape.back()},
                                  [&](Axes i, Axes j) { return own(i, j[0]); });
  const te::Tensor shift = t.compute("softmax.shift", outer, [&](Axes i) {
    const Expr v = ir::load(top, {i.begin(), i.end()});
    const Expr none = ir::make_float(type, -std::numeric_limits<double>::infinity());
    return ir::select(ir::eq(v, none), zero, v);
  });
  const te::Tensor e = t.compute("softmax.exp", shape, [&](Axes a) {
    return ir::call(ir::Intrinsic::kExp, {own(a.first(a.size() - 1), a.back()) - row(shift, a)});
  });
  const te::Tensor sum =
      t.reduce("softmax.sum", outer, ir::BinaryOp::kAdd, {shape.back()}, [&](Axes i, Axes j) {
        std::vector<Expr> at(i.begin(), i.end());
        at.push_back(j[0]);
        return ir::load(e, at);
      });
  const te::Tensor inverse = t.compute("softmax.inverse", outer, [&](Axes i) {
    const Expr v = ir::load(sum, {i.begin(), i.end()});
    return ir::select(ir::eq(v, zero), zero, ir::make_float(type, 1) / v);
  });
  return t.compute("softmax", shape, [&](Axes a) {
    return ir::cast(x.dtype(), ir::load(e, {a.begin(), a.end()}) * row(inverse, a));
  });
}

ValueId probabilities(Convert& c, ValueId scores, bool may_be_empty) {
  const ir::DType t = c.b().dtype(scores);
  const int64_t wanted = c.int_or("softmax_precision", 0);
  const ir::DType precise = wanted != 0 ? type_of_number(wanted) : t;
  require_float(precise);
  const ValueId x = precise.bits > t.bits ? c.b().cast(scores, precise) : scores;
  const ValueId p = c.b().compute("softmax", {x}, [&](te::Builder& b, Tensors in) {
    return may_be_empty ? softmax_or_zeros(b, in[0]) : te::softmax(b, "softmax", in[0]);
  });
  return c.b().cast(p, t);
}

std::vector<ValueId> convert_attention(Convert& c) {
  const Operands o = read_operands(c);
  const Mask mask(c, o);
  const ValueId raw = scaled_scores(c, o);
  const ValueId cap = capped(c, raw);
  const ValueId masked = mask.add(c, cap);
  const ValueId p = probabilities(c, masked, mask.empties_rows());
  const int64_t size = c.b().shape(o.v)[3];
  ValueId y = without_shared(c, o, multiply(c, p, with_shared(c, o, o.v, 1), graph::MatMul{}));
  if (c.rank(0) == 3) {
    y = c.b().reshape(c.b().transpose(y, {0, 2, 1, 3}), {o.batch, o.rows, o.heads * size});
  }
  const int64_t mode = c.int_or("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) refuse("'qk_matmul_output_mode' is {}; 0 to 3 are defined", mode);
  const ValueId shown[] = {raw, cap, masked, p};
  return {y, o.k, o.v, c.has_output(3) ? without_shared(c, o, shown[mode]) : shown[mode]};
}

constexpr Row kAttentionRows[] = {
    {"", "Attention", 23, convert_attention},
    {"", "RotaryEmbedding", 23, convert_rotary_embedding},
};

}  // namespace

std::span<const Row> rows_attention() { return kAttentionRows; }

}  // namespace tenon::onnx
