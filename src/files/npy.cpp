// SPDX-License-Identifier: Apache-2.0
#include "files/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "files/npy_header.h"

namespace tenon::files {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 60;

void swap_bytes(ir::Array& array) {
  const auto size = static_cast<size_t>(array.dtype().bytes());
  for (std::byte* p = array.data(); p != array.data() + array.bytes(); p += size) {
    std::reverse(p, p + size);
  }
}

// Column-major elements into row-major order: walks the result in order and the source with strides.
ir::Array from_fortran(const ir::Array& stored) {
  ir::Array array(stored.dtype(), stored.shape());
  const std::vector<int64_t>& shape = stored.shape();
  const auto size = static_cast<size_t>(stored.dtype().bytes());
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) {
    strides[d] = strides[d - 1] * shape[d - 1];
  }
  std::vector<int64_t> index(shape.size(), 0);
  int64_t source = 0;
  for (int64_t i = 0; i < array.elements(); ++i) {
    std::memcpy(array.data() + static_cast<size_t>(i) * size,
                stored.data() + static_cast<size_t>(source) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) {
        break;
      }
      source -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return array;
}

// NumPy stores 0 and 1; other values would not be one of our bools.
void normalize_bools(ir::Array& array) {
  std::transform(array.data(), array.data() + array.bytes(), array.data(),
                 [](std::byte b) { return std::byte{b != std::byte{0}}; });
}

}  // namespace

int64_t checked_bytes(ir::DType dtype, const std::vector<int64_t>& shape, const std::string& name) {
  int64_t bytes = dtype.bytes();
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && bytes > kMaxBytes / extent)) {
      throw UserError(name, 0, 0,
                      fmt::format("a shape of [{}] is not possible", fmt::join(shape, ", ")));
    }
    empty |= extent == 0;
    bytes *= std::max<int64_t>(extent, 1);
  }
  return empty ? 0 : bytes;
}

ir::Array parse_npy(std::string_view bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  const int64_t needed = checked_bytes(header.dtype, header.shape, name);
  const auto found = static_cast<int64_t>(bytes.size() - header.data_at);
  if (needed != found) {
    throw UserError(name, 0, 0,
                    fmt::format("{} [{}] needs {} bytes of data, the file has {} after byte {}",
                                ir::to_string(header.dtype), fmt::join(header.shape, ", "), needed,
                                found, header.data_at));
  }
  ir::Array array(header.dtype, header.shape);
  if (needed > 0) {
    std::memcpy(array.data(), bytes.data() + header.data_at, static_cast<size_t>(needed));
  }
  if (header.big_endian) {
    swap_bytes(array);
  }
  if (header.dtype.is_bool()) {
    normalize_bools(array);
  }
  return header.fortran_order && header.shape.size() > 1 ? from_fortran(array) : array;
}

std::string npy_bytes(const ir::Array& array) {
  constexpr size_t kPrefix = 10;  // magic, version, length
  const std::vector<int64_t>& shape = array.shape();
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  npy_descr(array.dtype()), fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const size_t unpadded = kPrefix + dict.size() + 1;
  dict.append((64 - unpadded % 64) % 64, ' ');
  dict.push_back('\n');
  TENON_CHECK(dict.size() <= UINT16_MAX) << "a header of " << dict.size() << " bytes";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(dict.size() & 0xff));
  bytes.push_back(static_cast<char>(dict.size() >> 8));
  bytes += dict;
  bytes.append(reinterpret_cast<const char*>(array.data()), static_cast<size_t>(array.bytes()));
  return bytes;
}

}  // namespace tenon::files
