// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <vector>

#include "ir/interp.h"
#include "support/rng.h"

namespace tenon::files::testing {

inline const std::vector<ir::DType> kAllTypes = {
    ir::kBool, ir::kI8,  ir::kI16, ir::kI32, ir::kI64,  ir::kU8,  ir::kU16,
    ir::kU32,  ir::kU64, ir::kF16, ir::kF32, ir::kBF16, ir::kF64,
};

// Any bit pattern, except for bools.
inline ir::Array random_array(ir::DType dtype, std::vector<int64_t> shape, Rng& rng) {
  ir::Array array(dtype, std::move(shape));
  for (int64_t i = 0; i < array.bytes(); ++i) {
    const uint64_t bits = rng.next();
    array.data()[i] = static_cast<std::byte>(dtype.is_bool() ? bits & 1 : bits);
  }
  return array;
}

inline bool same_array(const ir::Array& a, const ir::Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

// The message of the UserError that `f` throws; anything else fails the caller's expectation.
template <class F>
std::string user_error(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace tenon::files::testing
