// SPDX-License-Identifier: Apache-2.0
// Element types, with a lane count for vectors: f32, bf16, i64, f32x16, bool.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::ir {

enum class TypeCode : uint8_t { kBool, kInt, kUInt, kFloat, kBFloat };

struct DType {
  TypeCode code = TypeCode::kFloat;
  uint8_t bits = 32;
  uint16_t lanes = 1;

  friend constexpr auto operator<=>(const DType&, const DType&) = default;
  constexpr DType scalar() const { return {code, bits, 1}; }
  constexpr DType with_lanes(int n) const { return {code, bits, static_cast<uint16_t>(n)}; }
  constexpr bool is_float() const { return code == TypeCode::kFloat || code == TypeCode::kBFloat; }
  constexpr bool is_int() const { return code == TypeCode::kInt || code == TypeCode::kUInt; }
  constexpr bool is_signed() const { return code == TypeCode::kInt || is_float(); }
  constexpr bool is_bool() const { return code == TypeCode::kBool; }
  constexpr bool is_vector() const { return lanes > 1; }
  // Storage of one element; bool is stored in one byte.
  constexpr int64_t bytes() const { return is_bool() ? 1 : bits / 8; }
};

inline constexpr DType kBool{TypeCode::kBool, 1, 1};
inline constexpr DType kI8{TypeCode::kInt, 8, 1};
inline constexpr DType kI16{TypeCode::kInt, 16, 1};
inline constexpr DType kI32{TypeCode::kInt, 32, 1};
inline constexpr DType kI64{TypeCode::kInt, 64, 1};
inline constexpr DType kU8{TypeCode::kUInt, 8, 1};
inline constexpr DType kU16{TypeCode::kUInt, 16, 1};
inline constexpr DType kU32{TypeCode::kUInt, 32, 1};
inline constexpr DType kU64{TypeCode::kUInt, 64, 1};
inline constexpr DType kF16{TypeCode::kFloat, 16, 1};
inline constexpr DType kBF16{TypeCode::kBFloat, 16, 1};
inline constexpr DType kF32{TypeCode::kFloat, 32, 1};
inline constexpr DType kF64{TypeCode::kFloat, 64, 1};

// "f32", "bf16", "u8", "bool", "f32x16".
std::string to_string(DType t);
std::optional<DType> parse_dtype(std::string_view text);

// bf16 and f16 are stored as their bit patterns; rounding is to nearest even, NaN stays NaN.
uint16_t f32_to_bf16(float v);
float bf16_to_f32(uint16_t v);
uint16_t f32_to_f16(float v);
float f16_to_f32(uint16_t v);

// An integer (or bool) of type t as an int64_t: sign- or zero-extended; u64 keeps its bit pattern.
int64_t wrap_int(DType t, int64_t v);
int64_t lowest_int(DType t);
int64_t highest_int(DType t);
// The nearest value of a float type, by way of f32 for the 16-bit types.
double round_to(DType t, double v);

}  // namespace tenon::ir
