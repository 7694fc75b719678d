// SPDX-License-Identifier: Apache-2.0
#include "files/array_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "files/file.h"
#include "files/npy.h"

namespace tenon::files {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

ir::Array read_npy(const std::string& path) {
  return parse_npy(read_file(path), display_name(path));
}

void write_npy(const std::string& path, const ir::Array& array) {
  write_file(path, npy_bytes(array));
}

NamedArrays read_npz(const std::string& path) {
  NamedArrays arrays;
  for (const ZipMember& member : parse_zip(read_file(path), display_name(path))) {
    const std::string place = fmt::format("{}({})", display_name(path), member.name);
    std::string name = member.name;
    if (!name.ends_with(kSuffix)) {
      throw UserError(place, 0, 0, "this member is no .npy file");
    }
    name.resize(name.size() - kSuffix.size());
    if (find_array(arrays, name) != nullptr) {
      throw UserError(place, 0, 0, "there are two members of this name");
    }
    arrays.push_back({std::move(name), parse_npy(member.bytes, place)});
  }
  return arrays;
}

void write_npz(const std::string& path, const NamedArrays& arrays, Compression compression) {
  std::vector<ZipMember> members;
  for (const NamedArray& named : arrays) {
    members.push_back({named.name + std::string(kSuffix), npy_bytes(named.array)});
  }
  write_file(path, zip_bytes(members, compression));
}

ir::Array read_raw(const std::string& path, ir::DType dtype, const std::vector<int64_t>& shape) {
  const std::string bytes = read_file(path);
  const int64_t needed = checked_bytes(dtype, shape, display_name(path));
  if (static_cast<int64_t>(bytes.size()) != needed) {
    throw UserError(display_name(path), 0, 0,
                    fmt::format("has {} bytes, {} [{}] needs {}", bytes.size(),
                                ir::to_string(dtype), fmt::join(shape, ", "), needed));
  }
  ir::Array array(dtype, shape);
  if (needed > 0) {
    std::memcpy(array.data(), bytes.data(), bytes.size());
  }
  return array;
}

void write_raw(const std::string& path, const ir::Array& array) {
  write_file(path,
             {reinterpret_cast<const char*>(array.data()), static_cast<size_t>(array.bytes())});
}

const ir::Array* find_array(const NamedArrays& arrays, std::string_view name) {
  for (const NamedArray& named : arrays) {
    if (named.name == name) {
      return &named.array;
    }
  }
  return nullptr;
}

}  // namespace tenon::files
