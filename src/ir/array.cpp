// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ir/int_ops.h"
#include "ir/interp.h"

namespace tenon::ir {
namespace {

template <class T>
T read_as(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
void write_as(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

int64_t read_int(DType t, const std::byte* p) {
  if (t.is_bool()) {
    return read_as<uint8_t>(p) != 0;
  }
  switch (t.bytes()) {
    case 1:
      return wrap_int(t, read_as<int8_t>(p));
    case 2:
      return wrap_int(t, read_as<int16_t>(p));
    case 4:
      return wrap_int(t, read_as<int32_t>(p));
    default:
      return read_as<int64_t>(p);
  }
}

void write_int(DType t, std::byte* p, int64_t v) {
  switch (t.bytes()) {
    case 1:
      write_as(p, static_cast<int8_t>(v));
      break;
    case 2:
      write_as(p, static_cast<int16_t>(v));
      break;
    case 4:
      write_as(p, static_cast<int32_t>(v));
      break;
    default:
      write_as(p, v);
  }
}

double read_float(DType t, const std::byte* p) {
  if (t.code == TypeCode::kBFloat) {
    return static_cast<double>(bf16_to_f32(read_as<uint16_t>(p)));
  }
  switch (t.bits) {
    case 16:
      return static_cast<double>(f16_to_f32(read_as<uint16_t>(p)));
    case 32:
      return static_cast<double>(read_as<float>(p));
    default:
      return read_as<double>(p);
  }
}

void write_float(DType t, std::byte* p, double v) {
  const auto f = static_cast<float>(v);
  if (t.code == TypeCode::kBFloat) {
    write_as(p, f32_to_bf16(f));
    return;
  }
  switch (t.bits) {
    case 16:
      write_as(p, f32_to_f16(f));
      break;
    case 32:
      write_as(p, f);
      break;
    default:
      write_as(p, v);
  }
}

}  // namespace

Array::Array(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  TENON_CHECK(!dtype_.is_vector()) << to_string(dtype_);
  data_.resize(static_cast<size_t>(bytes()));
}

int64_t Array::elements() const {
  int64_t n = 1;
  for (const int64_t extent : shape_) {
    n *= extent;
  }
  return n;
}

Scalar Array::get(int64_t offset) const {
  const int64_t at = offset * dtype_.bytes();
  TENON_CHECK(at >= 0 && at < static_cast<int64_t>(data_.size())) << "element " << offset;
  Scalar v;
  if (dtype_.is_float()) {
    v.f = read_float(dtype_, data_.data() + at);
  } else {
    v.i = read_int(dtype_, data_.data() + at);
  }
  return v;
}

void Array::set(int64_t offset, Scalar v) {
  const int64_t at = offset * dtype_.bytes();
  TENON_CHECK(at >= 0 && at < static_cast<int64_t>(data_.size())) << "element " << offset;
  if (dtype_.is_float()) {
    write_float(dtype_, data_.data() + at, v.f);
  } else {
    write_int(dtype_, data_.data() + at, v.i);
  }
}

double Array::get_double(int64_t offset) const {
  const Scalar v = get(offset);
  return dtype_.is_float() ? v.f : int_to_float(kF64, dtype_, v.i);
}

void Array::set_double(int64_t offset, double v) {
  Scalar s;
  if (dtype_.is_float()) {
    s.f = v;
  } else {
    s.i = float_to_int(dtype_, v);
  }
  set(offset, s);
}

}  // namespace tenon::ir
