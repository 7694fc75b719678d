// SPDX-License-Identifier: Apache-2.0
// Bytes to messages, within limits: what parsing would allocate is added up before it starts.
#pragma once

#include <string>

#include "onnx/proto.h"

namespace tenon::onnx {

// UserError names the file: missing, not a file, too large, unreadable.
std::string read_file(const std::string& path);

// UserError if the bytes are not such a message, or would occupy too much once parsed.
proto::ModelProto parse_model(const std::string& bytes);
proto::AttributeProto parse_attribute(const std::string& bytes);
proto::TensorProto parse_tensor(const std::string& bytes);

}  // namespace tenon::onnx
