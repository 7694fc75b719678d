// SPDX-License-Identifier: Apache-2.0
// The table of converters: the families joined.
#pragma once

#include <string>
#include <string_view>

#include "onnx/converter.h"

namespace tenon::onnx {

struct Lookup {
  const Row* row = nullptr;  // null: there is none
  int oldest = 0;            // of the rows for this operator; 0: it is unknown
};
Lookup find_row(std::string_view domain, std::string_view op, int64_t opset);

// Why there is no row for an operator: "random generators are out of scope".
std::string why_refused(std::string_view domain, std::string_view op);

}  // namespace tenon::onnx
