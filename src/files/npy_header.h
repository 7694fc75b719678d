// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace tenon::files {

struct NpyHeader {
  ir::DType dtype;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  size_t data_at = 0;  // where the elements begin
};

NpyHeader parse_npy_header(std::string_view bytes, const std::string& name);
// "<f4", "|b1"
std::string npy_descr(ir::DType dtype);

}  // namespace tenon::files
