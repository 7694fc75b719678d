// SPDX-License-Identifier: Apache-2.0
// Models as protobuf's text form.
//
//   import_text(R"(graph { input { name: "x" ... } node { op_type: "Relu" input: "x" output: "y" } ... })")
#pragma once

#include <string>

#include "onnx/import.h"

namespace tenon::onnx::testing {

// The bytes of a file. An opset 17 of the standard is added when the text imports none.
std::string model_bytes(const std::string& text);
Imported import_text(const std::string& text, const ImportOptions& options = {});
// what() of the UserError, or "" if it is imported.
std::string refusal(const std::string& text, const ImportOptions& options = {});

// input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_param: "n" } } } } }
std::string value(const std::string& field, const std::string& name, const std::string& dims,
                  int type = 1);
// node { op_type: .. input: .. output: .. name: .. }; lists are separated by blanks, "-" is an absent one.
std::string node(const std::string& op, const std::string& inputs, const std::string& outputs,
                 const std::string& more = "");

}  // namespace tenon::onnx::testing
