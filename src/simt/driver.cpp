// SPDX-License-Identifier: Apache-2.0
// The driver's functions for devices, contexts, streams and events. Everything is done before a function
// returns, so that streams and events have nothing to wait for.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <vector>

#include "simt/state.h"

using namespace tenon::runtime::
    cuda;  // NOLINT(google-build-using-namespace): its functions are defined here
using tenon::simt::memory;

namespace {

constexpr const char* kCardName = "simt on this machine's processor";

struct Text {
  Status status;
  const char* name;
  const char* words;
};
constexpr Text kTexts[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for the card"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
};

const Text* text_of(Status status) {
  const auto* end = std::end(kTexts);
  const auto* at =
      std::find_if(std::begin(kTexts), end, [&](const Text& t) { return t.status == status; });
  return at == end ? nullptr : at;
}

struct Value {
  DeviceAttribute attribute;
  int32_t value;
};
constexpr Value kValues[] = {
    {kMaxThreadsPerBlock, static_cast<int32_t>(tenon::simt::kMostThreads)},
    {kMaxGridX, 2147483647},
    {kMaxGridY, 65535},
    {kMaxGridZ, 65535},
    {kMaxSharedBytesPerBlock, 48 << 10},
    {kWarpThreads, 32},
    {kMaxRegistersPerBlock, 65536},
    {kClockKilohertz, 1000000},
    {kMultiprocessors, 4},
    {kMemoryClockKilohertz, 1000000},
    {kMemoryBusBits, 64},
    {kL2Bytes, 4 << 20},
    {kMaxThreadsPerMultiprocessor, 2048},
    {kMaxSharedBytesPerMultiprocessor, 100 << 10},
    {kMaxRegistersPerMultiprocessor, 65536},
    {kMaxSharedBytesPerBlockOptin, static_cast<int32_t>(tenon::simt::kMostSharedBytes)},
    {kMaxBlocksPerMultiprocessor, 32},
};

ContextObject the_context;                  // of the one card
thread_local std::vector<Context> current;  // contexts of this thread, the current one last

}  // namespace

TENON_SIMT_EXPORT Status cuInit(uint32_t /*flags*/) { return kSuccess; }

TENON_SIMT_EXPORT Status cuDriverGetVersion(int32_t* version) {
  *version = 12040;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGetErrorName(Status status, const char** text) {
  const Text* t = text_of(status);
  *text = t != nullptr ? t->name : nullptr;
  return t != nullptr ? kSuccess : kInvalidValue;
}

TENON_SIMT_EXPORT Status cuGetErrorString(Status status, const char** text) {
  const Text* t = text_of(status);
  *text = t != nullptr ? t->words : nullptr;
  return t != nullptr ? kSuccess : kInvalidValue;
}

TENON_SIMT_EXPORT Status cuDeviceGetCount(int32_t* count) {
  *count = 1;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuDeviceGet(Device* device, int32_t ordinal) {
  *device = 0;
  return ordinal == 0 ? kSuccess : kInvalidDevice;
}

TENON_SIMT_EXPORT Status cuDeviceGetName(char* name, int32_t bytes, Device /*device*/) {
  std::snprintf(name, static_cast<size_t>(bytes), "%s", kCardName);
  return kSuccess;
}

// An attribute that is not in the table is 0: a capability of 0.0 is that of no real card.
TENON_SIMT_EXPORT Status cuDeviceGetAttribute(int32_t* value, DeviceAttribute attribute,
                                              Device /*device*/) {
  *value = 0;
  for (const Value& v : kValues) {
    if (v.attribute == attribute) *value = v.value;
  }
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuDeviceTotalMem_v2(size_t* bytes, Device /*device*/) {
  *bytes = tenon::simt::Memory::kTotalBytes;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuDevicePrimaryCtxRetain(Context* context, Device device) {
  *context = &the_context;
  return device == 0 ? kSuccess : kInvalidDevice;
}

TENON_SIMT_EXPORT Status cuDevicePrimaryCtxRelease_v2(Device /*device*/) { return kSuccess; }

TENON_SIMT_EXPORT Status cuCtxPushCurrent_v2(Context context) {
  current.push_back(context);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuCtxPopCurrent_v2(Context* context) {
  if (current.empty()) return kInvalidContext;
  if (context != nullptr) *context = current.back();
  current.pop_back();
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuCtxSetCurrent(Context context) {
  if (!current.empty()) current.pop_back();
  if (context != nullptr) current.push_back(context);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuCtxSynchronize() {
  return memory().intact() ? kSuccess : kIllegalAddress;
}

TENON_SIMT_EXPORT Status cuStreamCreate(Stream* stream, uint32_t /*flags*/) {
  *stream = new StreamObject;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuStreamDestroy_v2(Stream stream) {
  delete stream;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuStreamSynchronize(Stream /*stream*/) { return cuCtxSynchronize(); }

TENON_SIMT_EXPORT Status cuStreamWaitEvent(Stream /*stream*/, Event /*event*/, uint32_t /*flags*/) {
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventCreate(Event* event, uint32_t /*flags*/) {
  *event = new EventObject;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventDestroy_v2(Event event) {
  delete event;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventRecord(Event event, Stream /*stream*/) {
  event->at = std::chrono::steady_clock::now();
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuEventSynchronize(Event /*event*/) { return cuCtxSynchronize(); }

TENON_SIMT_EXPORT Status cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return kSuccess;
}
