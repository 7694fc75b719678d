// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, opened when it is asked for: nothing of CUDA is linked, and a program without a card still starts.
// Types, values and layouts are those of the driver's binary interface, under names of our own.
//
//   char sentence[kSentenceBytes];
//   const Driver* driver = open_driver(sentence);     // null: no driver, too old, no card; the sentence says which
//   DevicePointer data;
//   if (driver->MemAlloc(&data, 4096) != kSuccess) ...
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/sentence.h"

namespace tenon::runtime::cuda {

// Every function answers with a Status. Some errors end all work in their context; runtime/cuda/model.cpp lists them.
enum Status : int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kNotSupported = 801,
  kSystemDriverMismatch = 803,
  kUnknown = 999,
};

using Device = int32_t;
using DevicePointer = uint64_t;
using Context = struct ContextObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Graph = struct GraphObject*;
using GraphNode = struct GraphNodeObject*;
using GraphExec = struct GraphExecObject*;

enum DeviceAttribute : int32_t {
  kMaxThreadsPerBlock = 1,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kMaxSharedBytesPerBlock = 8,
  kWarpThreads = 10,
  kMaxRegistersPerBlock = 12,
  kClockKilohertz = 13,
  kMultiprocessors = 16,
  kEccEnabled = 32,
  kMemoryClockKilohertz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedBytesPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kMaxSharedBytesPerBlockOptin = 97,
  kMaxBlocksPerMultiprocessor = 106,
};

enum FunctionAttribute : int32_t {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,  // static ones
  kFunctionLocalBytes = 3,   // per thread: what does not fit into registers
  kFunctionRegisters = 4,
  kFunctionBinaryVersion = 6,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionPreferredSharedCarveout = 9,
};

enum JitOption : int32_t {
  kJitMaxRegisters = 0,
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferBytes = 6,
  kJitOptimizationLevel = 7,
};

inline constexpr uint32_t kStreamNonBlocking = 1;
inline constexpr uint32_t kEventDisableTiming = 2;
inline constexpr uint32_t kHostAllocPortable = 1;

enum CaptureMode : int32_t { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

struct KernelNodeParams {
  Function function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;  // instead of the function; null
  Context context;
};
static_assert(sizeof(KernelNodeParams) == 72 && offsetof(KernelNodeParams, arguments) == 40);

enum MemoryType : int32_t { kMemoryHost = 1, kMemoryDevice = 2 };

// One side of a copy; `array` and `reserved` are null.
struct Memcpy3dSide {
  size_t x_bytes, y, z, level;
  MemoryType type;
  void* host;
  DevicePointer device;
  void* array;
  void* reserved;
  size_t pitch, height;
};
struct Memcpy3d {
  Memcpy3dSide from, to;
  size_t width_bytes, height, depth;
};
static_assert(sizeof(Memcpy3dSide) == 88 && sizeof(Memcpy3d) == 200);

enum LaunchAttributeId : int32_t {
  kLaunchCooperative = 2,
  kLaunchProgrammaticStreamSerialization = 6,
};
struct LaunchAttribute {
  LaunchAttributeId id;
  uint32_t padding;
  union {
    char bytes[64];
    int32_t flag;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

// An edge of a graph that is all zero lets the later node begin when the earlier one is done.
struct EdgeData {
  uint8_t from_port, to_port, type;
  uint8_t reserved[5];
};
// The later kernel begins early and waits by itself for the earlier one.
inline constexpr EdgeData kProgrammaticEdge = {1, 0, 1, {}};

struct Driver {
#define TENON_CUDA(member, symbol, need, arguments) Status(*member) arguments;
#include "runtime/cuda/driver_functions.def"
#undef TENON_CUDA
  int32_t version;  // 12040: 12.4
};

inline constexpr int32_t kOldestDriver = 12000;

// The library named by the environment variable TENON_CUDA_LIBRARY, or libcuda.so.1; opened once and never closed.
// Null with a sentence of kSentenceBytes. Safe to call from several threads.
const Driver* open_driver(char* sentence);

// The driver's own words on a status: "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
void explain(const Driver& driver, Status status, char* text, size_t bytes);

}  // namespace tenon::runtime::cuda
