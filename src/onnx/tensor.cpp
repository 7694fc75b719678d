// SPDX-License-Identifier: Apache-2.0
#include "onnx/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "te/limits.h"

namespace tenon::onnx {
namespace {

using graph::Shape;
using proto::TensorProto;

struct TypeRow {
  int32_t code;
  std::string_view name;
  std::optional<ir::DType> type;
};

constexpr TypeRow kTypes[] = {
    {1, "float", ir::kF32},   {2, "uint8", ir::kU8},
    {3, "int8", ir::kI8},     {4, "uint16", ir::kU16},
    {5, "int16", ir::kI16},   {6, "int32", ir::kI32},
    {7, "int64", ir::kI64},   {8, "string", {}},
    {9, "bool", ir::kBool},   {10, "float16", ir::kF16},
    {11, "double", ir::kF64}, {12, "uint32", ir::kU32},
    {13, "uint64", ir::kU64}, {14, "complex64", {}},
    {15, "complex128", {}},   {16, "bfloat16", ir::kBF16},
    {17, "float8e4m3fn", {}}, {18, "float8e4m3fnuz", {}},
    {19, "float8e5m2", {}},   {20, "float8e5m2fnuz", {}},
    {21, "uint4", {}},        {22, "int4", {}},
    {23, "float4e2m1", {}},   {24, "float8e8m0", {}},
};

const TypeRow* type_row(int32_t code) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& r) { return r.code == code; });
  return row == std::end(kTypes) ? nullptr : row;
}

// Which repeated field holds a type's elements, when not raw_data.
template <class Fn>
auto with_typed_field(const TensorProto& t, ir::DType type, const Fn& fn) {
  if (type == ir::kF32) return fn(t.float_data());
  if (type == ir::kF64) return fn(t.double_data());
  if (type == ir::kI64) return fn(t.int64_data());
  if (type == ir::kU32 || type == ir::kU64) return fn(t.uint64_data());
  return fn(t.int32_data());
}

void require_length(int64_t have, int64_t want, std::string_view unit) {
  if (have != want) {
    throw UserError(fmt::format("has {} {} of data, its shape wants {}", have, unit, want));
  }
}

template <class Field>
void copy_field(const Field& from, ir::Array& to) {
  using Element = typename Field::value_type;
  const ir::DType t = to.dtype();
  if (static_cast<int64_t>(sizeof(Element)) == t.bytes()) {
    std::memcpy(to.data(), from.data(), static_cast<size_t>(to.bytes()));
    return;
  }
  // Narrow types sit in wide fields, the 16-bit floats as their bits: the low bytes are the value.
  for (int i = 0; i < from.size(); ++i) {
    const Element e = from.Get(i);
    std::memcpy(to.data() + i * t.bytes(), &e, static_cast<size_t>(t.bytes()));
  }
}

void make_bools(ir::Array& a) {
  if (!a.dtype().is_bool()) return;
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.data()[i] = static_cast<std::byte>(a.data()[i] != std::byte{0});
  }
}

graph::Data inline_data(const TensorProto& t, ir::DType type, const Shape& shape) {
  const int64_t elements = graph::Value{"", type, shape, nullptr}.elements();
  const bool raw = t.has_raw_data() && !t.raw_data().empty();
  if (raw) {
    require_length(static_cast<int64_t>(t.raw_data().size()), elements * type.bytes(), "bytes");
  } else {
    const int64_t have = with_typed_field(
        t, type, [](const auto& field) { return static_cast<int64_t>(field.size()); });
    require_length(have, elements, "elements");
  }
  ir::Array a(type, shape);
  if (raw) {
    std::memcpy(a.data(), t.raw_data().data(), t.raw_data().size());
  } else if (elements > 0) {
    with_typed_field(t, type, [&](const auto& field) { copy_field(field, a); });
  }
  make_bools(a);
  return std::make_shared<const ir::Array>(std::move(a));
}

}  // namespace

std::optional<ir::DType> element_type(int32_t data_type) {
  const TypeRow* row = type_row(data_type);
  return row ? row->type : std::nullopt;
}

std::string element_type_name(int32_t data_type) {
  const TypeRow* row = type_row(data_type);
  return row ? std::string(row->name) : fmt::format("type {}", data_type);
}

ir::DType numeric_type(int32_t data_type) {
  const auto type = element_type(data_type);
  if (!type) {
    throw UserError(fmt::format("elements of {} are not supported", element_type_name(data_type)));
  }
  return *type;
}

void check_shape(const Shape& shape) {
  if (shape.size() > te::kMaxRank) {
    throw UserError(
        fmt::format("has {} dimensions; at most {} are supported", shape.size(), te::kMaxRank));
  }
  int64_t elements = 1;  // as if empty dimensions had one: no product of some extents may overflow
  for (const int64_t e : shape) {
    if (e < 0 || e > te::kMaxExtent) {
      throw UserError(fmt::format("extent {} is not in 0..{}", e, te::kMaxExtent));
    }
    if (e > 0 && elements > (te::kMaxElements - 1) / e) {
      throw UserError(fmt::format("shape [{}] has too many elements", fmt::join(shape, ",")));
    }
    elements *= std::max<int64_t>(e, 1);
  }
}

graph::Data to_data(const TensorProto& t, ExternalData* files) {
  const ir::DType type = numeric_type(t.data_type());
  if (t.has_segment()) throw UserError("tensors in segments are not supported");
  const Shape shape(t.dims().begin(), t.dims().end());
  check_shape(shape);
  if (t.data_location() != TensorProto::EXTERNAL) return inline_data(t, type, shape);
  if (!files) throw UserError("external data are not allowed here");
  return files->read(t, type, shape);
}

namespace {

// The place in a dense array that entry `i` of the indices names: one number, or one per dimension.
int64_t sparse_place(const ir::Array& indices, int64_t i, const Shape& dims) {
  if (indices.shape().size() == 1) return indices.get(i).i;
  int64_t place = 0;
  const auto rank = static_cast<int64_t>(dims.size());
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t at = indices.get(i * rank + d).i;
    const int64_t extent = dims[static_cast<size_t>(d)];
    if (at < 0 || at >= extent) return -1;
    place = place * extent + at;
  }
  return place;
}

}  // namespace

graph::Data to_data(const proto::SparseTensorProto& t, ExternalData* files) {
  const graph::Data values = to_data(t.values(), files);
  const graph::Data indices = to_data(t.indices(), files);
  const Shape shape(t.dims().begin(), t.dims().end());
  check_shape(shape);
  const int64_t n = values->elements();
  const bool flat = indices->shape() == Shape{n};
  const bool wide = indices->shape() == Shape{n, static_cast<int64_t>(shape.size())};
  if (indices->dtype() != ir::kI64 || values->shape().size() != 1 || !(flat || wide)) {
    throw UserError("values and indices of a sparse tensor do not fit each other");
  }
  const graph::Value dense{"", values->dtype(), shape, nullptr};
  // A few bytes may name any shape: bound what they unfold to.
  if (dense.bytes() > (int64_t{64} << 20)) throw UserError("sparse tensor is too large");
  ir::Array a(values->dtype(), shape);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t place = sparse_place(*indices, i, shape);
    if (place < 0 || place >= a.elements()) throw UserError("index outside of a sparse tensor");
    a.set(place, values->get(i));
  }
  return std::make_shared<const ir::Array>(std::move(a));
}

}  // namespace tenon::onnx
