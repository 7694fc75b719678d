// SPDX-License-Identifier: Apache-2.0
#include "element_type.h"

#include <algorithm>

namespace tenon::python {
namespace {

namespace py = pybind11;

constexpr ElementType kTypes[] = {
    {"f32", "float32", dlpack::kFloat, 32}, {"f64", "float64", dlpack::kFloat, 64},
    {"f16", "float16", dlpack::kFloat, 16}, {"bf16", "V2", dlpack::kBFloat, 16},
    {"i8", "int8", dlpack::kInt, 8},        {"i16", "int16", dlpack::kInt, 16},
    {"i32", "int32", dlpack::kInt, 32},     {"i64", "int64", dlpack::kInt, 64},
    {"u8", "uint8", dlpack::kUInt, 8},      {"u16", "uint16", dlpack::kUInt, 16},
    {"u32", "uint32", dlpack::kUInt, 32},   {"u64", "uint64", dlpack::kUInt, 64},
    {"bool", "bool", dlpack::kBool, 8},
};

template <class Predicate>
const ElementType* find(const Predicate& wanted) {
  const auto* it = std::find_if(std::begin(kTypes), std::end(kTypes), wanted);
  return it == std::end(kTypes) ? nullptr : it;
}

}  // namespace

const ElementType* find_type(std::string_view name) {
  return find([&](const ElementType& t) { return t.name == name; });
}

std::string type_text(const py::dtype& dtype) {
  const auto name = dtype.attr("name").cast<std::string>();
  if (name == "bfloat16" || name == "void16") return "bf16";
  const ElementType* type = find([&](const ElementType& t) { return t.numpy == name; });
  return type == nullptr ? name : std::string(type->name);
}

std::string type_text(dlpack::DataType dtype) {
  const ElementType* type = find([&](const ElementType& t) { return is_same(t, dtype); });
  if (type != nullptr) return std::string(type->name);
  return "DLPack's type " + std::to_string(dtype.code) + " of " + std::to_string(dtype.bits) +
         " bits";
}

bool is_same(const ElementType& type, dlpack::DataType dtype) {
  return type.code == dtype.code && type.bits == dtype.bits && dtype.lanes == 1;
}

}  // namespace tenon::python
