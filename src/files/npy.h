// SPDX-License-Identifier: Apache-2.0
// The .npy format, versions 1 to 3: a magic word, a Python dictionary, then the elements.
//
//   \x93NUMPY 1 0 {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } ... 24 bytes
//
// Big-endian elements and Fortran order are converted while reading. bf16 has no name in NumPy: it is written
// as the two-byte void '<V2', which is how the ml_dtypes package saves it, and read back from any 'V2'.
// Objects, strings, dates, complex numbers and structures are refused.
#pragma once

#include <string>
#include <string_view>

#include "ir/interp.h"

namespace tenon::files {

// `name` is what error messages call it.
ir::Array parse_npy(std::string_view bytes, const std::string& name);
// Version 1, little-endian, C order, elements aligned to 64 bytes: byte for byte what np.save writes.
std::string npy_bytes(const ir::Array& array);

// Number of bytes of a dense array, or a UserError if the shape is negative or beyond 2^60 bytes.
int64_t checked_bytes(ir::DType dtype, const std::vector<int64_t>& shape, const std::string& name);

}  // namespace tenon::files
