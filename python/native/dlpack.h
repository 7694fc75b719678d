// SPDX-License-Identifier: Apache-2.0
// The memory layout by which array libraries hand tensors to each other (DLPack before version 1): a capsule named
// "dltensor" holds a Managed, and whoever takes it over renames the capsule and calls the deleter.
#pragma once

#include <cstdint>

namespace tenon::python::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCudaHost = 3 };  // both are memory that a CPU reads
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; nullptr: dense and row-major
  uint64_t byte_offset;
};

struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};

}  // namespace tenon::python::dlpack
