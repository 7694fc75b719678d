// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding: pairs of elements of each head are turned by an angle that their position gives.
//
//   y[d] = cos * x[d] - sin * x[d + half]     d < half
//   y[d] = cos * x[d] + sin * x[d - half]     half <= d < 2 half; what is behind stays as it is
#include "onnx/ops/attention.h"
#include "onnx/ops/emit.h"
#include "onnx/ops/inside.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

struct Rotary {
  ValueId x;       // [batch, heads, length, size], or [batch, length, heads, size] if `flat`
  bool flat;       // the operand has three dimensions
  bool pairs;      // elements that are turned together are neighbours
  int64_t turned;  // elements of each head
  Shape shape;     // of x
  int64_t batch() const { return shape[0]; }
  int64_t length() const { return flat ? shape[1] : shape[2]; }
  int64_t half() const { return turned / 2; }
};

Rotary read_rotary(Convert& c) {
  require_float(c.dtype(0));
  require_same_type(c, {c.input(0), c.input(1), c.input(2)});
  if (is_empty(c, c.input(0))) refuse("an operand without elements");
  Rotary r{c.input(0), c.rank(0) == 3, c.int_or("interleaved", 0) != 0, 0, c.shape(0)};
  if (r.flat) {
    const int64_t heads = c.int_or("num_heads", 0);
    if (heads < 1 || r.shape[2] % heads != 0) {
      refuse("{} elements do not divide into {} heads, which 'num_heads' says", r.shape[2], heads);
    }
    r.shape = {r.shape[0], r.shape[1], heads, r.shape[2] / heads};
    r.x = c.b().reshape(r.x, r.shape);
  } else if (c.rank(0) != 4) {
    refuse("an operand of {} dimensions; 3 or 4 are defined", c.rank(0));
  }
  const int64_t wanted = c.int_or("rotary_embedding_dim", 0);
  r.turned = wanted == 0 ? r.shape[3] : wanted;
  if (r.turned < 2 || r.turned % 2 != 0 || r.turned > r.shape[3]) {
    refuse("{} of {} elements cannot be turned in pairs", r.turned, r.shape[3]);
  }
  return r;
}

// With positions the tables have a row for each; without, one for each element of the batch.
void check_tables(Convert& c, const Rotary& r) {
  const bool positions = c.has_input(3);
  for (size_t i = 1; i < 3; ++i) {
    const Shape& s = c.shape(i);
    const bool fits = positions ? s.size() == 2 && s[0] > 0 && s[1] == r.half()
                                : s == Shape{r.batch(), r.length(), r.half()};
    if (!fits) refuse("input {} does not fit {} elements that are turned", i, r.turned);
  }
  if (!positions) return;
  if (!c.dtype(3).is_int() || c.shape(3) != Shape{r.batch(), r.length()}) {
    refuse("positions are no {}x{} integers", r.batch(), r.length());
  }
  if (c.shape(1) != c.shape(2)) refuse("the tables of cosines and of sines differ in shape");
  require_inside(c.b().data(c.input(3)), c.shape(1)[0], "position");
}

}  // namespace

std::vector<ValueId> convert_rotary_embedding(Convert& c) {
  const Rotary r = read_rotary(c);
  check_tables(c, r);
  std::vector<ValueId> operands{r.x, c.input(1), c.input(2)};
  if (c.has_input(3)) operands.push_back(c.input(3));
  const ValueId y = c.b().compute("rotary", operands, [&](te::Builder& t, Tensors in) {
    return t.compute("rotary", r.shape, [&](Axes at) {
      const Expr batch = at[0], length = at[r.flat ? 1 : 2], d = at[3];
      const Expr first = r.pairs ? ir::eq(ir::floor_mod(d, 2), 0) : ir::lt(d, r.half());
      const int64_t step = r.pairs ? 1 : r.half();
      const Expr angle =
          r.pairs ? ir::min(ir::floor_div(d, 2), r.half() - 1) : ir::floor_mod(d, r.half());
      const Expr other =
          ir::select(first, ir::min(d + Expr(step), r.shape[3] - 1), ir::max(d - Expr(step), 0));
      const ir::DType type = wide(in[0].dtype());
      const auto x = [&](const Expr& place) {
        return ir::cast(type, ir::load(in[0], {at[0], at[1], at[2], place}));
      };
      const auto table = [&](size_t i) {
        if (in.size() < 4) return ir::cast(type, ir::load(in[i], {batch, length, angle}));
        const Expr row = clamped(ir::load(in[3], {batch, length}), in[i].shape()[0]);
        return ir::cast(type, ir::load(in[i], {row, angle}));
      };
      const Expr sine = ir::select(first, -table(2), table(2));
      const Expr turned = table(1) * x(d) + sine * x(other);
      return ir::cast(in[0].dtype(), r.turned == r.shape[3]
                                         ? turned
                                         : ir::select(ir::lt(d, r.turned), turned, x(d)));
    });
  });
  return {c.b().reshape(y, c.shape(0))};
}

}  // namespace tenon::onnx
