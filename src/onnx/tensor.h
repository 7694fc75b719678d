// SPDX-License-Identifier: Apache-2.0
// Tensors of a file as arrays. The length of the data is compared with the dimensions before anything is
// allocated, so that an array is never larger than a small multiple of what the file holds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "onnx/proto.h"

namespace tenon::onnx {

// nullopt: strings, complex numbers, eight- and four-bit floats, four-bit integers.
std::optional<ir::DType> element_type(int32_t data_type);
std::string element_type_name(int32_t data_type);  // "string", "complex64", "type 23"
// element_type or UserError.
ir::DType numeric_type(int32_t data_type);

// UserError for a negative extent, too many dimensions or too many elements; 0 is allowed.
void check_shape(const graph::Shape& shape);

// Files beside the model that hold weights. A path that leaves the folder, also by way of a link, is
// refused; the same range is read once, ranges that overlap may not add up to more than twice the file.
class ExternalData {
 public:
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}
  // The array of a tensor whose data lie in a file.
  graph::Data read(const proto::TensorProto& t, ir::DType dtype, const graph::Shape& shape);

 private:
  struct Range {
    std::string path;
    int64_t offset = 0, length = 0;
    ir::DType dtype;
    graph::Shape shape;
    friend auto operator<=>(const Range&, const Range&) = default;
  };
  std::string inside(const std::string& location) const;

  std::string folder_;
  std::map<Range, graph::Data> seen_;
  std::map<std::string, int64_t> bytes_read_;
};

// UserError says what is wrong with the tensor. Without `files`, external data are refused.
graph::Data to_data(const proto::TensorProto& t, ExternalData* files);
graph::Data to_data(const proto::SparseTensorProto& t, ExternalData* files);

}  // namespace tenon::onnx
