// SPDX-License-Identifier: Apache-2.0
// Bytes to messages, within limits: what parsing would allocate is added up before it starts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "onnx/proto.h"

namespace tenon::onnx {

// What a file holds, in large pages where the system has them: weights are large, and a fault for
// each small page takes longer than reading it.
class FileBytes {
 public:
  explicit FileBytes(size_t size);  // throws std::bad_alloc
  ~FileBytes();
  FileBytes(FileBytes&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  FileBytes& operator=(FileBytes o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  char* data() { return data_; }
  std::string_view view() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// UserError names the file: missing, not a file, too large, unreadable.
FileBytes read_file(const std::string& path);

// UserError if the bytes are not such a message, or would occupy too much once parsed.
proto::ModelProto parse_model(std::string_view bytes);
proto::AttributeProto parse_attribute(std::string_view bytes);
proto::TensorProto parse_tensor(std::string_view bytes);

}  // namespace tenon::onnx
