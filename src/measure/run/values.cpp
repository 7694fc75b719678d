// SPDX-License-Identifier: Apache-2.0
#include "measure/run/values.h"

#include <cstring>

namespace tenon::run {
namespace {

template <class T>
void pattern(std::vector<char>& bytes, T one, T random_bits) {
  uint64_t x = 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    const T v = static_cast<T>(one | (static_cast<T>(x >> 8) & random_bits));
    std::memcpy(bytes.data() + i, &v, sizeof v);
  }
}

void pattern_of(const std::string& dtype, std::vector<char>& bytes) {
  if (dtype == "f64") {
    pattern<uint64_t>(bytes, 0x3fe0000000000000, 0x800fffffffffffff);
  } else if (dtype == "f32") {
    pattern<uint32_t>(bytes, 0x3f000000, 0x807fffff);
  } else if (dtype == "bf16") {
    pattern<uint16_t>(bytes, 0x3f00, 0x807f);
  } else if (dtype == "f16") {
    pattern<uint16_t>(bytes, 0x3800, 0x83ff);
  } else if (dtype == "i64" || dtype == "u64") {
    pattern<uint64_t>(bytes, 0, 1);
  } else if (dtype == "i32" || dtype == "u32") {
    pattern<uint32_t>(bytes, 0, 1);
  } else if (dtype == "i16" || dtype == "u16") {
    pattern<uint16_t>(bytes, 0, 1);
  } else {
    pattern<uint8_t>(bytes, 0, 1);
  }
}

}  // namespace

std::vector<char> quick_values(const std::string& dtype, int64_t bytes) {
  std::vector<char> values(static_cast<size_t>(bytes));
  pattern_of(dtype, values);
  return values;
}

}  // namespace tenon::run
