// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>

#include "onnx/tensor.h"

namespace tenon::onnx {
namespace {

namespace fs = std::filesystem;

int64_t parse_number(const std::string& text, const std::string& key) {
  int64_t v = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc() || last != end || v < 0) {
    throw UserError(fmt::format("{} '{}' of external data is not a number", key, text));
  }
  return v;
}

}  // namespace

// The file, links resolved, if it lies in the folder or below it.
std::string ExternalData::inside(const std::string& location) const {
  const fs::path given(location);
  if (location.empty() || location.find('\0') != std::string::npos || given.is_absolute()) {
    throw UserError(
        fmt::format("external data at '{}': a path inside the model's folder is wanted", location));
  }
  std::error_code error;
  const fs::path folder = fs::canonical(folder_.empty() ? "." : folder_, error);
  const fs::path file = error ? fs::path() : fs::canonical(folder / given, error);
  if (error) {
    throw UserError(fmt::format("external data at '{}': {}", location, error.message()));
  }
  const fs::path relative = file.lexically_relative(folder);
  if (relative.empty() || *relative.begin() == "..") {
    throw UserError(
        fmt::format("external data at '{}' lie outside of the model's folder", location));
  }
  if (!fs::is_regular_file(file, error)) {
    throw UserError(fmt::format("external data at '{}': not a file", location));
  }
  return file.string();
}

graph::Data ExternalData::read(const proto::TensorProto& t, ir::DType dtype,
                               const graph::Shape& shape) {
  std::string location;
  Range range{"", 0, -1, dtype, shape};
  for (const auto& entry : t.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") range.offset = parse_number(entry.value(), "offset");
    if (entry.key() == "length") range.length = parse_number(entry.value(), "length");
  }
  range.path = inside(location);
  const int64_t want = graph::Value{"", dtype, shape, nullptr}.bytes();
  const auto size = static_cast<int64_t>(fs::file_size(range.path));
  if (range.length >= 0 && range.length != want) {
    throw UserError(
        fmt::format("external data of {} bytes, the shape wants {}", range.length, want));
  }
  range.length = want;
  if (range.offset > size || want > size - range.offset) {
    throw UserError(fmt::format("external data at '{}' end after {} bytes, {} at {} are wanted",
                                location, size, want, range.offset));
  }
  graph::Data& known = seen_[range];
  if (known) return known;
  int64_t& total = bytes_read_[range.path];
  total += want;
  if (total / 2 > size) {
    throw UserError(fmt::format("tensors read the same bytes of '{}' again and again", location));
  }
  ir::Array a(dtype, shape);
  std::ifstream in(range.path, std::ios::binary);
  in.seekg(range.offset);
  in.read(reinterpret_cast<char*>(a.data()), want);
  if (!in || in.gcount() != want) {
    throw UserError(fmt::format("cannot read external data at '{}'", location));
  }
  if (dtype.is_bool()) {
    for (int64_t i = 0; i < want; ++i) a.data()[i] = std::byte{a.data()[i] != std::byte{0}};
  }
  known = std::make_shared<const ir::Array>(std::move(a));
  return known;
}

}  // namespace tenon::onnx
