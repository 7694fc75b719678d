// SPDX-License-Identifier: Apache-2.0
#include "ir/dtype.h"

#include <bit>
#include <charconv>

namespace tenon::ir {
namespace {

std::string_view prefix_of(TypeCode code) {
  switch (code) {
    case TypeCode::kBool:
      return "bool";
    case TypeCode::kInt:
      return "i";
    case TypeCode::kUInt:
      return "u";
    case TypeCode::kFloat:
      return "f";
    case TypeCode::kBFloat:
      return "bf";
  }
  return "?";
}

constexpr DType kScalars[] = {kBool, kI8,  kI16, kI32,  kI64, kU8, kU16,
                              kU32,  kU64, kF16, kBF16, kF32, kF64};

}  // namespace

std::string to_string(DType t) {
  std::string out(prefix_of(t.code));
  if (!t.is_bool()) {
    out += std::to_string(t.bits);
  }
  if (t.is_vector()) {
    out += 'x';
    out += std::to_string(t.lanes);
  }
  return out;
}

std::optional<DType> parse_dtype(std::string_view text) {
  int lanes = 1;
  if (const size_t x = text.find('x'); x != std::string_view::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + x + 1, end, lanes);
    if (error != std::errc() || stop != end || lanes < 2 || lanes > 0xffff) {
      return std::nullopt;
    }
    text = text.substr(0, x);
  }
  for (const DType t : kScalars) {
    if (to_string(t) == text) {
      return t.with_lanes(lanes);
    }
  }
  return std::nullopt;
}

uint16_t f32_to_bf16(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<uint16_t>((bits >> 16) | 0x40u);  // a NaN stays one, quiet
  }
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float bf16_to_f32(uint16_t v) { return std::bit_cast<float>(static_cast<uint32_t>(v) << 16); }

uint16_t f32_to_f16(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x47800000u) {  // 65536 and above
    return static_cast<uint16_t>(sign | 0x7c00u);
  }
  if (magnitude >= 0x38800000u) {  // normal; a carry out of the mantissa raises the exponent
    const uint32_t rebased = magnitude - (112u << 23);
    return static_cast<uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
  }
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 102) {  // below half of the smallest subnormal
    return static_cast<uint16_t>(sign);
  }
  const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t shift = 126 - exponent;
  const uint32_t half = 1u << (shift - 1);
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  uint32_t result = mantissa >> shift;
  if (rest > half || (rest == half && (result & 1u) != 0)) {
    ++result;
  }
  return static_cast<uint16_t>(sign | result);
}

float f16_to_f32(uint16_t v) {
  const uint32_t sign = static_cast<uint32_t>(v & 0x8000u) << 16;
  const uint32_t exponent = (v >> 10) & 0x1fu;
  const uint32_t mantissa = v & 0x3ffu;
  if (exponent == 0x1f) {
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

int64_t wrap_int(DType t, int64_t v) {
  if (t.is_bool()) {
    return v & 1;
  }
  if (t.bits >= 64) {
    return v;
  }
  const int shift = 64 - t.bits;
  const uint64_t high = static_cast<uint64_t>(v) << shift;
  return t.code == TypeCode::kUInt ? static_cast<int64_t>(high >> shift)
                                   : static_cast<int64_t>(high) >> shift;
}

double round_to(DType t, double v) {
  if (t.code == TypeCode::kBFloat) {
    return static_cast<double>(bf16_to_f32(f32_to_bf16(static_cast<float>(v))));
  }
  switch (t.bits) {
    case 16:
      return static_cast<double>(f16_to_f32(f32_to_f16(static_cast<float>(v))));
    case 32:
      return static_cast<double>(static_cast<float>(v));
    default:
      return v;
  }
}

int64_t lowest_int(DType t) {
  return t.code == TypeCode::kInt ? static_cast<int64_t>(~uint64_t{0} << (t.bits - 1)) : 0;
}

int64_t highest_int(DType t) {
  if (t.code == TypeCode::kInt) {
    return ~lowest_int(t);
  }
  return wrap_int(t, -1);
}

}  // namespace tenon::ir
