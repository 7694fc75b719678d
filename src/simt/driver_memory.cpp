// SPDX-License-Identifier: Apache-2.0
// The driver's functions for memory.
#include <cstdlib>
#include <cstring>

#include "simt/state.h"

namespace tenon::simt {

Memory& memory() {
  static Memory all;
  return all;
}

}  // namespace tenon::simt

using namespace tenon::runtime::
    cuda;  // NOLINT(google-build-using-namespace): its functions are defined here
using tenon::simt::memory;

TENON_SIMT_EXPORT Status cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = memory().free_bytes();
  *total = tenon::simt::Memory::kTotalBytes;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemAlloc_v2(DevicePointer* data, size_t bytes) {
  *data = memory().allocate(bytes);
  return *data != 0 ? kSuccess : bytes == 0 ? kInvalidValue : kOutOfMemory;
}

TENON_SIMT_EXPORT Status cuMemFree_v2(DevicePointer data) {
  bool intact = true;
  if (data != 0 && !memory().free(data, intact)) return kInvalidValue;
  return intact ? kSuccess : kIllegalAddress;
}

TENON_SIMT_EXPORT Status cuMemHostAlloc(void** data, size_t bytes, uint32_t /*flags*/) {
  *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *data != nullptr ? kSuccess : kOutOfMemory;
}

TENON_SIMT_EXPORT Status cuMemFreeHost(void* data) {
  std::free(data);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t bytes) {
  if (!memory().contains(to, bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t bytes) {
  if (!memory().contains(from, bytes)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes,
                                              Stream /*stream*/) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}

TENON_SIMT_EXPORT Status cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes,
                                              Stream /*stream*/) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}

TENON_SIMT_EXPORT Status cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes,
                                              Stream /*stream*/) {
  if (!memory().contains(to, bytes)) return kInvalidValue;
  return cuMemcpyDtoH_v2(reinterpret_cast<void*>(to), from, bytes);
}

TENON_SIMT_EXPORT Status cuMemsetD8Async(DevicePointer to, uint8_t value, size_t count,
                                         Stream /*stream*/) {
  if (!memory().contains(to, count)) return kInvalidValue;
  std::memset(reinterpret_cast<void*>(to), value, count);
  return kSuccess;
}
