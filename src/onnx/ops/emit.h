// SPDX-License-Identifier: Apache-2.0
// What the converters share: refusals, shapes, constants, indices.
//
//   refuse("mode '{}' is not known", mode);
//   return {filled(c, ir::kF32, {2, 3}, 0.0)};
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "onnx/converter.h"

namespace tenon::onnx {

using Args = std::span<const ir::Expr>;
using Axes = std::span<const ir::Var>;
using Tensors = std::span<const te::Tensor>;

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> reason, Values&&... values) {
  throw Unsupported(fmt::format(reason, std::forward<Values>(values)...));
}

// The op's name in lower case.
std::string label_of(const Convert& c);

// The product of extents that are not negative and stay below 2^40, at most 12 of them; Unsupported
// otherwise.
int64_t count_elements(const Shape& shape);
inline bool is_empty(Convert& c, ValueId v) { return count_elements(c.b().shape(v)) == 0; }
// As numpy does; Unsupported if the shapes do not fit.
Shape broadcast_shapes(const std::vector<Shape>& shapes);

// Unsupported if how large a tensor of a sequence is depends on data.
inline void require_sized(Convert& c, const Piece& p) {
  if (p.rows == Piece::kUnsized) c.known(p.value, "the split");
}

// A constant whose elements are all `v`.
ValueId filled(Convert& c, ir::DType t, Shape shape, ir::Scalar v);
ValueId filled(Convert& c, ir::DType t, Shape shape, double v);
// x with every dimension of extent 1 stretched to that of `shape`.
ValueId broadcast_to(Convert& c, const std::string& label, ValueId x, const Shape& shape);
// x as an operand that lies along dimension `axis` of a tensor of `rank`: [3] to [1,3,1,1].
ValueId along_axis(Convert& c, ValueId x, int64_t axis, int64_t rank);

// Values that have elements, along dimension `dim`. Many go through several concatenations, since each picks
// between its parts element by element.
ValueId join(graph::GraphBuilder& b, std::vector<ValueId> parts, int64_t dim);

// `length` elements of dimension `dim` from `begin` on, as one of `slices` of that length. Of many the start is data, so
// that all of them are one kernel.
ValueId slice_of_many(graph::GraphBuilder& b, ValueId x, int64_t dim, int64_t begin, int64_t length,
                      int64_t slices);

// The type of sums and of compound formulas: f32 for the 16-bit floats, otherwise t.
ir::DType wide(ir::DType t);
// fn in the wide type of v, rounded once at the end.
template <class Fn>
ir::Expr in_wide(const ir::Expr& v, const Fn& fn) {
  return ir::cast(v.dtype(), fn(ir::cast(wide(v.dtype()), v)));
}
inline ir::Expr number(const ir::Expr& like, double v) { return ir::make_const(like.dtype(), v); }
// What reduces elements of type t to the largest (smallest) one; of floats NaN if there is one.
inline ir::BinaryOp maximum_of(ir::DType t) {
  return t.is_float() ? ir::BinaryOp::kMaximum : ir::BinaryOp::kMax;
}
inline ir::BinaryOp minimum_of(ir::DType t) {
  return t.is_float() ? ir::BinaryOp::kMinimum : ir::BinaryOp::kMin;
}
// A NaN, or equal to `best`, which a reduction by maximum_of or minimum_of found: so the first NaN is
// the first extreme element.
ir::Expr is_extreme(const ir::Expr& v, const ir::Expr& best);
// An element of a constant array as an expression.
ir::Expr literal(const ir::Array& a, int64_t offset = 0);

// An index of any integer type as i64, negative ones counted from the end.
ir::Expr wrapped(const ir::Expr& index, int64_t extent);
// The same, kept inside 0..extent-1.
ir::Expr clamped(const ir::Expr& index, int64_t extent);

// Sorted, without repetition, each in 0..rank-1.
std::vector<int64_t> normalized_axes(std::vector<int64_t> axes, int64_t rank);
// The attribute `name`, or the constant input `i` in opsets where it became one; empty if absent.
std::vector<int64_t> ints_attribute_or_input(Convert& c, const std::string& name, size_t i);

// The type that TensorProto.DataType numbers; Unsupported for strings and the like.
ir::DType type_of_number(int64_t onnx_type);
// A constant input of one integer.
int64_t constant_int(Convert& c, size_t i, std::string_view what);
void require_float(ir::DType t);
void require_number(ir::DType t);  // anything but bool
void require_same_type(Convert& c, const std::vector<ValueId>& values);
std::vector<ValueId> all_inputs(Convert& c);

// Copies element `from` of `source` to element `to` of `target`, which has the same type.
void copy_element(const ir::Array& source, int64_t from, ir::Array& target, int64_t to);

}  // namespace tenon::onnx
