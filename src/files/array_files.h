// SPDX-License-Identifier: Apache-2.0
// Arrays by file name. A bad file is a UserError that names it.
//
//   ir::Array x = read_npy("x.npy");
//   write_npz("out.npz", {{"logits", y}}, Compression::kStored);
#pragma once

#include <string>
#include <vector>

#include "files/zip.h"
#include "ir/interp.h"

namespace tenon::files {

struct NamedArray {
  std::string name;
  ir::Array array;
};
using NamedArrays = std::vector<NamedArray>;

ir::Array read_npy(const std::string& path);
void write_npy(const std::string& path, const ir::Array& array);

// In the order of the file; members that are no .npy are refused, as are two of one name.
NamedArrays read_npz(const std::string& path);
void write_npz(const std::string& path, const NamedArrays& arrays, Compression compression);

// The elements alone, little-endian and row-major; the size must be exact.
ir::Array read_raw(const std::string& path, ir::DType dtype, const std::vector<int64_t>& shape);
void write_raw(const std::string& path, const ir::Array& array);

// nullptr if there is none.
const ir::Array* find_array(const NamedArrays& arrays, std::string_view name);

}  // namespace tenon::files
