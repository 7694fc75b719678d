/* SPDX-License-Identifier: Apache-2.0 */
/* As much of the header of CUDA's toolkit as the examples use, under its names. */
#ifndef TENON_TESTS_CUDA_H
#define TENON_TESTS_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct ContextObject* CUcontext;
typedef struct StreamObject* CUstream;
typedef struct EventObject* CUevent;
#define CUDA_SUCCESS 0
#define CU_STREAM_DEFAULT 0
#define CU_EVENT_DEFAULT 0

#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuEventDestroy cuEventDestroy_v2

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuMemAlloc(CUdeviceptr* data, size_t bytes);
CUresult cuMemFree(CUdeviceptr data);
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes);
CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
CUresult cuGetErrorString(CUresult result, const char** text);

#ifdef __cplusplus
}
#endif
#endif
