// SPDX-License-Identifier: Apache-2.0
// Element types as tenon, NumPy and DLPack name them.
//
//   find_type("f32")->numpy == "float32"
#pragma once

#include <pybind11/numpy.h>

#include <string>
#include <string_view>

#include "dlpack.h"

namespace tenon::python {

struct ElementType {
  std::string_view name;  // as in tenon/tenon.h
  const char* numpy;      // NumPy has no bfloat16: its bits are two bytes of no meaning
  dlpack::TypeCode code;
  uint8_t bits;
};

// nullptr: there is none of that name.
const ElementType* find_type(std::string_view name);

// For messages: "f32"; NumPy's own name where tenon has none.
std::string type_text(const pybind11::dtype& dtype);
std::string type_text(dlpack::DataType dtype);

bool is_same(const ElementType& type, dlpack::DataType dtype);

}  // namespace tenon::python
